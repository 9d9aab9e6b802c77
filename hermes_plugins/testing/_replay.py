"""A session played again: the person's messages, the model's answers by script, the real tools.

`hermes replay SESSION --as-test FILE` writes tests that use it. Everything happens in one folder: the
workspace, a home of Hermes and a home of the person. What reaches out of it is refused.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from hermes_plugins._approvals import Choice
from hermes_plugins._events import Event, MessageDone, ToolDone, ToolStarted
from hermes_plugins._messages import Json
from hermes_plugins.testing import replies as kinds
from hermes_plugins.testing._host import Asked
from hermes_plugins.testing._inside import Inside
from hermes_plugins.testing._server import ScriptedRequest, ScriptedServer
from hermes_plugins.testing._tree import normal, tree_of
from hermes_plugins.testing.replies import Reply

if TYPE_CHECKING:
    from hermes_core.agent.agent import Run, Session
    from hermes_core.runtime import Runtime
    from hermes_plugins._approvals import Answer, Question

_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_NOWHERE = "http://127.0.0.1:9"
"""A proxy that nobody is (RFC 863's port), for children that would reach the network."""


class Replay:
    """One session in ``folder``: call `start`, then `said` for each message.

    A context manager for plain (not async) tests. What happened is in ``calls``, ``tree`` and
    ``asked``. It needs no fixture: ``with Replay(tmp_path) as replay``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        """The folder that the session works in; put files there before the first message."""
        self.calls: list[tuple[str, Json, str]] = []
        """Tool, arguments, and how it ended: ok, failed, blocked, cancelled or interrupted."""
        self.asked: list[tuple[str, str]] = []
        """Tool and command or path of each question of the gate."""
        self._turn = _Script()
        self._server = ScriptedServer(self._turn.answer)
        self._runner = asyncio.Runner()
        self._runtime: Runtime | None = None
        self._session: Session | None = None
        self.workspace.mkdir(parents=True, exist_ok=True)

    def start(
        self,
        *toolsets: str,
        plugins: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Begin the session, with these toolsets and third-party ``plugins``, on these files."""
        for name, text in (files or {}).items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        self._server.start()
        chosen = {"plugins.enabled": list(plugins), **(settings or {})}
        self._session = self._runner.run(self._open(toolsets, chosen))

    def said(
        self,
        text: str,
        *replies: Reply,
        answers: Sequence[Choice] | Callable[[str], Choice] = (),
        words: Sequence[str] = (),
        steered: Mapping[int, str] | None = None,
    ) -> Asked:
        """One message and all that follows from it.

        The model gives ``replies`` in order. ``answers`` are said to the gate's questions in order,
        and after the last one it is "deny"; a function gets the call's id. ``words`` answer questions
        of tools. ``steered`` is what the person said meanwhile, by the reply that it came before
        (from 0).
        """
        assert self._session is not None, "start() comes first"
        self._turn.begin(replies, answers, words)
        return self._runner.run(self._said(text, steered or {}))

    @property
    def tree(self) -> dict[str, str]:
        """The workspace's files and their content; times, process ids and paths are normalised."""
        return tree_of(self.workspace, names=self._names())

    @property
    def scratch(self) -> Path:
        """The session's own temporary folder."""
        assert self._session is not None, "start() comes first"
        return self.folder / "home" / "cache" / "scratch" / self._session.info.id

    @property
    def unused(self) -> int:
        """How many replies of the last message nobody asked for."""
        return len(self._turn.replies)

    def normal(self, text: str) -> str:
        """``text`` as it would stand in ``tree``."""
        return normal(text, names=self._names())

    def close(self) -> None:
        """End the session."""
        try:
            if self._session is not None:
                self._runner.run(self._session.close())
            if self._runtime is not None:
                self._runner.run(self._runtime.close())
        finally:
            self._session = self._runtime = None
            self._runner.close()
            self._server.close()

    def __enter__(self) -> Replay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def _open(self, toolsets: tuple[str, ...], settings: Mapping[str, object]) -> Session:
        from hermes_core.paths import resolve_paths
        from hermes_core.runtime import open_runtime
        from hermes_plugins._faces import SessionWish

        environ = _environment(self.folder)
        model = {"provider": "custom", "base_url": self._server.url, "name": "scripted"}
        self._runtime = await open_runtime(
            resolve_paths(environ),
            environ=environ,
            cwd=self.workspace,
            overrides={**{f"model.{name}": value for name, value in model.items()}, **settings},
            objects={("hermes.policies", "replay-inside"): Inside(self.folder)},
        )
        person = _Person(self._turn, self.asked)
        return await self._runtime.open_session(SessionWish(toolsets=toolsets, approver=person))

    async def _said(self, text: str, steered: Mapping[int, str]) -> Asked:
        assert self._session is not None
        events: list[Event] = []
        wanted: dict[str, tuple[str, Json]] = {}
        async with self._session.run(text) as run:
            self._turn.steer_with(run, steered)
            async for event in run:
                events.append(event)
                match event:
                    case MessageDone(message=message):
                        wanted |= {
                            call.id: (call.name, _read(call.arguments))
                            for call in message.tool_calls
                        }
                    case ToolStarted(call=call, tool=tool, arguments=arguments):
                        wanted[call] = (tool, _given(wanted, call, arguments))
                    case ToolDone(call=call, tool=tool, status=status):
                        self.calls.append((tool, wanted.get(call, (tool, None))[1], status))
        assert run.end is not None, "a turn ended without its last event"
        return Asked(events=tuple(events), end=run.end)

    def _names(self) -> dict[str, str]:
        folders = {"<workspace>": self.workspace, "<folder>": self.folder}
        if self._session is not None:
            folders["<scratch>"] = self.scratch
        names: dict[str, str] = {}
        for name, path in folders.items():
            names |= {str(path): name, os.path.realpath(path): name}
        return names


class _Script:
    """What the model and the person say in the message that is going on."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.answers: deque[Choice] | Callable[[str], Choice] = deque()
        self.words: deque[str] = deque()
        self._given = 0
        self._steered: Mapping[int, str] = {}
        self._steer: Callable[[str], object] = str
        self._ready = threading.Event()

    def begin(
        self,
        replies: Sequence[Reply],
        answers: Sequence[Choice] | Callable[[str], Choice],
        words: Sequence[str],
    ) -> None:
        self.replies, self.words, self._given = deque(replies), deque(words), 0
        self.answers = answers if callable(answers) else deque(answers)
        self._ready.clear()

    def steer_with(self, run: Run, steered: Mapping[int, str]) -> None:
        """Pass on what was said meanwhile, while the model is at the answer before."""
        loop = asyncio.get_running_loop()

        def steer(text: str) -> None:
            loop.call_soon_threadsafe(run.steer, text)

        self._steered, self._steer = steered, steer
        self._ready.set()

    def answer(self, request: ScriptedRequest) -> Reply:
        """The server's side, in a thread of its own."""
        self._ready.wait(10.0)
        self._given += 1
        if text := self._steered.get(self._given):
            self._steer(text)
        if self.replies:
            return self.replies.popleft()
        return kinds.fail(400, "the recorded session has no further answer here")


class _Person:
    """Answers as the script says."""

    can_ask = True

    def __init__(self, script: _Script, asked: list[tuple[str, str]]) -> None:
        self._script = script
        self._asked = asked

    async def ask(self, question: Question) -> Answer:
        from hermes_plugins._approvals import Answer

        self._asked.append((question.tool, question.shown))
        answers = self._script.answers
        if callable(answers):
            return Answer(answers(question.call))
        return Answer(answers.popleft() if answers else "deny")

    async def ask_person(self, question: str, choices: Sequence[str]) -> str:
        return self._script.words.popleft() if self._script.words else ""


def _given(wanted: Mapping[str, tuple[str, Json]], call: str, arguments: dict[str, Json]) -> Json:
    """The arguments that ran, without the defaults of those that the model left out."""
    sent = wanted.get(call, ("", None))[1]
    if not isinstance(sent, dict) or not set(sent) <= set(arguments):
        return arguments
    return {name: arguments[name] for name in sent}


def _read(arguments: str) -> Json:
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments


def _environment(folder: Path) -> dict[str, str]:
    """The variables of this process without settings and keys; a person's home in ``folder``."""
    person = folder / "person"
    person.mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HERMES_", "XDG_", "GIT_"))
        and not name.upper().endswith((*_SECRET_ENDINGS, "_PROXY"))
    }
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        kept |= {name: _NOWHERE, name.lower(): _NOWHERE}
    author = {f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {
        **kept,
        **dict.fromkeys(author, "replay@localhost"),
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "HOME": str(person),
        "USERPROFILE": str(person),
        "HERMES_HOME": str(folder / "home"),
    }
