"""A REPL in a terminal that several tests share: starting one takes longer than most of what they do."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hermes_plugins.testing import ScriptedRequest, ScriptedServer, replies
from hermes_plugins.testing._command import Command
from hermes_plugins.testing._terminal import Terminal
from hermes_plugins.testing.replies import Reply

READY = "approvals manual"
_numbers = itertools.count()


class Repl:
    """A REPL at 100 by 50, the scripted server behind it, and the folder that it works in."""

    def __init__(self, root: Path) -> None:
        self.home, self.folder = root / "home", root / "folder"
        self.home.mkdir()
        self.folder.mkdir()
        self._script: list[Reply] = []
        self.server = ScriptedServer(self._next)
        self.server.start()
        command = Command(self.home, self.folder)
        command.talks_to(self.server)
        self.terminal = Terminal(command, f"hermes-repl-{os.getpid()}-{next(_numbers)}")
        self.terminal.start(environ={"HERMES_HOME": str(self.home), "VISUAL": "./editor.sh"})
        self.terminal.wait_for(READY)

    def _next(self, request: ScriptedRequest) -> Reply:
        return self._script.pop(0) if self._script else replies.say("ok.")

    @property
    def is_usable(self) -> bool:
        """False after a test that failed in the middle of something."""
        screen = self.terminal.screen()
        return READY in screen and "Esc interrupts" not in screen and "\n>\n" in f"\n{screen}"

    def begin(self, script: Sequence[Reply]) -> None:
        """A new session in an empty folder, and an empty screen; the model answers by the script."""
        for path in self.folder.iterdir():  # the folder itself is where the program stands
            path.unlink()
        self.terminal.press("C-l")
        self.terminal.wait_without("New session")  # of the test before
        self.terminal.type("/new")
        self.terminal.wait_for("New session")
        self.terminal.press("C-l")
        self.terminal.wait_without("New session")
        self.terminal.tmux("clear-history")
        self._script[:] = script
        self.server.requests.clear()

    def close(self) -> None:
        self.terminal.close()
        self.server.close()


@pytest.fixture(scope="module")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Repl]]:
    opened: list[Repl] = []
    yield opened
    for one in opened:
        one.close()


@pytest.fixture
def repl(_shared: list[Repl], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Repl]:
    """Begin a test in the shared REPL: ``repl(replies.say("…"), …)``; then the model says "ok."."""

    def begun(*script: Reply) -> Repl:
        if not _shared or not _shared[-1].is_usable:
            _shared.append(Repl(tmp_path_factory.mktemp("repl")))
        _shared[-1].begin(script)
        return _shared[-1]

    return begun


@pytest.fixture
def terminals(command: Command) -> Iterator[Callable[[], Terminal]]:
    """Terminals of the test's own; it starts Hermes in them itself."""
    opened: list[Terminal] = []

    def another() -> Terminal:
        opened.append(Terminal(command, f"hermes-test-{os.getpid()}-{next(_numbers)}"))
        return opened[-1]

    yield another
    for one in opened:
        one.close()


@pytest.fixture
def terminal(terminals: Callable[[], Terminal]) -> Terminal:
    """One of them."""
    return terminals()
