"""What the prompt shows of the memory: both files as they are when a session begins.

The text is frozen for the session, because the prompt is. The block's marks and headers are a format
that others read (a model that is told of it, the offline stand-in).
"""

from __future__ import annotations

from hermes_plugins import Host

from . import files, notes

_TITLES = {"memory": "MEMORY (your notes)", "user": "USER (facts on the person)"}


def render(host: Host) -> str:
    """Both files with how full they are; an entry that looks hostile is left out and named.

    Raises:
        ConfigError: a setting does not fit.
    """
    parts = [_part(host, target) for target in ("memory", "user")]
    return "\n".join(["<memory>", *parts, "</memory>"])


def _part(host: Host, target: str) -> str:
    place = notes.store(host, target)
    try:
        entries = files.read(place.path)
    except (OSError, UnicodeDecodeError) as error:
        host.log.warning("%s cannot be read (%s): this session goes without it.", place.path, error)
        return f"{_TITLES[target]} cannot be read; tell the person: {place.path}"
    size = len(files.joined(entries))
    head = f"{_TITLES[target]} {place.usage(size)}"
    if notes.percent(size, place.limit) >= notes.WARN_PERCENT:
        head += ", nearly full: merge or remove entries"
    return "\n".join([head, files.joined(_safe(host, place, entries))]).strip()


def _safe(host: Host, place: notes.Store, entries: list[str]) -> list[str]:
    if not entries:
        return []
    from . import scan  # its patterns are compiled for it, so only where there is something to read

    shown = []
    for number, entry in enumerate(entries, start=1):
        found = scan.findings(entry)
        if found:
            why = " and ".join(found)
            host.log.warning(
                "%s: entry %d is kept from the model: it has %s. Edit the file if it is yours.",
                place.path,
                number,
                why,
            )
            entry = f"[entry {number} left out: it has {found[0].split(' (')[0]}]"
        shown.append(entry)
    return shown
