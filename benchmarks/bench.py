"""What the rows share: the environments, the scripted model and the candidates, made when asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from benchmarks.candidates import Candidate, Hermes, peers
from benchmarks.installs import PEERS, hermes_venv, python_of, venv_with
from benchmarks.measure import Command, Costs, NotRun, run, run_interleaved
from benchmarks.table import Figure

PROGRAMS = Path(__file__).parent / "programs"
PEER_ROUNDS = 3


class Bench:
    """One call of the benchmarks."""

    def __init__(
        self, folder: Path, stack: ExitStack, *, with_peers: bool = False, full: bool = False
    ) -> None:
        self.folder = folder
        self.full = full
        self._stack = stack
        self._with_peers = with_peers
        self._kept = folder / "kept.jsonl"

    @cached_property
    def venv(self) -> Path:
        """Hermes as users have it."""
        return hermes_venv()

    @cached_property
    def hermes(self) -> Hermes:
        """Hermes in a fresh home."""
        return self.fresh_hermes("hermes")

    def fresh_hermes(self, name: str, venv: Path | None = None) -> Hermes:
        """One more Hermes, with a home of its own."""
        return Hermes(venv or self.venv, self.folder / name, self.url)

    @cached_property
    def _peers(self) -> tuple[Sequence[Candidate], Mapping[str, NotRun]]:
        return peers(self.folder, self.url) if self._with_peers else ((), {})

    @property
    def peers(self) -> Sequence[Candidate]:
        """The peers that are installed; none unless they were asked for."""
        return self._peers[0]

    def versions(self) -> dict[str, str]:
        """Who was measured."""
        theirs = {peer.name: peer.version for peer in self.peers}
        return {"hermes": self.hermes.version, **theirs}

    @cached_property
    def openai(self) -> Path:
        """The interpreter that has openai's client."""
        return python_of(venv_with("openai"))

    @cached_property
    def url(self) -> str:
        """The address of the scripted model, which runs in a process of its own.

        Raises:
            NotRun: it did not start.
        """
        server = self._stack.enter_context(
            subprocess.Popen(
                [sys.executable, str(PROGRAMS / "model.py"), str(self._kept)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        )
        assert server.stdin is not None
        assert server.stdout is not None
        self._stack.callback(server.stdin.close)
        url = server.stdout.readline().strip()
        if not url:
            raise NotRun("the scripted model did not start")
        return url

    def requests_of(self, command: Command) -> list[bytes]:
        """Run it, and give the bodies of its requests to a model named ``kept-…``.

        Raises:
            NotRun: it failed, or sent none.
        """
        self._kept.unlink(missing_ok=True)
        run(command)
        if not self._kept.exists():
            raise NotRun("it sent no request")
        return self._kept.read_bytes().splitlines()

    def program(self, name: str, *arguments: str, python: Path | None = None) -> Command:
        """One of programs/, by default with the interpreter that has Hermes' libraries."""
        argv = [str(python or python_of(self.venv)), str(PROGRAMS / name), *arguments]
        return Command(argv=argv, env=self.hermes.place.env({}), cwd=self.hermes.place.work)

    def compare(
        self,
        asked: Mapping[str, Callable[[Candidate], Command]],
        times: int,
        beside: Mapping[tuple[str, str], Command] | None = None,
    ) -> dict[str, dict[str, Costs | NotRun]]:
        """Give Hermes and the peers the same work, in one or more variants; variant -> name -> costs.

        ``beside`` are commands to measure with them, by variant and name; one may stand in for
        Hermes' own.
        """
        commands: dict[tuple[str, str], Command] = {}
        costs: dict[str, dict[str, Costs | NotRun]] = {}
        for variant, ask in asked.items():
            costs[variant] = dict(self._peers[1])
            for candidate in (self.hermes, *self.peers):
                try:
                    commands[variant, candidate.name] = ask(candidate)
                except NotRun as reason:
                    costs[variant][candidate.name] = reason
        commands |= beside or {}
        theirs = {peer.name for peer in self.peers}
        slow = [key for key in commands if key[1] in theirs]
        measured = run_interleaved(commands, times, fewer=slow, fewer_times=PEER_ROUNDS)
        for (variant, name), cost in measured.items():
            costs[variant][name] = cost
        return costs


def figures(
    costs: Mapping[str, Costs | NotRun], take: Callable[[Costs], float]
) -> dict[str, Figure]:
    """A number for each, or the reason why there is none."""
    return {
        name: str(cost) if isinstance(cost, NotRun) else take(cost) for name, cost in costs.items()
    }


def theirs(figures: Mapping[str, Figure]) -> dict[str, Figure]:
    """Those of the peers."""
    return {name: figures[name] for name in PEERS if name in figures}
