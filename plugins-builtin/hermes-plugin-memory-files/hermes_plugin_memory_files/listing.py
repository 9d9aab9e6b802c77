"""What ``/memory`` shows: both files as they stand, entry by entry."""

from __future__ import annotations

from pathlib import Path

from hermes_plugins import SlashContext, UsageError

from . import files

_FILES = {"MEMORY.md": "Notes", "USER.md": "About you"}


async def show(context: SlashContext, argument: str) -> str:
    """The entries with their numbers, and where to change them.

    Raises:
        UsageError: a file cannot be read.
    """
    folder = context.face.host.paths.memories
    parts = [f"{title} ({name})\n{_entries(folder / name)}" for name, title in _FILES.items()]
    return "\n\n".join([*parts, f"To change them: ask for it, or edit the files in {folder}."])


def _entries(path: Path) -> str:
    try:
        entries = files.read(path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    numbered = (
        f"  {number}. {entry.replace(chr(10), chr(10) + '     ')}"
        for number, entry in enumerate(entries, 1)
    )
    return "\n".join(numbered) or "  nothing yet"
