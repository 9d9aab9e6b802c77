"""docs/reference/hooks.md: every hook with its exact signature, in firing order, from hookspecs.py."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from hermes_core import dispatch, hookspecs, host
from pages import source

_HEAD = """\
# Hooks

Made from `hermes_core/hookspecs.py` by `scripts/generate_docs.py`; do not edit.

The order below is the order in which they fire. A plugin implements one by defining a function of its
name and marking it:

```python
from hermes_plugins import CallView, hookimpl


@hookimpl
async def hermes_on_tool_call(call: CallView) -> None:
    print(call.tool)
```

An implementation names only the arguments it needs, in any order; `host` is the plugin's own handle.
It may be `async def` or plain; a plain one runs in a thread of the plugin's own, one call after the
other. Each implementation gets its own copy of what could be changed in place. Plugins are called in
the order of `plugins.enabled`, the rest by name. Wrappers, `tryfirst`, `trylast` and `specname` are
refused when a plugin is loaded, and so are a hook in an entry-point group where it does not count
(the groups stand with each hook), an argument that a hook does not have, and a hook that does not
exist.

The family's name is its failure policy:

| family | a result | when a plugin raises or hangs | deadline |
|---|---|---|---|
{families}

A missed deadline switches all hooks of the plugin off until the next start; a policy that is off
denies every call. An `on_` hook that fails {failures} times in a row is switched off. `on_` hooks
wait in a queue of {queue} calls per plugin, and nothing waits for them. A plugin's import may take
{imports:g} s and its constructor {make:g} s.
"""
_ANSWERS = "`Allow()`, `Ask(reason)`, `Deny(reason)` or nothing; the strictest wins"
_FAMILIES = (
    ("register", "an iterable of values; pure, plain, no arguments", "the plugin is dropped whole"),
    ("transform", "the value, changed or not, in rank order", "reported, the value unchanged"),
    ("before", _ANSWERS, "counts as Deny"),
    ("on", "ignored", "reported; off if it keeps failing"),
)


def page() -> str:
    """The text."""
    rows = "\n".join(
        f"| `hermes_{family}_*` | {result} | {failure} | {dispatch.DEADLINES[family]:g} s |"
        for family, result, failure in _FAMILIES
    )
    head = _HEAD.format(
        families=rows,
        failures=dispatch.MAX_FAILURES,
        queue=f"{dispatch.WATCH_QUEUE:,}",
        imports=host.IMPORT_DEADLINE,
        make=host.MAKE_DEADLINE,
    )
    return "\n\n".join(part.strip("\n") for part in (head, *_sections())) + "\n"


def hooks() -> list[str]:
    """The names of all hooks, in firing order."""
    return [name for name in vars(hookspecs) if name.startswith("hermes_")]


def signature(name: str) -> str:
    """A hook's exact signature, as its heading has it."""
    found = inspect.signature(getattr(hookspecs, name))
    arguments = ", ".join(f"{one.name}: {one.annotation}" for one in found.parameters.values())
    return f"{name}({arguments}) -> {found.return_annotation}"


def _sections() -> Iterator[str]:
    titles = _titles()
    for name in hooks():
        if name in titles:
            yield f"## {titles[name]}"
        yield f"### `{signature(name)}`"
        yield _without_groups(source.prose(getattr(hookspecs, name)))
        groups = [group for group, names in hookspecs.HONOURED.items() if name in names]
        listed = "any" if len(groups) == len(hookspecs.HONOURED) else ", ".join(groups)
        yield f"Groups: {listed}."


def _without_groups(text: str) -> str:
    """The prose without its own word on groups, which is said from the table of them."""
    return re.sub(r"\s*(Groups?: [^.]*(\.[a-z][^.]*)*\.|Any group\.)$", "", text)


def _titles() -> dict[str, str]:
    """The ruled titles of the source, by the hook that follows."""
    text = inspect.getsource(hookspecs)
    marks = [
        (text[: found.start()].count("\n") + 1, found[1].strip())
        for found in re.finditer(r"^# -{20,}\n# (.+)\n# -{20,}$", text, re.MULTILINE)
    ]
    functions = [
        (node.lineno, node.name)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    ]
    found: dict[str, str] = {}
    for line, title in marks:
        after = [name for at, name in functions if at > line]
        if after:
            found[after[0]] = title
    return found
