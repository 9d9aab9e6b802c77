"""A real terminal for tests of what a person sees: tmux, a server of its own each."""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Mapping

from hermes_plugins.testing._command import SECONDS, Command, hermes_program


class Terminal:
    """A tmux server of its own with one window of 100 columns."""

    def __init__(self, command: Command, name: str) -> None:
        self._command = command
        self._name = name

    def tmux(self, *arguments: str) -> str:
        return subprocess.run(
            ["tmux", "-L", self._name, "-f", os.devnull, *arguments],
            capture_output=True,
            check=True,
            env=self._command.environ({"LC_ALL": "C.UTF-8"}),
            cwd=self._command.folder,
        ).stdout.decode()

    def start(
        self,
        *arguments: str,
        columns: int = 100,
        rows: int = 50,
        environ: Mapping[str, str] | None = None,
        before: str = ":",
    ) -> None:
        """Run ``hermes`` in it; ``before`` is a line of shell that runs first, in the same terminal."""
        line = " ".join(map(shlex.quote, [*hermes_program(), *arguments]))
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in (environ or {}).items())
        shell = f"{before}; trap : INT; {given} {line}; echo ended with $?; cat"
        size = ("-x", str(columns), "-y", str(rows))
        self.tmux("new-session", "-d", *size, "sh", "-c", shell)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)
        self.press("Enter")

    def press(self, key: str) -> None:
        self.tmux("send-keys", key)

    def paste(self, text: str) -> None:
        """As from the clipboard, in brackets where the program asked for them."""
        self.tmux("set-buffer", text)
        self.tmux("paste-buffer", "-p")

    def resize(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self, *, colours: bool = False, history: bool = False) -> str:
        more = [*(["-e"] if colours else []), *(["-S", "-"] if history else [])]
        return self.tmux("capture-pane", "-p", *more).rstrip()

    def wait_for(self, text: str, *, times: int = 1) -> str:
        """The screen, once the text is on it so many times."""
        screen = ""
        for _ in range(SECONDS * 30):
            screen = self.screen()
            if screen.count(text) >= times:
                return screen
            threading.Event().wait(0.03)
        raise AssertionError(f"{text!r} did not appear:\n{screen}")

    def wait_without(self, text: str) -> str:
        """The screen, once the text is not on it any more."""
        screen = ""
        for _ in range(SECONDS * 30):
            screen = self.screen()
            if text not in screen:
                return screen
            threading.Event().wait(0.03)
        raise AssertionError(f"{text!r} did not go away:\n{screen}")

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._name, "kill-server"], capture_output=True, check=False)
