"""The table: a figure, what it should be, what it is, and what the same costs elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

Figure = float | str
"""A number, or why there is none."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure; smaller is better."""

    figure: str
    unit: str
    target: float | None
    measured: Figure
    floor: Figure | None = None
    """What the least possible program costs here."""
    peers: Mapping[str, Figure] = {}
    digits: int = 2
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """None when there is nothing to judge."""
        if self.target is None or isinstance(self.measured, str):
            return None
        return self.measured <= self.target


def render(rows: Iterable[Row], peers: Sequence[str] = ()) -> str:
    """The rows as aligned text, and below it what could not be run, and why."""
    rows = list(rows)
    lines = [["figure", "to reach", "measured", "", "floor", *peers, "note"]]
    for row in rows:
        cells = [row.measured, row.floor, *(row.peers.get(peer) for peer in peers)]
        measured, *others = (_cell(cell, row) for cell in cells)
        target = "" if row.target is None else _cell(row.target, row)
        mark = {True: "ok", False: "MISSED", None: ""}[row.reached]
        lines.append([row.figure, target, measured, mark, *others, row.note])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "\n".join(_line(line, widths) for line in lines)
    return "\n".join([text, *_footnotes(rows)]) + "\n"


def _cell(value: Figure | None, row: Row) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return "not run"
    return f"{value:,.{row.digits}f} {row.unit}".rstrip()


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    middle = [cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1], strict=True)]
    return "  ".join([cells[0].ljust(widths[0]), *middle, cells[-1]]).rstrip()


def _footnotes(rows: Iterable[Row]) -> list[str]:
    notes = [
        f"{name}, {row.figure}: not run: {value}"
        for row in rows
        for name, value in (("hermes", row.measured), ("floor", row.floor), *row.peers.items())
        if isinstance(value, str)
    ]
    return ["", *notes] if notes else []
