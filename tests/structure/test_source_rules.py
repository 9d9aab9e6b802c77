"""Rules that the syntax trees show: time, environment, cancellation, broad exceptions, sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

# -- time ------------------------------------------------------------------------------

CLOCKS = {"hermes_core/clock.py"}
TIME = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "sleep")),
    *(f"time.{name}" for name in ("perf_counter", "perf_counter_ns", "localtime", "gmtime")),
    *(f"asyncio.{name}" for name in ("sleep", "timeout", "timeout_at", "wait_for")),
    *(f"datetime.{name}" for name in ("now", "today", "utcnow")),
    *(f"datetime.datetime.{name}" for name in ("now", "today", "utcnow")),
    "date.today",
    "datetime.date.today",
}
LOOP_TIME = {"call_later", "call_at"}


def test_time_is_asked_of_the_clock_only(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{node.lineno} {ast.unparse(node.func)}"
        for source in sources
        if source.name not in CLOCKS and not source.is_testing
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and _asks_for_time(node)
    ]
    assert wrong == []


def _asks_for_time(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name in ("time.localtime", "time.gmtime"):
        return not call.args  # with a time, it only converts
    return name in TIME or (isinstance(call.func, ast.Attribute) and call.func.attr in LOOP_TIME)


def test_nothing_of_time_is_imported_by_name(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{line} {name}"
        for source in sources
        if source.name not in CLOCKS and not source.is_testing
        for line, name, _ in source.imports()
        if name in TIME
    ]
    assert wrong == []


# -- the environment -------------------------------------------------------------------

ENVIRONMENT_READERS = {"hermes_core/config.py", "hermes_core/paths.py"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


def test_the_environment_is_read_in_two_files_only(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{node.lineno} {ast.unparse(node)}"
        for source in sources
        if source.name not in ENVIRONMENT_READERS and not source.is_testing
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ENVIRONMENT
        and ast.unparse(node.value) == "os"
    ]
    wrong += [
        f"{source.name}:{line} {name}"
        for source in sources
        if source.name not in ENVIRONMENT_READERS
        for line, name, _ in source.imports()
        if name in {f"os.{one}" for one in ENVIRONMENT}
    ]
    assert wrong == []


# -- cancellation ----------------------------------------------------------------------

SCOPES = ("TaskGroup(", "create_task_group(", "timeout(", "fail_after(", "move_on_after(")


def test_no_generator_yields_inside_a_task_group_or_timeout(sources: Sequence) -> None:
    """PEP 789: the reader of such a generator is cancelled in its place."""
    wrong = [
        f"{source.name}:{inner.lineno}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.AsyncWith | ast.With) and _opens_a_scope(node)
        for statement in node.body
        for inner in _same_function(statement)
        if isinstance(inner, ast.Yield | ast.YieldFrom)
    ]
    assert wrong == []


def _opens_a_scope(node: ast.AsyncWith | ast.With) -> bool:
    names = (ast.unparse(item.context_expr) for item in node.items)
    return any(scope in name for name in names for scope in SCOPES)


def _same_function(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is in it, without the functions that are defined there."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(node):
        yield from _same_function(child)


# -- broad exceptions ------------------------------------------------------------------

BROAD = {
    "hermes_core/dispatch.py": "a hook's failure is the plugin's, by its family's policy",
    "hermes_core/host.py": "a plugin's import and registration",
    "hermes_core/deadline.py": "what reaches the waiting task is handed on to the coroutine",
    "hermes_core/handle.py": "a plugin's background task is reported, never the end of the program",
    "hermes_core/threads.py": "what a plugin's code raises in its thread is handed to who waits",
    "hermes_core/agent/executor.py": "a handler's failure becomes a result",
    "hermes_core/agent/prompt.py": "a plugin's prompt section is left out and reported",
    "hermes_core/agent/agent.py": "a turn always ends with its last event",
    "hermes_core/registry.py": "a tool's own `available()` check",
    "hermes_core/gateway/supervisor.py": "a platform that falls is started again",
    "hermes_core/cli/app.py": "the top of the CLI",
    "hermes_plugins/_effects.py": "a plugin's function of its effects: the worst case is assumed",
    "plugins-builtin/hermes-plugin-terminal/hermes_plugin_terminal/threads.py": (
        "what a file operation raises in its thread is handed to who waits"
    ),
}
"""Files that may catch everything, and why. One that raises it again at the end may do so anywhere."""


def test_everything_is_caught_in_named_places_only(sources: Sequence) -> None:
    found = {
        source.name: node.lineno
        for source in sources
        if not source.is_testing
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _raises_again(node)
    }
    assert {name: line for name, line in found.items() if name not in BROAD} == {}


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(ast.unparse(name) in ("Exception", "BaseException") for name in names)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


# -- sizes -----------------------------------------------------------------------------

LONGEST_FILE = 700
LONGEST_FUNCTION = 120


def test_no_file_is_longer_than_anybody_reads(sources: Sequence) -> None:
    lengths = {source.name: source.text.count("\n") for source in sources}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_longer_than_anybody_reads(sources: Sequence) -> None:
    lengths = {
        f"{source.name}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}
