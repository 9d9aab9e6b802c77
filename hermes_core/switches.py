"""Which plugins are on: the one rule, for the host and for commands that load nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hermes_core.discovery import Found, Unread
from hermes_core.loaded import HostSettings


def switched_off(found: Found, settings: HostSettings) -> str:
    """ "" when configuration lets a plugin be loaded, else why not, with the command that changes it.

    A plugin is meant by its name or its distribution's, never by the name of what it offers:
    switching one on must not switch on another that offers a thing of that name. ``--plugin`` was
    typed for this one run, so it wins over what the settings say.
    """
    if found.source == "module":
        return ""
    names = {found.plugin, found.distribution} - {""}
    if names & set(settings.disabled):
        return f"disabled; `hermes plugins enable {found.plugin}`"
    if found.default or names & set(settings.enabled):
        return ""
    return f"found but off; `hermes plugins enable {found.plugin}`"


def missing(
    settings: HostSettings, found: Iterable[Found], unread: Iterable[Unread]
) -> Sequence[str]:
    """Names in ``plugins.enabled`` that nothing installed goes by; one that is disabled as well is
    not missed."""
    known = {name for one in found for name in (one.plugin, one.distribution)}
    known |= {name for one in unread for name in (one.plugin, f"hermes-plugin-{one.plugin}")}
    return tuple(
        dict.fromkeys(one for one in settings.enabled if one not in {*known, *settings.disabled})
    )
