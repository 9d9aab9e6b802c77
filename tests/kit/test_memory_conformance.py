"""The memory suite: the kit's fake passes it, and backends that break a promise do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from hermes_plugins import MemoryBackend, Message, Recalled
from hermes_plugins.testing import FakeMemory, MemoryConformance


class TestFakeMemory(MemoryConformance):
    persistent = False
    kind: ClassVar[type[FakeMemory]] = FakeMemory

    def make(self, folder: Path) -> MemoryBackend:
        return self.kind()


class Forgetful(FakeMemory):
    async def remember(self, messages: Sequence[Message], *, session_id: str) -> None:
        """Nothing is kept."""


class Talkative(FakeMemory):
    async def recall(self, query: str, *, session_id: str, limit: int = 5) -> Sequence[Recalled]:
        return await super().recall(query, session_id=session_id, limit=100)


class Proud(FakeMemory):
    async def recall(self, query: str, *, session_id: str, limit: int = 5) -> Sequence[Recalled]:
        found = await super().recall(query, session_id=session_id, limit=limit)
        return [Recalled(text=one.text, score=one.score * 100) for one in found]


@pytest.mark.parametrize(
    ("broken", "test", "arguments"),
    [
        (Forgetful, "test_what_was_said_is_recalled_in_another_session", {}),
        (Talkative, "test_no_more_than_asked_for", {"limit": 1}),
        (Proud, "test_the_best_comes_first_with_a_score_from_0_to_1", {}),
    ],
)
async def test_a_broken_promise_fails_the_suite(
    broken: type[FakeMemory], test: str, arguments: dict[str, int], tmp_path: Path
) -> None:
    suite = TestFakeMemory()
    suite.kind = broken  # type: ignore[misc]
    with pytest.raises(AssertionError):
        await getattr(suite, test)(tmp_path, **arguments)


async def test_a_backend_that_forgets_when_it_is_closed_is_not_persistent(tmp_path: Path) -> None:
    suite = TestFakeMemory()
    suite.persistent = True  # type: ignore[misc]
    with pytest.raises(AssertionError):
        await suite.test_what_was_said_is_recalled_in_another_session(tmp_path)
