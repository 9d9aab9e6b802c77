"""Entries, their limits, and one call of the memory tool.

Every call reads the file anew under the lock, so what a person or another process changed in between
is kept. A batch is checked against its final size: room made by a removal counts for an addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_plugins import Host, ToolContext, ToolError, ToolResult

from . import files
from .settings import MemoryFiles

if TYPE_CHECKING:
    from . import Operation

WARN_PERCENT = 80
GIVE_UP_AFTER = 3
"""Refusals for want of room in one turn; then the model is told to stop trying."""
_PREVIEW = 100


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two files and what it may hold, in characters."""

    path: Path
    limit: int
    setting: str

    def usage(self, size: int) -> str:
        """How full it is, as the model reads it: ``34 % of 2,200 characters``."""
        return f"{percent(size, self.limit)} % of {self.limit:,} characters"


class Refusals:
    """Counts, per session, how often a turn was refused for want of room."""

    def __init__(self) -> None:
        self.turn = ""
        self.count = 0

    def add(self, turn: str) -> int:
        """One more; returns how many this turn has had."""
        self.count = self.count + 1 if turn == self.turn else 1
        self.turn = turn
        return self.count


def store(host: Host, target: str) -> Store:
    """The file of ``target`` with its limit from the settings.

    Raises:
        ConfigError: a setting does not fit.
    """
    section = host.section(MemoryFiles)
    if target == "user":
        path, limit, setting = "USER.md", section.user_chars, "user_chars"
    else:
        path, limit, setting = "MEMORY.md", section.memory_chars, "memory_chars"
    return Store(
        path=host.paths.memories / path, limit=limit, setting=f"plugins.memory-files.{setting}"
    )


def percent(size: int, limit: int) -> int:
    """Rounded down, so that 100 means full."""
    return size * 100 // limit


def remember(context: ToolContext, target: str, operations: Sequence[Operation]) -> ToolResult:
    """Make the changes, all or none, and tell how full the file is now.

    Raises:
        ToolError: an operation cannot be done, an entry looks hostile, or the disk refuses.
    """
    if not operations:
        raise ToolError("nothing to do.", hint="Give an action, or operations.")
    place = store(context.host, target)

    def pause(seconds: float) -> None:
        context.run(context.clock.sleep(seconds))

    try:
        with files.locked(place.path.parent, pause=pause):
            before = files.read(place.path)
            after = list(before)
            for operation in operations:
                _apply(after, operation)
            size = len(files.joined(after))
            # A file that is too large by hand, or by a lowered limit, may shrink in steps.
            if size > place.limit and size > len(files.joined(before)):
                return _overflow(context, place, before, size)
            if after != before:
                files.replace(place.path, after, pause=pause)
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{place.path} is not UTF-8 text, so it was left as it is.",
            hint="Ask the person to save it as UTF-8.",
        ) from error
    except OSError as error:
        raise ToolError(
            f"{place.path} cannot be written: {error.strerror}. Nothing was saved.",
            hint="Tell the person.",
        ) from error
    return _saved(place, after, size, changed=after != before)


def _apply(entries: list[str], operation: Operation) -> None:
    action = operation["action"]
    content = operation.get("content", "").replace("\r\n", "\n").strip()
    if action != "remove":
        _check(content, action)
    if action == "add":
        if content not in entries:
            entries.append(content)
        return
    found = _find(entries, operation.get("old_text", "").strip(), action)
    if action == "remove":
        del entries[found]
    else:
        entries[found] = content


def _check(content: str, action: str) -> None:
    if not content:
        raise ToolError(f"{action} needs content.", hint="To drop an entry, use remove.")
    if any(line.strip() == files.DELIMITER for line in content.split("\n")):
        raise ToolError(
            f"an entry cannot have a line with only {files.DELIMITER}: it ends entries."
        )
    from . import scan  # on use: its patterns are compiled with it

    if found := scan.findings(content):
        raise ToolError(
            f"not saved, because the text has {' and '.join(found)}.",
            hint="Memory keeps facts, in plain words: say it without that, or leave it out.",
        )


def _find(entries: list[str], old_text: str, action: str) -> int:
    if not old_text:
        raise ToolError(f"{action} needs old_text.", hint="Give text that only one entry has.")
    hits = [index for index, entry in enumerate(entries) if old_text in entry]
    if not hits:
        raise ToolError(f"no entry has {old_text[:_PREVIEW]!r}. The entries:\n{_listed(entries)}")
    if len({entries[index] for index in hits}) > 1:
        shown = _listed([entries[index] for index in hits])
        raise ToolError(
            f"{len(hits)} entries have {old_text[:_PREVIEW]!r}:\n{shown}",
            hint="\nGive more of the text of the one you mean.",
        )
    return hits[0]


def _listed(entries: list[str]) -> str:
    """Each with its size, so that the model sees where room can be made."""
    if not entries:
        return "(none)"
    return "\n".join(
        f"- {entry if len(entry) <= _PREVIEW else entry[:_PREVIEW] + '…'} ({len(entry):,})"
        for entry in entries
    )


def _overflow(context: ToolContext, place: Store, entries: list[str], size: int) -> ToolResult:
    now = len(files.joined(entries))
    count = context.state("memory-files.refusals", Refusals).add(context.turn_id)
    lines = [
        f"Not saved: {place.path.name} holds {place.limit:,} characters, {now:,} are used, and "
        f"this would make {size:,}: {size - place.limit:,} too many."
    ]
    if count < GIVE_UP_AFTER:
        lines.append("Make room and add in one call: operations with remove or replace, then add.")
        lines.append(f"Entries, with their sizes:\n{_listed(entries)}")
    else:
        lines.append("Stop trying in this turn, and tell the person that the memory is full.")
    return ToolResult(
        text="\n".join(lines),
        status="failed",
        kind="permanent",
        summary=f"{place.path.name} is full ({place.usage(now)}), nothing was saved. "
        f"More room: hermes config set {place.setting} {max(place.limit * 2, size)}",
    )


def _saved(place: Store, entries: list[str], size: int, *, changed: bool) -> ToolResult:
    word = "Saved" if changed else "Nothing changed"
    line = f"{word}. {place.path.name}: {place.usage(size)}, {len(entries)} entries."
    if percent(size, place.limit) < WARN_PERCENT:
        return ToolResult(text=line, summary=line)
    return ToolResult(
        text=f"{line} Nearly full: merge or remove what matters least.\n{_listed(entries)}",
        summary=f"{line} Nearly full; more room: hermes config set {place.setting} {place.limit * 2}",
    )
