"""A first run at a terminal without any model: one question, once a home."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_plugins.testing import ScriptedServer
from hermes_plugins.testing._command import Command
from hermes_plugins.testing._terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

QUESTION = "No model is connected yet. Run setup now? [Y/n]"
OFFLINE = "Hermes with offline/offline-1."
_numbers = itertools.count()


@pytest.fixture
def terminals(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Terminal]]:
    """Terminals of one home, on a machine where no local server answers."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OLLAMA", "LMSTUDIO", "VLLM", "LLAMACPP"):
        monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:9/v1")  # nothing listens there
    made: list[Terminal] = []

    def make() -> Terminal:
        made.append(Terminal(command, f"hermes-first-{os.getpid()}-{next(_numbers)}"))
        return made[-1]

    yield make
    for terminal in made:
        terminal.close()


@pytest.fixture
def terminal(terminals: Callable[[], Terminal]) -> Terminal:
    return terminals()


def test_a_no_is_remembered_and_the_stand_in_answers(
    terminals: Callable[[], Terminal],
) -> None:
    terminal = terminals()
    terminal.start()
    terminal.wait_for(QUESTION)
    terminal.type("n")
    terminal.wait_for(OFFLINE)
    second = terminals()
    second.start("--cli")
    assert QUESTION not in second.wait_for(OFFLINE)


def test_a_yes_runs_setup_and_then_talks_to_what_it_found(terminal: Terminal) -> None:
    with ScriptedServer(models=("a",)) as server:
        terminal.start("--cli")
        terminal.wait_for(QUESTION)
        terminal.type("")
        terminal.wait_for("Which way? [1]")
        terminal.type("")
        terminal.wait_for("Number or name [1]")
        terminal.type("another address")
        terminal.wait_for("Address, such as")
        terminal.type(server.url)
        terminal.wait_for("[a]")
        terminal.type("")
        terminal.wait_for("Write it? [Y/n]")
        terminal.type("")
        terminal.wait_for("Try it with one small question?")
        terminal.type("n")
        terminal.wait_for("Hermes with custom/a.")


def test_ctrl_c_in_setup_leaves(terminal: Terminal) -> None:
    terminal.start()
    terminal.wait_for(QUESTION)
    terminal.type("y")
    terminal.wait_for("Which way? [1]")
    terminal.press("C-c")
    assert "Nothing was changed." in terminal.wait_for("ended with 130")


def test_ctrl_c_at_the_question_leaves_and_it_is_asked_again(
    terminals: Callable[[], Terminal],
) -> None:
    terminal = terminals()
    terminal.start()
    terminal.wait_for(QUESTION)
    terminal.press("C-c")
    terminal.wait_for("ended with 130")
    second = terminals()
    second.start()
    second.wait_for(QUESTION)


def test_ctrl_d_is_a_no(terminal: Terminal) -> None:
    terminal.start("--cli")
    terminal.wait_for(QUESTION)
    terminal.press("C-d")
    terminal.wait_for(OFFLINE)


@pytest.mark.parametrize(
    "words",
    [("--provider", "offline"), ("--model", "offline/offline-1")],
    ids=lambda words: words[0],
)
def test_who_names_a_model_is_not_asked(terminal: Terminal, words: tuple[str, ...]) -> None:
    terminal.start("--cli", *words)
    assert QUESTION not in terminal.wait_for(OFFLINE)


def test_without_the_plugin_nobody_is_asked(
    command: Command, terminal: Terminal, hermes_home: Path
) -> None:
    hermes_home.mkdir()
    (hermes_home / "hermes.yaml").write_text("plugins: {disabled: [setup]}\n", "utf-8")
    terminal.start("--cli")
    assert QUESTION not in terminal.wait_for(OFFLINE)


def test_a_script_is_not_asked(command: Command, terminal: Terminal) -> None:
    for words, piped in ((("-q", "help"), None), ((), b"help\n")):
        ended = command.run(*words, input=piped)
        assert ended.status == 0
        assert QUESTION not in ended.out + ended.err
