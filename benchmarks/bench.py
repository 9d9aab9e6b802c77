"""What the rows share: the environments, the scripted model and the candidates, made when asked for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

from benchmarks.candidates import Candidate, Hermes, peers
from benchmarks.installs import hermes_venv, python_of, venv_with
from benchmarks.measure import Command, Costs, NotRun, run_interleaved
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

    @cached_property
    def venv(self) -> Path:
        """Hermes as users have it."""
        return hermes_venv()

    @cached_property
    def url(self) -> str:
        """The scripted model's address."""
        return self._stack.enter_context(self.model())

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

    @cached_property
    def openai(self) -> Path:
        """The interpreter that has openai's client."""
        return python_of(venv_with("openai"))

    @contextmanager
    def model(self, record: Path | None = None) -> Iterator[str]:
        """The scripted model in a process of its own; gives its address."""
        argv = [str(python_of(self.venv)), str(PROGRAMS / "model.py")]
        argv += ["--record", str(record)] if record else []
        with subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            if not url:
                raise NotRun("the scripted model did not start")
            yield url
            server.stdin.close()

    def program(self, name: str, *arguments: str, python: Path | None = None) -> Command:
        """One of programs/, by default with the interpreter that has Hermes' libraries."""
        argv = [str(python or python_of(self.venv)), str(PROGRAMS / name), *arguments]
        return Command(argv=argv, env=self.hermes.place.env({}), cwd=self.hermes.place.work)

    def compare(
        self,
        mine: Mapping[str, Command],
        asked: Callable[[Candidate], Command] | None,
        times: int,
    ) -> dict[str, Costs | NotRun]:
        """Measure commands beside what the peers do with the same work."""
        commands = dict(mine)
        refused: dict[str, Costs | NotRun] = dict(self._peers[1]) if asked else {}
        for peer in self.peers if asked else ():
            try:
                assert asked is not None
                commands[peer.name] = asked(peer)
            except NotRun as reason:
                refused[peer.name] = reason
        names = [peer.name for peer in self.peers]
        return run_interleaved(commands, times, fewer=names, fewer_times=PEER_ROUNDS) | refused

    def figures(
        self, costs: Mapping[str, Costs | NotRun], take: Callable[[Costs], float]
    ) -> dict[str, Figure]:
        """A number for each, or the reason why there is none."""
        return {
            name: str(cost) if isinstance(cost, NotRun) else take(cost)
            for name, cost in costs.items()
        }
