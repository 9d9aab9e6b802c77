"""Which kept session a client's conversation is: known by what was said in it so far.

Clients of this protocol keep the conversation themselves and send all of it each time. Where that is
word for word what a session of ours holds, the session goes on: what its tools found is still there, the
model's cache fits, and nothing is stored twice. Where anything differs it is another conversation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from hermes_plugins import Message, encode_message

from .wire import Asked

KEPT: Final = 1000
"""Conversations that are known again, the newest; about 300 bytes each."""


class Known(msgspec.Struct, frozen=True, gc=False):
    """A session, and how many messages it had when its last answer was sent."""

    session: str
    messages: int


class Conversations:
    """The conversations that may go on. One is given out once, as only one can go on with it."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Known] = OrderedDict()

    def take(self, asked: Asked) -> Known | None:
        """The session that holds what went before, if there is one."""
        last = asked.history[-1] if asked.history else None
        if last is None or last.role != "assistant" or last.tool_calls:
            return None
        return self._known.pop(_fingerprint(asked, asked.history), None)

    def keep(self, asked: Asked, answer: str, known: Known) -> None:
        """The answer was sent: this is what the client will say went before."""
        said = Message(role="assistant", parts=())
        mark = _fingerprint(asked, (*asked.history, asked.message, said), answer)
        self._known[mark] = known
        self._known.move_to_end(mark)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)


def _fingerprint(asked: Asked, messages: Sequence[Message], answer: str = "") -> bytes:
    digest = blake2b(digest_size=16)
    for text in (asked.instructions, asked.model, asked.user):
        digest.update(text.encode("utf-8", "replace") + b"\0")
    *before, last = messages
    for message in before:
        digest.update(encode_message(message) + b"\0")
    # Clients may take the white space around an answer away.
    digest.update(last.role.encode() + b"\0" + (answer or last.text).strip().encode())
    return digest.digest()
