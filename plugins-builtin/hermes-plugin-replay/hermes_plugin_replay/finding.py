"""The one session that is meant."""

from __future__ import annotations

from hermes_plugins import SessionInfo, SessionReader, UsageError


async def found_session(sessions: SessionReader, name: str) -> SessionInfo:
    """The session with that id, beginning of an id, or title.

    Raises:
        UsageError: none, or several.
    """
    name = name.encode("utf-8", "replace").decode()
    found = await sessions.find(name)
    if not found:
        raise UsageError(
            f"there is no session {name!r}.", hint="`hermes sessions list` shows them."
        )
    exact = [one for one in found if one.id == name]
    if len(found) > 1 and not exact:
        ids = ", ".join(one.id for one in found[:5])
        raise UsageError(f"{name!r} may be {len(found)} sessions.", hint=f"Use a whole id: {ids}")
    return exact[0] if exact else found[0]
