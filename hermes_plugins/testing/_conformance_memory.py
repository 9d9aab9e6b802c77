"""What every memory backend must do, as tests to subclass, and a fake that does it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import ClassVar, Final, TypeVar

import pytest

from hermes_plugins._memory import MemoryBackend, Recalled
from hermes_plugins._messages import (
    ImagePart,
    Message,
    ToolCall,
    assistant_message,
    tool_message,
    user_message,
)

T = TypeVar("T")

_BOAT: Final = (
    user_message("My boat is called Halcyon and lies in the harbour of Trieste."),
    assistant_message("I will remember that."),
)
_TEAS: Final = tuple(
    user_message(f"The {colour} tea stands on shelf number {number}.")
    for number, colour in enumerate(["green", "black", "white", "yellow", "red", "smoked"], 1)
)


class FakeMemory:
    """Implements `MemoryBackend` in this process: what shares most words with the query."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Message]] = []
        """What was remembered, each with its session."""

    async def recall(self, query: str, *, session_id: str, limit: int = 5) -> Sequence[Recalled]:
        wanted = _words(query)
        found = [
            Recalled(text=message.text, score=len(wanted & _words(message.text)) / len(wanted))
            for _, message in self.messages
            if wanted & _words(message.text)
        ]
        return sorted(found, key=lambda one: -one.score)[:limit]

    async def remember(self, messages: Sequence[Message], *, session_id: str) -> None:
        self.messages += [(session_id, message) for message in messages if message.text]

    async def on_compress(self, messages: Sequence[Message], *, session_id: str) -> str:
        return ""

    async def close(self) -> None:
        """Nothing is pending."""


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@pytest.mark.anyio
class MemoryConformance:
    """Subclass as ``Test…`` and give `make`.

    What was learned is looked up after `MemoryBackend.close` and a new `make` on the same folder,
    because only then has everything pending been finished.
    """

    persistent: ClassVar[bool] = True
    """False for one that forgets everything when it is closed."""
    seconds: ClassVar[float] = 10.0
    """Longest that one call may take here."""

    def make(self, folder: Path) -> MemoryBackend:
        """A backend that keeps what it knows in ``folder``, or at a service of this test's own."""
        raise NotImplementedError

    async def learned(self, folder: Path, *turns: Sequence[Message]) -> MemoryBackend:
        """A backend that has seen these turns, each in a session of its own."""
        backend = self.make(folder)
        for number, messages in enumerate(turns):
            await self.in_time(backend.remember(messages, session_id=f"s{number}"))
        if not self.persistent:
            return backend
        await self.in_time(backend.close())
        return self.make(folder)

    async def in_time(self, work: Awaitable[T]) -> T:
        """What ``work`` gives; fails the test where it takes longer than `seconds`."""
        from hermes_core.clock import SystemClock

        async with SystemClock().timeout(self.seconds):
            return await work

    async def test_a_new_one_knows_nothing(self, tmp_path: Path) -> None:
        backend = self.make(tmp_path)
        assert list(await self.in_time(backend.recall("boat", session_id="s"))) == []
        await self.in_time(backend.close())

    async def test_what_was_said_is_recalled_in_another_session(self, tmp_path: Path) -> None:
        backend = await self.learned(tmp_path, _BOAT)
        found = await self.in_time(backend.recall("What is my boat called?", session_id="later"))
        assert any("Halcyon" in one.text for one in found)
        await self.in_time(backend.close())

    async def test_the_best_comes_first_with_a_score_from_0_to_1(self, tmp_path: Path) -> None:
        backend = await self.learned(tmp_path, _TEAS, _BOAT)
        found = await self.in_time(
            backend.recall("On which shelf is the white tea?", session_id="")
        )
        assert "white" in found[0].text
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)
        await self.in_time(backend.close())

    @pytest.mark.parametrize("limit", [1, 3])
    async def test_no_more_than_asked_for(self, tmp_path: Path, limit: int) -> None:
        backend = await self.learned(tmp_path, _TEAS)
        found = await self.in_time(backend.recall("tea on a shelf", session_id="", limit=limit))
        assert 0 < len(found) <= limit
        await self.in_time(backend.close())

    @pytest.mark.parametrize("query", ["", " ", "\"'", "100% _ * ( OR", "a\0b", "x" * 20_000])
    async def test_no_query_is_an_error(self, tmp_path: Path, query: str) -> None:
        backend = await self.learned(tmp_path, _BOAT)
        await self.in_time(backend.recall(query, session_id="s"))
        await self.in_time(backend.close())

    async def test_every_kind_of_message_is_taken(self, tmp_path: Path) -> None:
        call = ToolCall(id="1", name="read_file", arguments='{"path": "a"}')
        image = Message(role="user", parts=(ImagePart(media_type="image/png", data="aGk="),))
        odd = [
            assistant_message("", tool_calls=(call,)),
            tool_message(call, "x" * 100_000),
            image,
            user_message("😀 \0"),
        ]
        backend = await self.learned(tmp_path, odd, (), _BOAT)
        found = await self.in_time(backend.recall("What is my boat called?", session_id="s"))
        assert any("Halcyon" in one.text for one in found)
        await self.in_time(backend.close())

    async def test_calls_may_come_together(self, tmp_path: Path) -> None:
        backend = await self.learned(tmp_path, _BOAT)
        turns = [backend.remember(_TEAS, session_id=f"t{number}") for number in range(4)]
        asked = [backend.recall("boat", session_id="s") for _ in range(4)]
        answers = await self.in_time(asyncio.gather(*turns, *asked))
        assert all(answers[len(turns) :])
        await self.in_time(backend.close())

    async def test_before_a_summary_it_gives_text(self, tmp_path: Path) -> None:
        backend = await self.learned(tmp_path, _BOAT)
        assert isinstance(await self.in_time(backend.on_compress(_TEAS, session_id="s")), str)
        await self.in_time(backend.close())

    async def test_closing_twice_is_fine(self, tmp_path: Path) -> None:
        backend = self.make(tmp_path)
        await self.in_time(backend.close())
        await self.in_time(backend.close())
