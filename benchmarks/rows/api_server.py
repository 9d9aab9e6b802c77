"""The API server beside the peers' own: ready, idle, a request, 200 clients at once, 1,500 sessions."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import msgspec

from benchmarks.bench import Bench, theirs
from benchmarks.candidates import KEY, Candidate
from benchmarks.measure import NotRun, run
from benchmarks.servers import Server, free_port, serving
from benchmarks.table import Figure, Row

STARTS = 5
WARM = 30
REQUESTS = 200
CLIENTS = 200
TURNS = 5
ROUNDS = 2
"""After the first 1,000 sessions so many more times 250, for what a session leaves behind."""
PEER_TURNS = 1
"""1,000 requests take hermes-agent more than ten minutes."""
MB = 1_000_000


class _Load(msgspec.Struct):
    answered: int
    crossed: int
    refused: int
    lost: int
    trouble: str = ""


class _Found(msgspec.Struct):
    """The figures of one server; text where there is none."""

    ready: Figure = "not measured"
    idle: Figure = "not measured"
    request: Figure = "not measured"
    crowd: Figure = "not measured"
    grown: Figure = "not measured"
    missing: Figure = "not measured"
    health: Figure = "not measured"


def rows(bench: Bench) -> Iterator[Row]:
    """Everything about the server."""
    found = {
        candidate.name: _measured(bench, candidate) for candidate in (bench.hermes, *bench.peers)
    }

    def row(figure: str, take: Callable[[_Found], Figure], **more: object) -> Row:
        figures = {name: take(one) for name, one in found.items()}
        told = {"measured": figures["hermes"], "peers": theirs(figures), **more}
        return Row(figure=f"API server: {figure}", **told)  # type: ignore[arg-type]

    yield row("ready, CPU", lambda one: one.ready, unit="s", target=0.6)
    yield row("idle, memory", lambda one: one.idle, unit="MB", target=60.0, digits=0)
    yield row("a request, CPU", lambda one: one.request, unit="ms", target=8.0, digits=1)
    crowd = f"{CLIENTS} clients streaming"
    note = f"{TURNS} requests each; peers {PEER_TURNS}"
    yield row(
        f"{crowd}, memory", lambda one: one.crowd, unit="MB", target=120.0, digits=0, note=note
    )
    yield row(
        f"{crowd}, lost, crossed or refused",
        lambda one: one.missing,
        unit="",
        target=0.0,
        digits=0,
        note=note,
    )
    yield row(f"{crowd}, slowest health check", lambda one: one.health, unit="s", target=None)
    yield row("a session leaves behind", lambda one: one.grown, unit="kB", target=40.0, digits=1)


def _measured(bench: Bench, candidate: Candidate) -> _Found:
    ours = candidate is bench.hermes
    turns = TURNS if ours else PEER_TURNS
    found = _Found()
    try:
        found.ready = statistics.median(_ready(candidate) for _ in range(STARTS if ours else 2))
        port = free_port()
        with serving(candidate.serve("echo", port), port) as server:
            _load(bench, server, (1, 2), "whole")
            found.idle = server.rss() / MB
            _load(bench, server, (4, WARM // 4), "whole")
            before, count = server.cpu(), REQUESTS if ours else 20
            _expect_all(_load(bench, server, (4, count // 4), "whole"), count)
            found.request = (server.cpu() - before) / count * 1000
            with server.watched() as waits:
                load = _load(bench, server, (CLIENTS, turns), "stream")
            found.missing = float(CLIENTS * turns - load.answered)
            found.health = max(waits, default="none was answered")
            first = server.rss()
            for _ in range(ROUNDS):
                _load(bench, server, (50, turns), "stream")
            found.crowd = server.peak() / MB
            found.grown = max(0.0, server.rss() - first) / (ROUNDS * 50 * turns) / 1000
    except NotRun as reason:
        for name in found.__struct_fields__:
            if isinstance(getattr(found, name), str):
                setattr(found, name, str(reason))
    return found


def _ready(candidate: Candidate) -> float:
    port = free_port()
    with serving(candidate.serve("echo", port), port) as server:
        return server.cpu()


def _load(bench: Bench, server: Server, clients: tuple[int, int], kind: str) -> _Load:
    command = bench.program("api_load.py", server.url, KEY, *map(str, clients), kind)
    output = run(msgspec.structs.replace(command, expect="answered", seconds=600)).output
    return msgspec.json.decode(output.splitlines()[-1], type=_Load)


def _expect_all(load: _Load, count: int) -> None:
    if load.answered != count:
        raise NotRun(f"{load.answered} of {count} requests were answered: {load.trouble}")
