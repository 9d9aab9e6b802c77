"""Threads for foreign code: they carry context, keep their limit, and never hold up the exit."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading

import pytest

from hermes_core.threads import Threads

WORD: contextvars.ContextVar[str] = contextvars.ContextVar("WORD", default="none")


async def test_a_call_gives_its_result_and_sees_the_callers_context() -> None:
    WORD.set("mine")
    threads = Threads("test")
    assert await threads.run(lambda: (WORD.get(), threading.current_thread().name)) == (
        "mine",
        "test",
    )
    assert await threads.run(lambda: threading.current_thread().daemon)


async def test_what_a_call_sets_in_its_context_stays_with_it() -> None:
    threads = Threads("test", limit=1)
    await threads.run(lambda: WORD.set("theirs"))
    assert await threads.run(WORD.get) == "none"


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        (ValueError("no"), ValueError),
        (SystemExit(3), SystemExit),
        (StopIteration("over"), RuntimeError),
        (asyncio.CancelledError(), RuntimeError),
        (KeyboardInterrupt(), RuntimeError),
    ],
)
async def test_what_a_call_raises_reaches_the_waiter_and_means_what_it_should(
    raised: BaseException, seen: type[BaseException]
) -> None:
    def work() -> None:
        raise raised

    threads = Threads("test")
    with pytest.raises(seen) as caught:
        await threads.run(work)
    if seen is RuntimeError:
        assert str(caught.value).startswith(type(raised).__name__)
    assert await threads.run(lambda: "still there") == "still there"


async def test_one_thread_works_in_order() -> None:
    threads = Threads("test", limit=1)
    order: list[int] = []
    await asyncio.gather(*(threads.run(lambda n=n: order.append(n)) for n in range(50)))
    assert order == list(range(50))


async def test_no_more_threads_than_the_limit_run_and_nothing_is_lost() -> None:
    threads = Threads("test-limit", limit=4)
    barrier, lock = threading.Event(), threading.Lock()
    running = most = 0

    def work() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        barrier.wait(10)
        with lock:
            running -= 1
        return 1

    calls = [asyncio.ensure_future(threads.run(work)) for _ in range(20)]
    while most < 4:
        await asyncio.sleep(0)
    assert sum(one.name == "test-limit" for one in threading.enumerate()) == 4
    barrier.set()
    assert sum(await asyncio.gather(*calls)) == 20
    assert most == 4


async def test_an_idle_thread_is_used_again() -> None:
    threads = Threads("test-idle")
    for _ in range(30):
        await threads.run(lambda: None)
        while threads._idle == 0:  # until the thread has come back for more
            await asyncio.sleep(0)
    assert sum(one.name == "test-idle" for one in threading.enumerate()) == 1


async def test_a_stuck_call_never_keeps_another_from_its_thread() -> None:
    threads = Threads("test")
    release = threading.Event()
    stuck = [asyncio.ensure_future(threads.run(lambda: release.wait(20))) for _ in range(5)]
    assert await threads.run(lambda: "free") == "free"
    release.set()
    await asyncio.gather(*stuck)


async def test_a_call_that_is_no_longer_waited_for_goes_on_and_its_result_is_dropped() -> None:
    threads = Threads("test")
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        release.wait(20)
        ended.set()
        raise ValueError("too late")

    call = asyncio.ensure_future(threads.run(work))
    while not started.is_set():
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    release.set()
    assert await threads.run(lambda: ended.wait(20))
    gc.collect()  # an error that nobody fetched would be told now, and warnings are errors


async def test_threads_end_when_the_host_closes() -> None:
    threads = Threads("test-close")
    await asyncio.gather(*(threads.run(lambda: None) for _ in range(3)))
    threads.close()
    for thread in [one for one in threading.enumerate() if one.name == "test-close"]:
        thread.join(10)
        assert not thread.is_alive()


def test_a_stuck_thread_does_not_hold_up_the_end_of_the_process() -> None:
    program = (
        "import asyncio, threading\n"
        "from hermes_core.threads import Threads\n"
        "async def main():\n"
        "    call = asyncio.ensure_future(Threads('t').run(threading.Event().wait))\n"
        "    await asyncio.sleep(0)\n"
        "    print('leaving')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "leaving\n", "")


def test_a_call_that_ends_after_the_loop_is_quiet() -> None:
    threads = Threads("test-late")
    release = threading.Event()

    async def leave() -> None:
        call = asyncio.ensure_future(threads.run(lambda: release.wait(20)))
        await asyncio.sleep(0)
        call.cancel()

    asyncio.run(leave())
    release.set()
    threads.close()
    for thread in [one for one in threading.enumerate() if one.name == "test-late"]:
        thread.join(10)
