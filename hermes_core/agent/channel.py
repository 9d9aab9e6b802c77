"""The bounded stream of events between a turn and whoever reads it.

256 events. When it is full, neighbouring text deltas are merged and anything else waits: that is the
back-pressure. Every reader has a channel of its own, so a slow one delays the turn but loses nothing.
Watchers, for whom the turn never waits, get batches instead.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from hermes_plugins._events import Event, ReasoningDelta, TextDelta, TurnEnded

CAPACITY = 256


class _Merged:
    """Neighbouring deltas of one kind; joined once, when they are read."""

    def __init__(self, first: TextDelta | ReasoningDelta) -> None:
        self._first = first
        self._pieces = [first.text]

    def add(self, event: Event) -> bool:
        """Take one more; False where it is of another kind."""
        if type(event) is type(self._first):
            self._pieces.append(event.text)
            return True
        return False

    def event(self) -> Event:
        return msgspec.structs.replace(self._first, text="".join(self._pieces))


class EventChannel:
    """One reader's queue of events."""

    def __init__(self) -> None:
        self._events: deque[Event | _Merged] = deque()
        self._closed = False
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] = deque()

    def offer(self, event: Event) -> bool:
        """Put an event without waiting; False when the channel is full and it cannot be merged."""
        if self._closed:
            return True
        if len(self._events) >= CAPACITY and not self._merge(event):
            return False
        if len(self._events) < CAPACITY:
            self._events.append(event)
        self._wake_reader()
        return True

    async def put(self, event: Event) -> None:
        """Put an event, waiting for room."""
        while not self.offer(event):
            room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(room)
            await room

    def close(self) -> None:
        """No more events will come; what is queued can still be read."""
        self._closed = True
        self._wake_reader()

    def abandon(self) -> None:
        """The reader is gone: nothing is kept any more, and nobody waits for room."""
        self._closed = True
        self._events.clear()
        self._wake_writers()

    def __aiter__(self) -> EventChannel:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        event = self._events.popleft()
        if self._writers:
            self._wake_writers()
        return event.event() if isinstance(event, _Merged) else event

    def _merge(self, event: Event) -> bool:
        last = self._events[-1]
        if isinstance(last, TextDelta | ReasoningDelta):
            last = self._events[-1] = _Merged(last)
        return isinstance(last, _Merged) and last.add(event)

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _wake_writers(self) -> None:
        while self._writers:
            writer = self._writers.popleft()
            if not writer.done():
                writer.set_result(None)


class EventBatches(EventChannel):
    """A channel that hands its events on, 256 at a time and what is left at the turn's end.

    A call of a hook for each delta would cost more than the delta.
    """

    def __init__(self, hand_on: Callable[[tuple[Event, ...]], None]) -> None:
        super().__init__()
        self._batch: list[Event] = []
        self._hand_on = hand_on

    def offer(self, event: Event) -> bool:
        """Take an event; there is always room."""
        self._batch.append(event)
        if len(self._batch) >= CAPACITY or isinstance(event, TurnEnded):
            batch, self._batch = tuple(self._batch), []
            self._hand_on(batch)
        return True
