"""Settings that a plugin owns: its section ``plugins.NAME`` in hermes.yaml.

A section is a frozen `msgspec.Struct` whose fields all have defaults. Describe a field with
``Annotated[int, Meta(description="…")]``, and one that is never shown with
``Meta(extra={"secret": True})``. The example file, ``hermes config check`` and the docs come from it.

``Meta(extra={"project": True})`` marks what a project's own hermes.yaml may tighten: a list is added to,
a number only goes down, anything else is taken as it stands there. A setting where a longer list
permits more, or a higher number is the stricter one, must not be marked.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Meta = msgspec.Meta


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of a plugin's settings."""


class ConfigSection(msgspec.Struct, frozen=True, kw_only=True):
    """What ``hermes_register_config`` returns: the plugin's section and the names of its secrets.

    ``env`` lists variables that ``hermes config set NAME …`` writes to .env. ``inherits`` maps a
    field to the kernel's key (such as ``memory.memory_chars``) that it takes where the section is
    silent.
    """

    name: str
    schema: type[Section]
    env: tuple[str, ...] = ()
    inherits: Mapping[str, str] = {}
