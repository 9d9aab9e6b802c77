"""A plugin's hook functions: whether the host can honour them, and what each of them is given.

Checked when a plugin is loaded, so that a mistake is one clear line then and not a failing call later.
Called by the host (checks) and by dispatch (values); calls no hook itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar, cast

import msgspec
from pluggy import HookimplOpts

from hermes_core.hookspecs import HONOURED
from hermes_plugins._decisions import CallView, ResultView
from hermes_plugins._dialects import ModelRequest
from hermes_plugins._errors import PluginError
from hermes_plugins._events import MessageDone, ToolStarted, TurnStarted
from hermes_plugins._messages import Json, Message

V = TypeVar("V")

FAMILIES = ("register", "transform", "before", "on")
_PREFIXES = tuple(f"hermes_{family}_" for family in FAMILIES)
_REFUSED_MARKS = ("wrapper", "hookwrapper", "tryfirst", "trylast", "specname")


class Implementation:
    """One plugin's function for one hook; ``arguments`` are those it names, of the hook's own."""

    __slots__ = ("arguments", "failures", "function", "hook", "is_async", "off", "plugin")

    def __init__(
        self,
        plugin: str,
        hook: str,
        function: Callable[..., object],
        *,
        arguments: tuple[str, ...] = (),
    ) -> None:
        self.plugin = plugin
        self.hook = hook
        self.function = function
        self.arguments = arguments
        self.is_async = inspect.iscoroutinefunction(function)
        self.failures = 0
        self.off = False


def looks_like_hook(name: str) -> bool:
    """True for names that only a hook would have."""
    return name.startswith(_PREFIXES)


def named_arguments(function: Callable[..., object], offered: Iterable[str]) -> tuple[str, ...]:
    """The offered arguments that a function names, by position or keyword."""
    known = set(offered)
    return tuple(name for name in inspect.signature(function).parameters if name in known)


def check_marks(plugin: str, hooks: Mapping[str, HookimplOpts]) -> None:
    """Refuse what would make order depend on import order.

    Raises:
        PluginError: a wrapper, tryfirst, trylast or a hook renamed by ``specname``.
    """
    for name, options in hooks.items():
        for mark in _REFUSED_MARKS:
            if options.get(mark):
                raise PluginError(
                    plugin,
                    f"{name} uses {mark}, which this host does not honour.",
                    hint="Use a plain @hookimpl; order is configuration order, then name.",
                )


def check_name(plugin: str, hook: str, known: Iterable[str]) -> None:
    """Refuse a hook that does not exist.

    Raises:
        PluginError: names the hook and the closest one that does.
    """
    names = sorted(known)
    if hook not in names:
        raise PluginError(
            plugin,
            f"there is no hook {hook}{guess(hook, names)}.",
            hint="docs/reference/hooks.md lists them all.",
        )


def check_function(
    plugin: str, hook: str, function: Callable[..., object], *, offered: Sequence[str]
) -> None:
    """Refuse a function that could not be called, or whose answer nobody could use.

    Raises:
        PluginError: it takes an argument that the hook does not have, declares asynchronously, or is a
            generator where a value belongs.
    """
    declares = hook.startswith("hermes_register_")
    if declares and not _is_plain(function):
        raise PluginError(
            plugin, f"{hook} must be a plain function: it declares, and waits for nothing."
        )
    if not declares and _is_generator(function):
        raise PluginError(plugin, f"{hook} is a generator; use return where it says yield.")
    for name, parameter in inspect.signature(function).parameters.items():
        has_place = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        needed = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if needed and not (has_place and name in offered):
            kind = "" if has_place else "positional-only "
            listed = ", ".join(offered) or "no arguments"
            raise PluginError(
                plugin,
                f"{hook} asks for {kind}{name!r}, which this hook does not give"
                f"{guess(name, offered)}. It gives: {listed}.",
            )


def check_groups(
    plugin: str, hooks: Collection[str], groups: Sequence[str], *, is_policy: bool
) -> None:
    """Refuse hooks in a group where nobody calls them, and a plugin that would do nothing.

    Raises:
        PluginError: names the group to add, or what is missing.
    """
    honoured = frozenset[str]().union(*(HONOURED[group] for group in groups))
    for hook in hooks:
        if hook not in honoured:
            homes = " or ".join(group for group, names in HONOURED.items() if hook in names)
            raise PluginError(
                plugin,
                f"{hook} is not honoured in {', '.join(groups)}.",
                hint=f"Name the plugin in the entry-point group {homes} too.",
            )
    if not hooks:
        raise PluginError(
            plugin, "it has no function marked with @hookimpl, so it would do nothing."
        )
    if is_policy and not any(hook.startswith("hermes_before_") for hook in hooks):
        raise PluginError(
            plugin, "it is a policy that judges nothing: it has no hermes_before_ hook."
        )


def guess(name: str, known: Sequence[str]) -> str:
    """`` (did you mean …?)`` for the closest known name, or ""."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def own_copy(value: object) -> object:
    """A value as one implementation gets it: what others could change in it is copied.

    Frozen structs are frozen only at the top, and the history behind a request goes on growing.
    """
    match value:
        case CallView():
            return msgspec.structs.replace(value, arguments=_deep(value.arguments))
        case ResultView():
            return msgspec.structs.replace(value, call=own_copy(value.call))
        case ModelRequest():
            return msgspec.structs.replace(
                value, messages=tuple(value.messages), extras=_deep(value.extras)
            )
        case Message():
            return msgspec.structs.replace(value, meta=_deep(value.meta)) if value.meta else value
        case TurnStarted() | MessageDone():
            return msgspec.structs.replace(value, message=own_copy(value.message))
        case ToolStarted():
            return msgspec.structs.replace(value, arguments=_deep(value.arguments))
        case tuple():
            return tuple(map(own_copy, value))
        case dict() | list():
            return _deep(value)
    return value


def answer_problem(answer: object, value: object) -> str:
    """What is wrong with a transform's answer in place of ``value``; "" when it can be used."""
    if answer is None:
        return "returned nothing; return the value, changed or not"
    if isinstance(value, list | tuple):
        if not isinstance(answer, list | tuple) or not all(isinstance(one, str) for one in answer):
            return f"returned {_kind(answer)}, not a list of str"
    elif not isinstance(answer, type(value)):
        return f"returned {_kind(answer)}, not {type(value).__name__}"
    elif isinstance(answer, dict | Message):
        # These are stored as JSON: what JSON cannot say must not get that far.
        target = Message if isinstance(answer, Message) else dict[str, Json]
        try:
            msgspec.json.decode(msgspec.json.encode(answer), type=target)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            return f"returned a {type(value).__name__} that cannot be kept ({error})"
    return ""


def _kind(answer: object) -> str:
    if isinstance(answer, list | tuple):
        inner = " and ".join(sorted({type(one).__name__ for one in answer}))
        return f"a {type(answer).__name__} of {inner or 'nothing'}"
    return type(answer).__name__


def _deep(value: V) -> V:
    if isinstance(value, dict):
        return cast("V", {key: _deep(one) for key, one in value.items()})
    if isinstance(value, list):
        return cast("V", [_deep(one) for one in value])
    return value


def _is_plain(function: Callable[..., object]) -> bool:
    return not (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function))


def _is_generator(function: Callable[..., object]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
