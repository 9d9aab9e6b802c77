"""What a session has read: it neither reads the same twice nor overwrites what it never saw."""

from __future__ import annotations

from typing import Final

import msgspec

from hermes_plugins import FileStat, ToolContext, ToolError

from .places import Place

MAX_FILES: Final = 1000
"""Files remembered; the one read longest ago is forgotten first."""


class Seen(msgspec.Struct):
    """One file as it was when last read or written. ``shown`` are the ranges the model has."""

    modified: int
    size: int
    digest: int
    shown: set[tuple[int, int]] = msgspec.field(default_factory=set)

    def is_version(self, stat: FileStat) -> bool:
        """True when the file was not touched since."""
        return (self.modified, self.size) == (stat.modified, stat.size)


class SeenFiles:
    """The files of one session, by resolved path."""

    def __init__(self) -> None:
        self._files: dict[str, Seen] = {}

    def get(self, path: str) -> Seen | None:
        """What is known of a file."""
        return self._files.get(path)

    def note(self, path: str, stat: FileStat, data: bytes) -> Seen:
        """Remember a file as it is now; the ranges stay where its content is the same."""
        known = self._files.pop(path, None)
        seen = Seen(stat.modified, stat.size, hash(data))
        if known is not None and known.digest == seen.digest and known.size == seen.size:
            seen.shown = known.shown
        self._files[path] = seen
        if len(self._files) > MAX_FILES:
            del self._files[next(iter(self._files))]
        return seen

    def forget(self, path: str) -> None:
        """A file that is gone."""
        self._files.pop(path, None)


def of(context: ToolContext) -> SeenFiles:
    """The session's own."""
    return context.state("file.seen", SeenFiles)


def is_stale(files: SeenFiles, place: Place, data: bytes | None) -> bool:
    """True when the file was read before and has other content now."""
    known = files.get(place.path)
    if known is None or known.is_version(place.stat):
        return False
    return data is None or hash(data) != known.digest


def refuse_stale(files: SeenFiles, place: Place, data: bytes | None) -> None:
    """Stop before content is lost that the session never saw.

    Raises:
        ToolError: it changed since.
    """
    if is_stale(files, place, data):
        raise ToolError(
            f"{place.shown} changed since you read it; nothing was written.",
            hint="Read it again, then decide.",
        )
