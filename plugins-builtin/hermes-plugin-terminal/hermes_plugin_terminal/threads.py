"""Blocking calls in daemon threads: one that is stuck never keeps the program from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T]) -> T:
    """Call ``function`` in a thread of its own (about 60 microseconds) and return its result.

    Cancelling the wait leaves the call running and drops what it returns.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        try:
            value = function()
        except BaseException as error:  # whatever it is, it belongs to who waits
            post(loop, partial(_fail, future, error))
        else:
            post(loop, partial(_settle, future, value))

    threading.Thread(target=work, name="hermes-terminal-file", daemon=True).start()
    return await future


def post(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Call ``callback`` in the loop's thread; nothing happens when the loop is closed."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:  # the loop is closed: nobody waits any more
        pass


def _settle(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
