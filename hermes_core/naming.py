"""What sessions are called: finding the one that a person means, and giving it a title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hermes_core.agent.cleaning import clean_input
from hermes_core.store import sessions
from hermes_plugins._errors import UsageError
from hermes_plugins._store import SessionInfo

if TYPE_CHECKING:
    from hermes_core.store.sqlite import Store

NEWEST: Final = 200
"""Sessions that are looked at for one to continue, or for one with a like name."""

TITLE_CHARS: Final = 200
"""A title has to fit on a line, with the id beside it."""


async def find_session(store: Store, name: str) -> SessionInfo:
    """The one session that ``name`` means: its id, a beginning of that, or its title.

    Raises:
        UsageError: none, or several.
    """
    name = name.encode("utf-8", "replace").decode()  # an argument may hold what is no text
    found = await store.find(name)
    if not found:
        recent = await store.list(limit=NEWEST)
        found = [one for one in recent if one.id.startswith(name)]
    if not found:
        raise UsageError(f"there is no session {name!r}.", hint=_guess(name, recent))
    exact = [one for one in found if one.id == name]
    if len(found) > 1 and not exact:
        ids = ", ".join(one.id for one in found[:5])
        more = ", …" if len(found) > 5 else ""
        raise UsageError(
            f"{name!r} may be {len(found)} sessions.", hint=f"Use a whole id: {ids}{more}"
        )
    return exact[0] if exact else found[0]


def _guess(name: str, recent: Sequence[SessionInfo]) -> str:
    """What was perhaps meant."""
    from difflib import get_close_matches

    word = name.casefold()
    if near := [one.id for one in recent if word in one.title.casefold()][:3]:
        return f"Its title may be longer; see {', '.join(near)}."
    names = {key.casefold(): one for one in reversed(recent) for key in (one.id, one.title) if key}
    for close in get_close_matches(word, names, n=1, cutoff=0.75):
        one = names[close]
        return f"Did you mean {one.id}{f' ({one.title})' if one.title else ''}?"
    return "`hermes sessions list` shows them."


async def rename(store: Store, session_id: str, title: str) -> str:
    """Give a session the title that a person chose; returns it without needless space.

    Raises:
        UsageError: it is none, too long, or another session's.
        StoreError: there is no such session.
    """
    title = " ".join(clean_input(title).text.split())
    if not title:
        raise UsageError("a title needs a letter.", hint="`hermes sessions rename ID TITLE`")
    if len(title) > TITLE_CHARS:
        raise UsageError(f"a title has at most {TITLE_CHARS} characters; this has {len(title)}.")
    await store.write(sessions.rename, session_id, title)
    return title
