"""docs/reference/kit.md: every name of `hermes_plugins`."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import msgspec

import hermes_plugins
from pages import source

_HEAD = """\
# The kit

Made from `hermes_plugins/` by `scripts/generate_docs.py`; do not edit.

Everything that a plugin imports: `from hermes_plugins import …`. Names that begin with an underscore,
and the modules of the package, are no part of it. Within a major version names are added and never
lost, fields and arguments get defaults, and contracts get no new methods. What the text calls
*provisional* may still change until the next release. What tests import stands in
[testing](testing.md), the hooks in [hooks](hooks.md).
"""

# Modules in the order of a first reading, with a heading each.
_ORDER = {
    "_markers": "Hooks",
    "_tools": "Tools",
    "_effects": "Effects",
    "_decisions": "Judging calls",
    "_approvals": "Asking a person",
    "_host": "The host",
    "_config": "Settings",
    "_store": "What was kept",
    "_environments": "Environments",
    "_providers": "Providers",
    "_dialects": "Dialects",
    "_http": "HTTP",
    "_messages": "Messages",
    "_events": "Events",
    "_platforms": "Platforms",
    "_memory": "Memory",
    "_context_engine": "Context engines",
    "_clock": "Time",
    "_redaction": "Redaction",
    "_errors": "Errors",
}
# Names that come from elsewhere, with a docstring for other readers: how to write them, and what for.
_BORROWED = {
    "Meta": (
        "Meta(*, description=…, ge=…, gt=…, le=…, lt=…, multiple_of=…, pattern=…, min_length=…, "
        "max_length=…, extra=…)",
        "What `Annotated[TYPE, Meta(…)]` says of a setting beside its type (msgspec's `Meta`): "
        "`description` is one line for people, the others are limits that `hermes config check` holds a "
        'value against. `extra={"secret": True}` never shows it. `extra={"project": True}` lets a '
        "project's own hermes.yaml tighten it: a list is added to, a number only goes down, anything "
        "else is taken as it stands there; so do not mark a setting where a higher number is stricter, "
        "or a longer list permits more.",
    )
}
_ELSEWHERE = {
    "_events": "With their JSON in [events](events.md).",
    "_errors": "With exit statuses in [errors](errors.md).",
}


def page() -> str:
    """The text."""
    homes: dict[str, list[str]] = {name: [] for name in _ORDER}
    for name in hermes_plugins.__all__:
        homes.setdefault(hermes_plugins._HOME[name], []).append(name)
    homes = {home: names for home, names in homes.items() if names}
    parts = [_HEAD, *_contents(homes)]
    for home, names in homes.items():
        module = import_module(f"hermes_plugins.{home}")
        parts.append(f"## {_title(home)}\n\n{source.paragraph(module)}")
        if home in _ELSEWHERE:
            parts.append(_ELSEWHERE[home])
        parts += _entries(module, names)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _title(home: str) -> str:
    return _ORDER.get(home) or home.strip("_").replace("_", " ").capitalize()


def _entries(module: ModuleType, names: list[str]) -> Iterator[str]:
    """The names of a module in the order of its source, then the types that its signatures use."""
    written = source.aliases(module)
    for name in sorted(names, key=list(vars(module)).index):
        made = alias(name, written[name]) if name in written else entry(name, vars(module)[name])
        yield "\n".join(made)
    inner = [f"`{name}` is `{text}`" for name, text in written.items() if name not in names]
    if inner:
        yield "In these signatures " + "; ".join(inner) + "."


def _contents(homes: dict[str, list[str]]) -> Iterator[str]:
    rows = [
        f"| {_title(home)} | {', '.join(f'[`{n}`](#{n.lower()})' for n in names)} |"
        for home, names in homes.items()
    ]
    yield "| about | names |\n|---|---|\n" + "\n".join(rows)


def entry(name: str, value: object) -> Iterator[str]:
    """The section of one name."""
    kind = _kind(value)
    yield f"### {name}\n"
    if name in _BORROWED:
        written, text = _BORROWED[name]
        yield from _spelled(kind, written)
        yield text + "\n"
    elif inspect.isclass(value):
        yield from _class(name, value, kind)
    elif inspect.isfunction(value):
        yield from _spelled(kind, source.signature(name, value))
        yield source.prose(value) + "\n"
        yield from (f"Raises {line}\n" for line in source.raises(value))
    elif name == "hookimpl":
        yield "*decorator* · `@hookimpl` marks a function or method as a hook, by its name.\n"
    else:
        yield from _spelled(kind, f"{name} = {value!r}")


def alias(name: str, written: str) -> Iterator[str]:
    """The section of a type that stands for others."""
    yield f"### {name}\n"
    yield from _spelled("type", f"{name} = {written}")


def _kind(value: object) -> str:
    if not inspect.isclass(value):
        return "function" if inspect.isfunction(value) else "constant"
    if issubclass(value, BaseException):
        return "exception"
    if getattr(value, "_is_protocol", False):
        return "contract"
    return "value" if issubclass(value, msgspec.Struct) else "class"


def _spelled(kind: str, text: str) -> Iterator[str]:
    if len(text) <= source.WIDTH:
        yield f"*{kind}* · `{text}`\n"
        return
    lines = text.split("\n") if "\n" in text else textwrap.wrap(text, 96, subsequent_indent="    ")
    yield "\n".join([f"*{kind}*\n", "```text", *lines, "```\n"])


def _class(name: str, value: type, kind: str) -> Iterator[str]:
    if issubclass(value, msgspec.Struct):
        yield from _spelled(kind, source.construction(name, value))
    elif kind in ("exception", "class"):
        yield from _spelled(kind, source.made(name, value))
    else:
        yield f"*{kind}*\n"
    yield source.prose(value) + "\n"
    rows = [one for one in source.fields(value) if kind == "contract" or one.doc]
    yield from (
        f"- `{one.name}`{'' if kind != 'contract' else f' `{one.hint}`'} {one.doc}".rstrip()
        for one in rows
    )
    for method, member in source.methods(value) if kind != "exception" else ():
        target = member.fget if isinstance(member, property) else member
        yield f"- `{source.signature(method, member, skip_self=True)}`"
        if text := source.prose(target).replace("\n\n", " "):
            yield f"  {text}"
        yield from (f"  Raises {line}" for line in source.raises(target))
