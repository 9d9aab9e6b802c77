"""docs/reference/testing.md: every name of `hermes_plugins.testing`, and the scripted replies."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

from hermes_plugins import testing
from hermes_plugins.testing import anthropic, replies
from pages import source
from pages.kit import entry

_HEAD = """\
# What tests import

Made from `hermes_plugins/testing/` by `scripts/generate_docs.py`; do not edit. How they go together
stands in [test a plugin](../how-to/test-a-plugin.md).

Switch it on in your own `pyproject.toml`; nothing happens in a test run that does not ask for it:

```toml
[tool.pytest.ini_options]
addopts = "-p hermes_plugins.testing"
anyio_mode = "auto"
```
"""
_AUTOMATIC = ("anyio_backend", "hermes_home", "no_outside_network")


def page() -> str:
    """The text."""
    names = [name for name in testing.__all__ if not inspect.ismodule(getattr(testing, name))]
    values = {name: getattr(testing, name) for name in names}
    suites = [name for name in names if name.endswith("Conformance")]
    fixtures = [
        name for name in names if not inspect.isclass(values[name]) and _is_fixture(values[name])
    ]
    rest = [name for name in names if name not in (*suites, *fixtures, "HostFactory")]
    parts = [_HEAD, "## Fixtures"]
    parts += [_fixture(name, values[name]) for name in fixtures]
    parts += ["## Conformance suites\n", *(_suite(name, values[name]) for name in suites)]
    parts.append("## Values and helpers")
    parts += ["\n".join(entry(name, values[name])) for name in rest]
    for module in (replies, anthropic):
        name = module.__name__.rpartition(".")[2]
        title = "Replies" if module is replies else f"Replies of {name}"
        parts.append(f"## {title}\n\n" + source.prose(module))
        parts.append(f"`from hermes_plugins.testing import {name}`")
        parts += ["\n".join(_reply(name, function)) for name, function in _replies(module)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _is_fixture(value: object) -> bool:
    return "fixture" in type(value).__name__.lower() or hasattr(value, "_pytestfixturefunction")


def _fixture(name: str, value: object) -> str:
    function = inspect.unwrap(value)  # type: ignore[arg-type]
    mark = " (automatic)" if name in _AUTOMATIC else ""
    return f"### {name}\n\n*fixture*{mark}\n\n{source.prose(function)}"


def _suite(name: str, suite: type) -> str:
    tests = [
        f"- {test.removeprefix('test_').replace('_', ' ')}"
        for base in reversed(suite.__mro__)
        for test in vars(base)
        if test.startswith("test_")
    ]
    given = [
        f"- `{one.name}` `{one.hint.removeprefix('ClassVar[').removesuffix(']')}` {one.doc}".rstrip()
        for one in source.fields(suite)
    ]
    given += [
        f"- `{source.signature(method, member, skip_self=True)}` {source.paragraph(member)}"
        for method, member in source.methods(suite)
        if not method.startswith("test_")
    ]
    head = f"### {name}\n\n*suite of {len(tests)} tests*\n\n{source.prose(suite)}"
    return "\n\n".join([head, "\n".join(given), "It checks that", "\n".join(tests)])


def _replies(module: ModuleType) -> Iterator[tuple[str, object]]:
    for name, function in vars(module).items():
        is_own = getattr(function, "__module__", "") == module.__name__
        if inspect.isfunction(function) and is_own and not name.startswith("_"):
            yield name, function


def _reply(name: str, function: object) -> Iterator[str]:
    yield f"- `{source.signature(name, function, skip_self=False)}`".replace("\n    ", " ").replace(
        "\n", ""
    )
    yield f"  {source.prose(function)}"
