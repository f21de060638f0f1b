"""SQLite behind one writer: a task that owns the writing connection and takes units from a queue; readers come and go.

aiosqlite runs the statements of a cancelled task anyway and leaves their transaction open. Here nobody but the writer touches
its connection: a unit is one function run in one go on the connection's thread, with its commit, and the waiter's cancellation
reaches only the waiter. Several processes may have one store open; a unit waits for the others within a bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiosqlite

from runtime.errors import StoreError
from store.connection import T, Unit, close, connect, run_unit
from store.faults import fault_of, is_busy
from store.home import prepare_file, prepare_home
from store.migrations import migrate
from store.readers import Readers

BUSY_WAIT_MS = 250
"""How long SQLite itself waits for a lock before it is asked again; short, so that a closing store isn't kept."""
PATIENCE_S = 30.0
CLOSING_PATIENCE_S = 0.5
CHECKPOINT_BYTES = 4 * 1024 * 1024
"""The write-ahead log is moved into the database once it is larger than this."""
CHECKPOINT_AGAIN_BYTES = 1024 * 1024
CHECKPOINT_WAIT_MS = 100
WAL_BOUND_BYTES = 32 * 1024 * 1024
"""The write-ahead log stays below this: no reader keeps a transaction while idle, a batch is small, and when a checkpoint
finds a reader in its way it is tried again after every further `CHECKPOINT_AGAIN_BYTES`, above half the bound with more patience."""
_PRAGMAS = (
    "PRAGMA temp_store=MEMORY",
    # Checkpoints are ours, made between units, so that no commit has one to wait for.
    "PRAGMA wal_autocheckpoint=0",
    "PRAGMA journal_size_limit=0",
)
_SYNCED, _UNSYNCED = "PRAGMA synchronous=FULL", "PRAGMA synchronous=NORMAL"
Item = tuple[Unit[Any], bool, "asyncio.Future[Any]"]


class Database:
    """One store file. `write` runs units in order; `read` runs a unit on a connection that only reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queue: asyncio.Queue[Item | None] = asyncio.Queue()
        self._writer: asyncio.Task[None] | None = None
        self._readers = Readers(path)
        self._patience = PATIENCE_S
        self._checkpoint_at = CHECKPOINT_BYTES

    async def open(self) -> None:
        """Open and migrate. Raises StoreError."""
        prepare_home(self.path.parent, self.path.name)
        prepare_file(self.path)
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writer = asyncio.create_task(self._serve(opened), name="store-writer")
        try:
            await asyncio.shield(opened)
        except BaseException:
            await self.close()
            raise

    async def write(self, unit: Unit[T], synced: bool = True) -> T:
        """Run a unit in a transaction of its own; committed on return. Raises RecordBlocked where the disk refuses.

        What is committed survives the death of every process; `synced` says whether it must survive a power cut as well, which
        waits for the disk. A synced unit takes all earlier ones along. The unit runs whole or not at all; cancelling the waiter
        changes nothing about it.
        """
        if self._writer is None or self._writer.done():
            raise StoreError("The store is closed.")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((unit, synced, done))
        return await asyncio.shield(done)

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads, in one transaction that ends with it. Raises StoreError."""
        return await self._readers.read(unit)

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of one query. Raises StoreError."""
        return await self.read(lambda connection: connection.execute(sql, parameters).fetchall())

    def wal_bytes(self) -> int:
        """Size of the write-ahead log at present."""
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

    def hurry(self) -> None:
        """From now on wait for other processes only as long as somebody who closes the program would."""
        self._patience = CLOSING_PATIENCE_S

    async def close(self) -> None:
        """Finish what is queued and close; the process can end at once afterwards."""
        self.hurry()
        writer, self._writer = self._writer, None
        if writer is not None:
            self._queue.put_nowait(None)
            cancelled = False
            while not writer.done():
                try:
                    await asyncio.wait([writer])
                except asyncio.CancelledError:
                    cancelled = True
            if cancelled:
                raise asyncio.CancelledError

    async def _serve(self, opened: asyncio.Future[None]) -> None:
        """The writer: owns its connection from opening to closing, also when the event loop ends without a close."""
        connection: aiosqlite.Connection | None = None
        try:
            connection = await self._connected(opened)
            while connection is not None and (item := await self._queue.get()) is not None:
                await self._run(connection, *item)
        finally:
            self._patience = CLOSING_PATIENCE_S
            while not self._queue.empty():
                if (item := self._queue.get_nowait()) is not None:
                    _fail(item[2], StoreError("The store was closed."))
            await self._readers.close()
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    await run_unit(connection, self._checkpoint)
                await close(connection)

    async def _connected(self, opened: asyncio.Future[None]) -> aiosqlite.Connection | None:
        connection: aiosqlite.Connection | None = None
        try:
            connection = await connect(self.path.absolute().as_uri())
            await run_unit(connection, self._prepare)
        except BaseException as error:
            _fail(opened, fault_of(error, self.path) if isinstance(error, sqlite3.Error) else error)
            if connection is not None:
                await close(connection)
            if isinstance(error, asyncio.CancelledError):
                raise
            return None
        opened.set_result(None)
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA busy_timeout={BUSY_WAIT_MS}")
        # Processes that open a new store together meet here, and SQLite doesn't wait by itself for this lock.
        mode = self._patiently(lambda: connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        if mode != "wal":
            raise StoreError(
                f"The filesystem of {self.path.parent} can't hold a store: it has no shared memory for a write-ahead log.",
                "Set LOOPTOP_HOME to a folder on a local disk.",
            )
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        self._patiently(lambda: migrate(connection, self.path))

    async def _run(
        self, connection: aiosqlite.Connection, unit: Unit[Any], synced: bool, done: asyncio.Future[Any]
    ) -> None:
        try:
            result = await run_unit(connection, lambda raw: self._transaction(raw, unit, synced))
        except sqlite3.Error as error:
            _fail(done, fault_of(error, self.path))
        except BaseException as error:
            _fail(done, error)
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            if not done.done():
                done.set_result(result)
            if self.wal_bytes() > self._checkpoint_at:
                with contextlib.suppress(sqlite3.Error):
                    await run_unit(connection, self._checkpoint)

    def _transaction(self, connection: sqlite3.Connection, unit: Unit[T], synced: bool) -> T:
        connection.execute(_SYNCED if synced else _UNSYNCED)
        self._patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            result = unit(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _patiently(self, step: Callable[[], T]) -> T:
        """Try a step again while other processes are in its way, within a bound that closing shortens."""
        began = time.monotonic()
        while True:
            try:
                return step()
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() - began > self._patience:
                    raise
                time.sleep(0.005)

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        """Move the write-ahead log into the database and cut it to nothing, as far as readers let it."""
        large = self.wal_bytes() > WAL_BOUND_BYTES // 2
        connection.execute(f"PRAGMA busy_timeout={CHECKPOINT_WAIT_MS * 10 if large else CHECKPOINT_WAIT_MS}")
        try:
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            connection.execute(f"PRAGMA busy_timeout={BUSY_WAIT_MS}")
        self._checkpoint_at = self.wal_bytes() + CHECKPOINT_AGAIN_BYTES if busy else CHECKPOINT_BYTES


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        closed = isinstance(error, asyncio.CancelledError)
        done.set_exception(StoreError("The store was closed.") if closed else error)
        # A waiter that was cancelled never asks for it.
        done.exception()
