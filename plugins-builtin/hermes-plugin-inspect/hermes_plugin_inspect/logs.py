"""Reading logs: records of hermes.log, and verdicts of audit.jsonl, through one filter.

A record of hermes.log may have many lines (a traceback). The file is moved aside when it has grown: the
older ones are read where the newest holds too little, and following goes on in the new one.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from hermes_plugins import UsageError

LEVELS: Final = ("debug", "info", "warning", "error", "critical")

_HEAD: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) ([A-Z]+) (\S+) (\d+) (.*)")
_SPAN: Final = re.compile(r"(\d+)\s*([smhdw])")
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SESSION: Final = re.compile(r"\d{8}_\d{6}_[0-9a-f]{6}")


class Record(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing that was logged; ``time`` is seconds since the epoch."""

    time: float
    level: str
    logger: str
    text: str
    process: int = 0
    session: str = ""

    def shown(self, *, as_json: bool = False) -> str:
        """For a person, or as a line of JSON."""
        if as_json:
            return msgspec.json.encode(self).decode()
        when = datetime.fromtimestamp(self.time).strftime("%Y-%m-%d %H:%M:%S")
        text = _CONTROL.sub("", self.text).replace("\n", "\n    ")
        return f"{when} {self.level.upper():<7} {self.logger}: {text}"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown; ``since`` is seconds since the epoch."""

    level: str = "debug"
    session: str = ""
    since: float = 0.0

    def fits(self, record: Record) -> bool:
        """Whether a record is to be shown."""
        rank = LEVELS.index(record.level) if record.level in LEVELS else 1
        if rank < LEVELS.index(self.level) or record.time < self.since:
            return False
        return (
            not self.session
            or record.session.startswith(self.session)
            or (self.session in record.text)
        )


class _Verdict(msgspec.Struct, kw_only=True):
    """A line of audit.jsonl, as far as it is shown."""

    time: float
    session: str = ""
    tool: str = ""
    face: str = ""
    outcome: str = ""
    by: str = ""
    reason: str = ""
    targets: tuple[str, ...] = ()


_verdicts = msgspec.json.Decoder(_Verdict)


class Log:
    """A log of a home. ``shown`` counts what was given out."""

    def __init__(self, folder: Path, name: str, wanted: Wanted) -> None:
        self.file = folder / ("audit.jsonl" if name == "audit" else "hermes.log")
        self.shown = 0
        self._name = name
        self._wanted = wanted
        self._place = 0
        self._number = 0
        self._rest = ""

    @property
    def exists(self) -> bool:
        """Whether anything was logged yet."""
        return self.file.exists()

    def last(self, count: int) -> list[Record]:
        """The last records that fit, oldest first; what comes after them is `new`'s."""
        found: deque[Record] = deque()
        for file in (self.file, *self._older()):
            kept: deque[Record] = deque(maxlen=max(count - len(found), 0))
            try:
                with file.open("rb") as stream:
                    kept.extend(self._fitting(line.decode("utf-8", "replace") for line in stream))
                    if file == self.file:
                        self._place = stream.tell()
                        self._number = os.fstat(stream.fileno()).st_ino
            except FileNotFoundError:
                continue
            except OSError as error:
                raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
            found.extendleft(reversed(kept))
            if len(found) >= count:
                break
        self.shown += len(found)
        return list(found)

    def new(self) -> list[Record]:
        """What was logged since, as far as it fits; also the end of a file that was moved aside."""
        try:
            state = self.file.stat()
            text = self._rest
            if state.st_ino != self._number or state.st_size < self._place:
                text += self._end_of_older()
                self._place, self._number = 0, state.st_ino
            text += self._read_on(self.file)
        except OSError:  # moved aside just now, or not there yet
            return []
        whole, end, self._rest = text.rpartition("\n")
        return list(self._fitting(whole.split("\n"))) if end else []

    def _end_of_older(self) -> str:
        moved = self._older()[:1]
        return self._read_on(moved[0]) if moved and moved[0].stat().st_ino == self._number else ""

    def _read_on(self, file: Path) -> str:
        with file.open("rb") as stream:
            stream.seek(self._place)
            data = stream.read()
            self._place += len(data)
        return data.decode("utf-8", "replace")

    def _older(self) -> list[Path]:
        """Files that were moved aside, newest first."""
        found = [
            one for one in self.file.parent.glob(f"{self.file.name}.*") if one.suffix[1:].isdigit()
        ]
        return sorted(found, key=lambda one: int(one.suffix[1:]))

    def _fitting(self, lines: Iterable[str]) -> Iterator[Record]:
        records = _verdicts_of(lines) if self._name == "audit" else _records_of(lines)
        for record in records:
            is_gateway = record.logger.startswith("hermes.gateway")
            if (self._name != "gateway" or is_gateway) and self._wanted.fits(record):
                yield record


def _records_of(lines: Iterable[str]) -> Iterator[Record]:
    """Records of hermes.log; lines without a head belong to the record before."""
    record: Record | None = None
    for line in lines:
        match = _HEAD.match(line)
        if match is None:
            if record is not None:
                record.text += "\n" + line.rstrip("\r\n")
            continue
        if record is not None:
            yield record
        when = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").timestamp() + int(match[2]) / 1000
        named = _SESSION.search(line)
        record = Record(
            time=when,
            level=match[3].lower(),
            logger=match[4],
            process=int(match[5]),
            text=match[6].rstrip("\r\n"),
            session=named[0] if named else "",
        )
    if record is not None:
        yield record


def _verdicts_of(lines: Iterable[str]) -> Iterator[Record]:
    """Verdicts of the gate; a line that is none (half written) is left out."""
    for line in lines:
        try:
            one = _verdicts.decode(line)
        except (msgspec.MsgspecError, ValueError):
            continue
        targets = " ".join(" ".join(target.split()) for target in one.targets)
        said = f"{one.tool} {one.outcome}" + (f" by {one.by}" if one.by else "")
        yield Record(
            time=one.time,
            level="info" if one.outcome == "allowed" else "warning",
            logger="gate",
            text=": ".join(filter(None, (said, one.reason, targets))),
            session=one.session,
        )


def moment(text: str, now: float) -> float:
    """The time that is meant by ``2h`` (ago) or a date; seconds since the epoch.

    Raises:
        UsageError: it is neither.
    """
    if match := _SPAN.fullmatch(text.strip().lower()):
        return now - int(match[1]) * _SECONDS[match[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except ValueError as error:
        raise UsageError(
            f"--since {text!r} is no time.",
            hint="Say 30m, 2h, 3d, or a date such as 2026-11-30T10:15.",
        ) from error
