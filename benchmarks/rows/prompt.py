"""What is sent: how long the prompt is, and whether it ever moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.bench import Bench
from benchmarks.candidates import Candidate, Hermes
from benchmarks.measure import Command, NotRun, run
from benchmarks.table import Figure, Row

TOOLSETS = "file,terminal,todo,clarify,memory"


class Body(msgspec.Struct):
    """A recorded request; the parts stay as they were sent."""

    messages: msgspec.Raw
    tools: msgspec.Raw = msgspec.Raw(b"")


class _Opening(msgspec.Struct):
    role: str
    content: msgspec.Raw


def size(bench: Bench) -> Iterator[Row]:
    """Bytes of the system prompt and the tool schemas."""
    figures: dict[str, Figure] = {}
    notes = []
    with bench.model(bench.folder / "prompts.jsonl") as url:
        hermes = Hermes(bench.venv, bench.folder / "prompt", url)
        command = hermes.call("chat", "-q", "Hi.", "--toolsets", TOOLSETS, url=url)
        for name, asked in _askers(bench, command, url):
            figures[name], tools = _prompt_of(bench.folder / "prompts.jsonl", asked)
            notes.append(f"{name} {tools}")
    yield Row(
        figure=f"system prompt + schemas of {TOOLSETS}",
        unit="bytes",
        digits=0,
        target=8000,
        measured=figures.pop("hermes"),
        peers=figures,
        note="tools: " + ", ".join(notes),
    )


def _askers(bench: Bench, hermes: Command, url: str) -> Iterator[tuple[str, Command | NotRun]]:
    yield "hermes", hermes
    for peer in bench.peers:
        if peer.name != "llm":
            yield peer.name, _asked_there(bench, peer, url)


def _asked_there(bench: Bench, peer: Candidate, url: str) -> Command:
    other = type(peer)(bench.venv_of(peer), bench.folder / f"{peer.name}-prompt", url)
    return other.ask("say")
