"""The sources of the project as syntax trees, and a table of sizes at the end of the run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


class Source:
    """One Python file of the kernel, the kit or a built-in plugin."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(ROOT).as_posix()
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        if parts[0] == "plugins-builtin":
            parts = parts[2:]
        self.is_package = parts[-1] == "__init__"
        self.module = ".".join(parts[:-1] if self.is_package else parts)
        self.package = self.module.partition(".")[0]

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def is_testing(self) -> bool:
        """Whether it belongs to the kit's test tools, to which some rules do not apply."""
        return self.module.startswith("hermes_plugins.testing")

    def imports(self) -> Iterator[tuple[int, str, bool]]:
        """Line, absolute module (with the name that is taken from it) and whether for types only."""
        typing_only = {
            id(inner)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            for inner in ast.walk(node)
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name, id(node) in typing_only
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    up = self.module.split(".")
                    up = up[: len(up) - node.level + self.is_package]
                    base = ".".join([*up, base] if base else up)
                for alias in node.names:
                    yield node.lineno, f"{base}.{alias.name}", id(node) in typing_only


def _sources() -> list[Source]:
    found = [*ROOT.glob("hermes_core/**/*.py"), *ROOT.glob("hermes_plugins/**/*.py")]
    found += ROOT.glob("plugins-builtin/*/hermes_plugin_*/**/*.py")
    return [Source(path) for path in sorted(found)]


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """Every file of hermes_core, hermes_plugins and the built-in plugins."""
    return _sources()


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


# -- the table of sizes: read, not enforced; the hard limits have a test -----------------

_GROUPS = (
    ("hermes_core without cli, gateway", 5000, 6000),
    ("hermes_core/cli", 1500, 2000),
    ("hermes_core/gateway", 1500, 2000),
    ("agent/turn.py + agent/executor.py", 500, 700),
    ("hermes_plugins without testing", 1500, 2500),
)


def _groups_of(source: Source) -> Iterator[str]:
    name = source.name
    if name.startswith(("hermes_core/cli/", "hermes_core/gateway/")):
        yield "/".join(name.split("/")[:2])
    elif name.startswith("hermes_core/"):
        yield _GROUPS[0][0]
    elif name.startswith("hermes_plugins/") and not source.is_testing:
        yield _GROUPS[4][0]
    if name in ("hermes_core/agent/turn.py", "hermes_core/agent/executor.py"):
        yield _GROUPS[3][0]


def _code_lines(source: Source) -> int:
    """Lines that are neither blank, comment nor docstring."""
    docs: set[int] = set()
    for node in ast.walk(source.tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            docs.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        1
        for number, line in enumerate(source.text.splitlines(), 1)
        if number not in docs and line.strip() and not line.strip().startswith("#")
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what STYLE asks to look at twice."""
    sources = _sources()
    sums: dict[str, int] = {}
    for source in sources:
        for group in _groups_of(source):
            sums[group] = sums.get(group, 0) + _code_lines(source)
    terminalreporter.section("sizes (code lines; look twice above)")
    for group, aim, twice in _GROUPS:
        mark = "  <- look" if sums.get(group, 0) > twice else ""
        terminalreporter.line(f"{sums.get(group, 0):>6} of {aim} ({twice})  {group}{mark}")
    for source in sources:
        lines = source.text.count("\n")
        if lines > 500:
            terminalreporter.line(f"{lines:>6} lines (500)  {source.name}  <- look")
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > 60:
                    place = f"{source.name}:{node.lineno} {node.name}"
                    terminalreporter.line(f"{length:>6} lines (60)  {place}  <- look")
