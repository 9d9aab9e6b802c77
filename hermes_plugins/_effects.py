"""Effects: what a tool call would touch, said before it runs.

A `Tool` declares them; the kernel resolves them for one call's arguments into `Effects`. The gate,
the parallel rule and the untrusted fence read only those, so one rule covers built-in, third-party
and MCP tools. A declaration that raises or yields nothing counts as the most dangerous kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from hermes_plugins._messages import Json


class _Effect(msgspec.Struct, frozen=True):
    """``arg`` names the argument that holds the target; where it is absent the constant counts.

    With neither, or with both empty, the call's effects are unknown.
    """

    arg: str = ""


class Reads(_Effect, frozen=True):
    """Reads a file or folder."""

    path: str = ""


class Writes(_Effect, frozen=True):
    """Creates, changes or removes a file or folder."""

    path: str = ""


class Runs(_Effect, frozen=True):
    """Runs a shell command or a program."""

    command: str = ""


class Fetches(_Effect, frozen=True):
    """Reads from the network: ``arg`` holds a URL, or ``host`` is fixed."""

    host: str = ""


class Sends(_Effect, frozen=True):
    """Makes something leave the machine to a person or service."""

    target: str = ""


class Pure(_Effect, frozen=True):
    """Touches nothing but the session's own state and what the plugin itself keeps.

    That is what stands in ``host.records`` and in files of its own.
    """


Effect: TypeAlias = Reads | Writes | Runs | Fetches | Sends | Pure
EffectsOf: TypeAlias = Sequence[Effect] | Callable[[Mapping[str, Json]], Sequence[Effect]]
Kind: TypeAlias = Literal["pure", "reads", "fetches", "writes", "sends", "runs", "unknown"]


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of one call, resolved. ``unknown`` is the most dangerous kind."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    unknown: bool = False

    @property
    def only_reads(self) -> bool:
        """True when the call changes nothing and sends nothing."""
        return not (self.writes or self.runs or self.sends or self.unknown)


def resolve_effects(declared: EffectsOf, arguments: Mapping[str, Json]) -> Effects:
    """What a call with these arguments would touch; never raises."""
    try:
        effects = declared(arguments) if callable(declared) else declared
        return _gather(tuple(effects), arguments)
    except Exception:  # a plugin's own function: whatever it does, the answer is the worst case
        return Effects(unknown=True)


def _gather(effects: tuple[Effect, ...], arguments: Mapping[str, Json]) -> Effects:
    if not effects:
        return Effects(unknown=True)
    found: dict[str, list[str]] = {
        "reads": [],
        "writes": [],
        "runs": [],
        "fetches": [],
        "sends": [],
    }
    for effect in effects:
        match effect:
            case Pure():
                continue
            case Reads(arg=arg, path=constant):
                kind = "reads"
            case Writes(arg=arg, path=constant):
                kind = "writes"
            case Runs(arg=arg, command=constant):
                kind = "runs"
            case Fetches(arg=arg, host=constant):
                kind = "fetches"
            case Sends(arg=arg, target=constant):
                kind = "sends"
        value = arguments.get(arg) if arg else None
        if value is None:
            value = constant
        if not value:
            return Effects(unknown=True)
        found[kind].extend(map(str, value) if isinstance(value, list) else [str(value)])
    return msgspec.convert(found, Effects)
