"""Who is measured, and how each is asked: Hermes and its peers, all against the same scripted model.

A candidate has a folder to itself: a home, and a workspace with notes to read. No key is real and no
address is outside of loopback.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from benchmarks.installs import PEERS, add, program_of, venv_with, version_in
from benchmarks.measure import Command, NotRun

KEY = "sk-test-not-a-real-key"
QUESTION = "How many notes are there?"
NOTES = 600


def answer_of(model: str) -> str:
    """What the scripted model of that name ends with (programs/model.py)."""
    kind, _, count = model.removeprefix("kept-").partition("-")
    return {"deltas": "word word", "read": f"{count} notes read."}.get(kind, "The answer is 42.")


class Place:
    """A folder with a home and a workspace in it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir(parents=True)
        (self.work / "notes").mkdir(parents=True)
        for number in range(NOTES):
            note = f"Note {number}: " + "a line of nothing much.\n" * (1 + number % 5)
            (self.work / "notes" / f"{number:03}.txt").write_text(note, encoding="utf-8")

    def env(self, more: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of a child: the machine's own settings have no part in it."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **more,
        }


class Candidate(Protocol):
    """One that can be asked."""

    name: str
    version: str
    tools: bool
    """It has tools for the model."""

    def show_version(self) -> Command:
        """Print the version."""

    def ask(self, model: str) -> Command:
        """One question in a new session, answered by that scripted model.

        Raises:
            NotRun: it cannot do what that model asks for.
        """

    def serve(self, model: str, port: int) -> Command:
        """Its own server of chat completions on that port, with `KEY` as its key.

        Raises:
            NotRun: it has none.
        """


class Hermes:
    """This program, as installed in an environment."""

    name = "hermes"
    tools = True

    def __init__(self, venv: Path, folder: Path, url: str) -> None:
        self.version = version_in(venv, "hermes-host")
        self.place = Place(folder)
        self.home = self.place.home / "hermes"
        self._program = program_of(venv, "hermes")
        self._url = url

    def configure(self, settings: Mapping[str, object]) -> None:
        """Write its hermes.yaml (JSON is YAML)."""
        self.home.mkdir(exist_ok=True)
        (self.home / "hermes.yaml").write_bytes(msgspec.json.format(msgspec.json.encode(settings)))

    def show_version(self) -> Command:
        return self.call("--version")

    def ask(self, model: str) -> Command:
        return self.call("chat", "-q", QUESTION, "--max-turns", "600", model=model)

    def talk(self, model: str) -> Command:
        """One question at a terminal, as the plain face shows it, then Ctrl-D."""
        command = self.call("chat", model=model)
        typed = f"{QUESTION}\n\x04"
        return msgspec.structs.replace(command, typed=typed, expect=answer_of(model))

    def serve(self, model: str, port: int) -> Command:
        self.configure(
            {
                "platforms": {"api-server": {"enabled": True}},
                "plugins": {"api-server": {"port": port}},
            }
        )
        command = self.call("gateway", "run", model=model)
        return msgspec.structs.replace(command, env={**command.env, "API_SERVER_KEY": KEY})

    def open(self, model: str) -> Command:
        """The REPL, in a terminal that somebody else has to open."""
        command = self.call("chat", model=model)
        env = {**command.env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        return msgspec.structs.replace(command, env=env)

    def call(self, *arguments: str, model: str = "say") -> Command:
        """Any command line."""
        env = {
            "HERMES_HOME": str(self.home),
            "HERMES_MODEL__PROVIDER": "custom",
            "HERMES_MODEL__BASE_URL": self._url,
            "HERMES_MODEL__NAME": model,
        }
        return Command(
            argv=[*self._program, *arguments], env=self.place.env(env), cwd=self.place.work
        )


class HermesAgent:
    """hermes-agent: a custom endpoint is settings of its config.yaml."""

    name = "hermes-agent"
    tools = True

    def __init__(self, venv: Path, folder: Path, url: str) -> None:
        self.version = version_in(venv, PEERS[self.name])
        self._venv = venv
        self._place = Place(folder)
        self._program = program_of(venv, "hermes")
        config = self._place.home / ".hermes" / "config.yaml"
        config.parent.mkdir()
        config.write_text(
            f"model:\n  default: say\n  provider: custom\n  base_url: {url}\n  api_key: {KEY}\n",
            encoding="utf-8",
        )

    def show_version(self) -> Command:
        return self._call("--version")

    def ask(self, model: str) -> Command:
        return self._call("chat", "-Q", "-q", QUESTION, "-m", model, "--max-turns", "600")

    def serve(self, model: str, port: int) -> Command:
        add(self._venv, "aiohttp")
        config = self._place.home / ".hermes" / "config.yaml"
        text = config.read_text(encoding="utf-8").replace("default: say", f"default: {model}")
        # Its usual limit of 10 runs at once would refuse most of the work.
        text += "gateway:\n  api_server:\n    max_concurrent_runs: 0\n"
        config.write_text(text, encoding="utf-8")
        command = self._call("gateway", "run")
        more = {
            "API_SERVER_ENABLED": "true",
            "API_SERVER_KEY": KEY,
            "API_SERVER_PORT": str(port),
        }
        return msgspec.structs.replace(command, env={**command.env, **more})

    def _call(self, *arguments: str) -> Command:
        env = self._place.env({"HERMES_DISABLE_LAZY_INSTALLS": "1"})
        return Command(argv=[*self._program, *arguments], env=env, cwd=self._place.work)


class Nanobot:
    """nanobot: the model is part of the config file, so each model has one."""

    name = "nanobot"
    tools = True

    def __init__(self, venv: Path, folder: Path, url: str) -> None:
        self.version = version_in(venv, PEERS[self.name])
        self._venv = venv
        self._place = Place(folder)
        self._program = program_of(venv, "nanobot")
        self._url = url

    def show_version(self) -> Command:
        return self._call("--version")

    def serve(self, model: str, port: int) -> Command:
        add(self._venv, "aiohttp")
        return self._call("serve", "--port", str(port), "--config", str(self._config(model)))

    def ask(self, model: str) -> Command:
        command = self._call("agent", "-m", QUESTION, "--config", str(self._config(model)))
        return msgspec.structs.replace(command, prepare=self._forget)

    def _config(self, model: str) -> Path:
        defaults = {"model": model, "provider": "custom", "workspace": str(self._place.work)}
        config = {
            "agents": {"defaults": defaults},
            "providers": {"custom": {"apiBase": self._url, "apiKey": KEY}},
        }
        file = self._place.home / f"{model}.json"
        file.write_bytes(msgspec.json.encode(config))
        return file

    def _forget(self) -> None:
        """A new session for each question, as the others have."""
        for folder in [*self._place.home.rglob("sessions"), *self._place.work.rglob("sessions")]:
            shutil.rmtree(folder)

    def _call(self, *arguments: str) -> Command:
        return Command(
            argv=[*self._program, *arguments], env=self._place.env({}), cwd=self._place.work
        )


class Llm:
    """llm: a model list of its own; no file tools."""

    name = "llm"
    tools = False
    _models = ("say", "deltas-20000")

    def __init__(self, venv: Path, folder: Path, url: str) -> None:
        self.version = version_in(venv, PEERS[self.name])
        self._place = Place(folder)
        self._program = program_of(venv, "llm")
        listed = [
            f"- model_id: {model}\n  model_name: {model}\n  api_base: {url}\n"
            for model in self._models
        ]
        (self._place.home / "extra-openai-models.yaml").write_text(
            "".join(listed), encoding="utf-8"
        )

    def show_version(self) -> Command:
        return self._call("--version")

    def ask(self, model: str) -> Command:
        if model not in self._models:
            raise NotRun("it has no tool that reads files")
        return self._call("-m", model, QUESTION)

    def serve(self, model: str, port: int) -> Command:
        raise NotRun("it has no server")

    def _call(self, *arguments: str) -> Command:
        env = self._place.env({"LLM_USER_PATH": str(self._place.home), "OPENAI_API_KEY": KEY})
        return Command(argv=[*self._program, *arguments], env=env, cwd=self._place.work)


def asking(model: str) -> Callable[[Candidate], Command]:
    """How any candidate is asked with that model, and what it has to print."""
    return lambda candidate: msgspec.structs.replace(candidate.ask(model), expect=answer_of(model))


def peers(folder: Path, url: str) -> tuple[Sequence[Candidate], dict[str, NotRun]]:
    """Every peer that can be installed, and why the others cannot."""
    ready: list[Candidate] = []
    missing: dict[str, NotRun] = {}
    for make in (HermesAgent, Nanobot, Llm):
        try:
            ready.append(make(venv_with(PEERS[make.name]), folder / make.name, url))
        except NotRun as reason:
            missing[make.name] = reason
    return ready, missing
