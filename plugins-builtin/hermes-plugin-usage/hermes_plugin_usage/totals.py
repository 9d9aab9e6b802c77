"""Totals: the usage of sessions, added up by model, day or session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import msgspec

from hermes_plugins import CommandHost, SessionInfo, SessionReader, Usage

DAY = 86_400.0
_PAGE = 500


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """The sum of some sessions; ``priced`` is False where the cost of a part is unknown."""

    name: str
    sessions: int = 0
    usage: Usage = Usage()
    priced: bool = True

    def plain(self) -> dict[str, object]:
        """For ``--json``; all fields, cost in US dollars or null."""
        usage = self.usage
        return {
            "name": self.name,
            "sessions": self.sessions,
            "input": usage.input,
            "cached": usage.cached,
            "output": usage.output,
            "reasoning": usage.reasoning,
            "cost": usage.cost,
            "cost_is_whole": self.priced,
        }


async def count(host: CommandHost, *, by: str, days: int) -> Sequence[Total]:
    """Add up the sessions that were used in the last ``days`` days; the largest first, days in order."""
    totals: dict[str, Total] = {}
    async with host.open() as face:
        since = face.host.clock.now() - days * DAY
        async for info in _used(face.sessions, since):
            name = _name(info, by)
            before = totals.get(name) or Total(name=name)
            spent = info.usage.input or info.usage.output
            totals[name] = Total(
                name=name,
                sessions=before.sessions + 1,
                usage=before.usage + info.usage,
                priced=before.priced and (info.usage.cost is not None or not spent),
            )
    if by == "day":
        return [totals[name] for name in sorted(totals)]
    return sorted(totals.values(), key=lambda one: -(one.usage.input + one.usage.output))


async def _used(sessions: SessionReader, since: float) -> AsyncIterator[SessionInfo]:
    before: float | None = None
    while page := await sessions.list(limit=_PAGE, before=before):
        for info in page:
            if info.updated < since:
                return
            yield info
        if len(page) < _PAGE:
            return
        before = page[-1].updated


def _name(info: SessionInfo, by: str) -> str:
    if by == "day":
        return datetime.fromtimestamp(info.updated).strftime("%Y-%m-%d")
    if by == "session":
        return f"{info.id}  {info.title}".rstrip()
    return info.model or "(unknown)"


def table(totals: Sequence[Total], *, days: int) -> str:
    """The totals as lines of text, with their sum below."""
    if not totals:
        return f"No session was used in the last {days} days."
    whole = Total(
        name="together",
        sessions=sum(one.sessions for one in totals),
        usage=sum((one.usage for one in totals), Usage()),
        priced=all(one.priced for one in totals),
    )
    rows: list[tuple[str, ...]] = [("", "sessions", "input", "cached", "output", "cost")]
    rows += [_row(one) for one in totals]
    if len(totals) > 1:
        rows.append(_row(whole))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(row[at].rjust(widths[at]) for at in range(1, 6))]
        ).rstrip()
        for row in rows
    )


def _row(total: Total) -> tuple[str, ...]:
    usage = total.usage
    return (
        total.name,
        f"{total.sessions:,}",
        f"{usage.input:,}",
        f"{usage.cached:,}",
        f"{usage.output:,}",
        _cost(total),
    )


def _cost(total: Total) -> str:
    if total.usage.cost is None:
        return "-" if total.priced else "?"
    shown = f"${total.usage.cost:,.4f}" if total.usage.cost < 1 else f"${total.usage.cost:,.2f}"
    return shown if total.priced else f"{shown} + ?"
