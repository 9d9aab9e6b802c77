"""The two threads that touch state.db: one that reads, and one that writes with group commit.

Jobs are functions of a connection. They run in order, in daemon threads of the store's own: a stuck
disk never holds up the exit, which the event loop's default executor would.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar, TypeVarTuple

import msgspec

from hermes_core.filelock import lock
from hermes_core.store.database import WAL_KEPT, Connection, connect, explain, patiently
from hermes_plugins._errors import HermesError, StoreError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

GROUP = 64
"""Jobs that one commit takes at most."""

CHECKPOINT_AT = 2 * WAL_KEPT
"""Bytes of log at which it is copied into the file; one append adds about 40,000."""

_FAILURES = (HermesError, sqlite3.Error, msgspec.MsgspecError, ValueError)

log = logging.getLogger("hermes.store")


class Job(Generic[T]):
    """Work for a thread, and the future that learns how it went; none: only the log does."""

    __slots__ = ("durable", "error", "future", "result", "work")

    def __init__(
        self,
        work: Callable[[Connection], T],
        future: asyncio.Future[T] | None = None,
        *,
        durable: bool = False,
    ) -> None:
        self.work = work
        self.future = future
        self.durable = durable
        self.result: T
        self.error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        """Do the work; what fails is kept in ``error``. It may be done again: nothing else changes."""
        self.error = None
        try:
            self.result = patiently(lambda: self.work(connection))
        except _FAILURES as error:
            self.error = error

    def settle(self, path: Path) -> None:
        """Tell the future. A loop that is closed, or a caller that left, is fine."""
        error = None if self.error is None else explain(self.error, path)
        if self.future is None:
            if error is not None:
                log.warning("not stored: %s", error)
            return
        try:
            self.future.get_loop().call_soon_threadsafe(self._tell, error)
        except RuntimeError:
            log.debug("the loop was closed before its answer came")

    def _tell(self, error: HermesError | None) -> None:
        if self.future is None or self.future.done():
            return
        if error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(error)


class Reader:
    """A thread with a connection of its own, opened when the first job comes."""

    name = "hermes-store-reader"

    def __init__(self, path: Path, *, full_text: bool = True) -> None:
        self.path = path
        self._full_text = full_text
        self._jobs: SimpleQueue[Job[object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._end: Job[None] | None = None

    async def run(
        self, work: Callable[[Connection, *Ts], T], *values: *Ts, durable: bool = False
    ) -> T:
        """Have ``work`` done with these values, and wait for it; being cancelled does not undo it.

        Raises:
            StoreError: it could not be done, or the store is closed.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.post(Job(lambda connection: work(connection, *values), future, durable=durable))
        return await future

    def post(self, job: Job[T]) -> None:
        """Have a job done some time soon."""
        if self._closed:
            job.error = StoreError("the session store is closed.")
            job.settle(self.path)
            return
        self._jobs.put(job)  # type: ignore[arg-type]
        if self._thread is None:
            self._thread = threading.Thread(target=self._main, name=self.name, daemon=True)
            self._thread.start()

    async def close(self) -> None:
        """Do what was posted, then end the thread."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._end = Job(lambda connection: None, future)
            self._jobs.put(None)
            await future

    def _main(self) -> None:
        connection: Connection | None = None
        batch: list[Job[object]] = []
        try:
            while batch := self._take():
                try:
                    if connection is None:
                        connection = connect(self.path, full_text=self._full_text)
                except HermesError as error:
                    for job in batch:
                        job.error = error
                else:
                    self._serve(connection, batch)
                for job in batch:
                    job.settle(self.path)
        finally:
            # Also when something unforeseen ends the thread: nobody may wait for ever.
            self._thread = None
            self._abandon(batch)
            if connection is not None:
                connection.close()
            if self._end is not None:
                self._end.result = None
                self._end.settle(self.path)

    def _take(self) -> list[Job[object]]:
        """The next jobs; none: it is time to end."""
        job = self._jobs.get()
        return [] if job is None else [job]

    def _serve(self, connection: Connection, batch: list[Job[object]]) -> None:
        for job in batch:
            job.run(connection)

    def _abandon(self, batch: list[Job[object]]) -> None:
        while True:
            for job in batch:
                job.error = job.error or StoreError("the session store's thread ended.")
                job.settle(self.path)
            try:
                batch = [job for job in [self._jobs.get_nowait()] if job is not None]
            except Empty:
                return


class Writer(Reader):
    """The thread through which every write of this process goes.

    What is posted while a commit runs goes into the next one together. A job that fails takes
    nothing of its neighbours with it.
    """

    name = "hermes-store-writer"

    def _take(self) -> list[Job[object]]:
        batch: list[Job[object]] = []
        job = self._jobs.get()
        while job is not None:
            batch.append(job)
            if len(batch) == GROUP:
                return batch
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return batch
        if batch:
            self._jobs.put(None)
        return batch

    def _serve(self, connection: Connection, batch: list[Job[object]]) -> None:
        self._commit(connection, batch)
        self._checkpoint(connection)

    def _commit(self, connection: Connection, batch: list[Job[object]]) -> None:
        try:
            # FULL survives a loss of power right after the commit, NORMAL only this process's death.
            level = "FULL" if any(job.durable for job in batch) else "NORMAL"
            connection.execute(f"PRAGMA synchronous = {level}")
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            for job in batch:
                connection.execute("SAVEPOINT job")
                job.run(connection)
                if job.error is not None:
                    connection.execute("ROLLBACK TO job")
                connection.execute("RELEASE job")
            patiently(lambda: connection.execute("COMMIT"))
        except sqlite3.Error as error:
            # A full disk undoes the whole transaction, neighbours included: each once more, alone.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if len(batch) == 1:
                batch[0].error = batch[0].error or error
                return
            for job in batch:
                self._commit(connection, [job])

    def _checkpoint(self, connection: Connection) -> None:
        """Copy the log into the file when it is long, unless another process is at it."""
        try:
            if os.stat(f"{self.path}-wal").st_size < CHECKPOINT_AT:
                return
            handle = os.open(f"{self.path}-checkpoint", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return
        try:
            if lock(handle):
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            log.warning("the log of %s was not copied back: %s", self.path, error)
        finally:
            os.close(handle)
