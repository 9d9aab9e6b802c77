"""The gate's record: one JSON line for every verdict, append-only, secrets taken out.

It is for reading afterwards. When it cannot be written, the gate goes on and says so once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_core.gate.redact import Redactor
from hermes_plugins._clock import Clock
from hermes_plugins._decisions import CallView

if TYPE_CHECKING:
    from hermes_core.gate.gate import Verdict

_MAX_CHARS = 2_000
"""Of each target; a longer one is cut in the record, not in the judgement."""


class Audit:
    """Writes to ``path``; made with its folder at the first verdict, readable by the owner only."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        report: Callable[[str], None],
        redactor: Redactor | None = None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._report = report
        self._redactor = redactor or Redactor()
        self._file: int | None = None
        self._reported = False

    def record(self, call: CallView, verdict: Verdict) -> None:
        """Append one line."""
        effects = call.effects
        targets = [*effects.runs, *effects.writes, *effects.sends, *effects.fetches, *effects.reads]
        targets = [target.encode("utf-8", "replace").decode() for target in targets]
        line = {
            "v": 1,
            "time": self._clock.now(),
            "session": call.session,
            "turn": call.turn,
            "call": call.id,
            "tool": call.tool,
            "face": call.face,
            "outcome": verdict.outcome,
            "by": verdict.by,
            "reason": self._redactor.redact(verdict.reason),
            "targets": [self._redactor.redact(target)[:_MAX_CHARS] for target in targets],
        }
        try:
            os.write(self._opened(), msgspec.json.encode(line) + b"\n")
        except OSError as error:
            if not self._reported:
                self._reported = True
                self._report(f"The gate's record {self._path} cannot be written: {error.strerror}.")

    def close(self) -> None:
        """Close the file; the next verdict opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            self._file = os.open(self._path, flags, 0o600)
        return self._file
