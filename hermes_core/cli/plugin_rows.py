"""What ``hermes plugins`` shows of a plugin: one row each, whatever the number of its entry points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from hermes_core.discovery import Found
from hermes_core.hookspecs import HONOURED
from hermes_core.loaded import Loaded, Problem
from hermes_plugins._config import ConfigSection
from hermes_plugins._errors import HermesError, UsageError
from hermes_plugins._tools import Tool

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin. ``state`` is on, off, failed or missing (enabled, but not installed); ``reason`` is
    why, or what else there is to tell."""

    name: str
    distribution: str = ""
    version: str = ""
    state: str
    reason: str = ""
    hint: str = ""
    source: str = ""
    offers: tuple[str, ...] = ()
    needs_host: str = ""
    tools: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """Reason and hint, as sentences."""
        return sentences(self.reason, self.hint)


async def rows(runtime: Runtime) -> list[Row]:
    """Every plugin that was found, by name; loads all that are on."""
    host = runtime.host
    await load_everything(runtime)
    broken = await _broken_drivers(runtime)
    found = [
        _row(runtime, name, [one for one in host.found if one.plugin == name], broken)
        for name in dict.fromkeys(one.plugin for one in host.found)
    ]
    known = {row.name for row in found}
    unread = {one.plugin: one for one in reversed(host.problems) if one.plugin not in known | {""}}
    found += [
        Row(name=one.plugin, state="failed", reason=one.text, hint=one.hint)
        for one in unread.values()
    ]
    found += [_missing(name) for name in host.missing]
    return sorted(found, key=lambda row: row.name)


def one_row(found: Sequence[Row], name: str) -> Row:
    """The row of a plugin, by its name or its distribution's.

    Raises:
        UsageError: there is none; names the closest.
    """
    for row in found:
        if name in (row.name, row.distribution) or base_name(name) == row.distribution:
            return row
    raise UsageError(
        f"there is no plugin {name!r}.{_guess(name, [row.name for row in found])}",
        hint="`hermes plugins list` shows all.",
    )


def plugin_name(runtime: Runtime, name: str) -> str:
    """The name of the plugin that is meant by its name or its distribution's; imports nothing.

    Raises:
        UsageError: there is none; names the closest.
    """
    host = runtime.host
    known = {one.plugin: one.distribution for one in host.found}
    known |= {one.plugin: "" for one in host.problems if one.plugin and one.plugin not in known}
    known |= dict.fromkeys(host.missing, "")
    stands_for = [Row(name=key, distribution=value, state="") for key, value in known.items()]
    return one_row(stands_for, name).name


async def load_everything(runtime: Runtime) -> None:
    """Load every plugin that is on."""
    for group in HONOURED:
        await runtime.host.load(group, runtime.host.names(group))


def why_hidden(runtime: Runtime, tool: Tool) -> str:
    """The setting that leaves a tool out, or ""."""
    from hermes_core.registry import Owned, permitted

    settings = runtime.config.settings.tools
    owned = [Owned(tool, "")]
    if not permitted(owned, allowed=["all"], blocked=settings.blocked):
        return "left out by tools.blocked"
    if not permitted(owned, allowed=settings.allowed, blocked=[]):
        return "left out by tools.allowed"
    return ""


def sentences(*parts: str) -> str:
    """Parts in one line, each of them ended."""
    ended = [part if part[-1] in ".!?)`…" else f"{part}." for part in parts if part]
    return " ".join(ended)


def base_name(distribution: str) -> str:
    """``Hermes_Plugin_X[extra]>=1`` -> ``hermes-plugin-x`` (PEP 503)."""
    name = distribution
    for mark in "[<>=!~ @;":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-").replace(".", "-")


async def _broken_drivers(runtime: Runtime) -> set[str]:
    """Plugins one of whose drivers or commands cannot be imported; the reason is among the problems."""
    host = runtime.host
    broken: set[str] = set()
    for found in host.found:
        if found.group in HONOURED or host.why_off(found):
            continue
        try:
            await host.driver(found.group, found.name)
        except HermesError as error:
            broken.add(found.plugin)
            text = error.message.removeprefix(f"plugin {found.plugin}: ")
            host.report_problem(found.plugin, f"{found.name} in {found.group}: {text}", error.hint)
    return broken


def _row(runtime: Runtime, name: str, points: Sequence[Found], broken: set[str]) -> Row:
    host = runtime.host
    first = points[0]
    loaded = host.loaded.get(name)
    problems = [one for one in host.problems if one.plugin == name]
    off = host.why_off(first)
    if off and not any(one.text == off for one in problems):  # switched off, not refused
        problems = [Problem(plugin=name, text=off)]
        state = "off"
    else:
        is_missing = loaded is None and any(one.group in HONOURED for one in points)
        lost = any("is also offered by" in one.text for one in problems)
        state = "failed" if off or is_missing or lost or name in broken else "on"
    return Row(
        name=name,
        distribution=first.distribution,
        version=first.version,
        state=state,
        reason=problems[0].text if problems else "",
        hint=problems[0].hint if problems else "",
        source=first.location or first.source,
        offers=tuple(f"{one.group.removeprefix('hermes.')}:{one.name}" for one in points),
        needs_host=first.requires_host,
        settings=_settings(name, host.settings_of(name)),
        secrets=_secrets(host.settings_of(name), loaded),
        **(_contributed(loaded) if loaded else {}),
    )


def _missing(name: str) -> Row:
    full = f"hermes-plugin-{name.removeprefix('hermes-plugin-')}"
    return Row(
        name=name,
        state="missing",
        reason="it is in plugins.enabled but not installed",
        hint=f"`hermes plugins install {full}`, or `hermes plugins disable {name}` forgets it.",
    )


def _contributed(loaded: Loaded) -> dict[str, tuple[str, ...]]:
    return {
        "tools": tuple(tool.name for tool in loaded.tools),
        "providers": tuple(one.id for one in loaded.providers),
        "hooks": tuple(hook for hook in loaded.hooks if not hook.startswith("hermes_register_")),
    }


def _secrets(sections: Sequence[ConfigSection], loaded: Loaded | None) -> tuple[str, ...]:
    """Variables that the plugin's settings or its providers read keys from."""
    names = [name for section in sections for name in section.env]
    names += [name for one in (loaded.providers if loaded else ()) for name in one.env]
    return tuple(dict.fromkeys(names))


def _settings(name: str, sections: Sequence[ConfigSection]) -> tuple[str, ...]:
    return tuple(
        f"plugins.{name}.{field.encode_name}"
        for section in sections
        for field in msgspec.structs.fields(section.schema)
    )


def _guess(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1, cutoff=0.7)
    return f" Did you mean {close[0]}?" if close else ""
