"""SQLite behind one writer: a task that owns the writing connection and takes units from a queue; readers come and go.

aiosqlite runs statements of a cancelled task anyway and leaves their transaction open. Here nobody but the writer touches its
connection: a unit is one function run in one go on the connection's thread, with its commit, and the waiter's cancellation
reaches only the waiter.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from runtime.errors import StoreError
from runtime.ports import RecordBlocked
from store.migrations import migrate

T = TypeVar("T")
Unit = Callable[[sqlite3.Connection], T]

BUSY_TIMEOUT_MS = 5_000
LOCKED_RETRY_S = 30.0
WAL_BOUND_BYTES = 64 * 1024 * 1024
"""The write-ahead log is cut back when it is larger than this; readers hold no transaction for long, so it can be."""
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    # Every commit reaches the disk: a paid answer must survive a power cut, and batches keep commits few.
    "PRAGMA synchronous=FULL",
    "PRAGMA temp_store=MEMORY",
    f"PRAGMA journal_size_limit={WAL_BOUND_BYTES}",
)


def prepare_home(home: Path) -> None:
    """Make looptop's own folder, the user's alone. Raises StoreError."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if home.stat().st_mode & 0o077:
            home.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"The folder {home} can't be used: {error.strerror or error}.",
            "Set LOOPTOP_HOME to a folder that you can write.",
        ) from error
    if not os.access(home, os.W_OK | os.X_OK):
        raise StoreError(f"The folder {home} can't be written.", "Set LOOPTOP_HOME to a folder that you can write.")


class Database:
    """One store file. `write` runs units in order; `read` gives a short-lived connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queue: asyncio.Queue[tuple[Unit[Any], asyncio.Future[Any]] | None] = asyncio.Queue()
        self._writer: asyncio.Task[None] | None = None
        self._connection: aiosqlite.Connection | None = None

    async def open(self) -> None:
        """Open and migrate. Raises StoreError."""
        prepare_home(self.path.parent)
        try:
            self._connection = await aiosqlite.connect(self.path, isolation_level=None)
            for pragma in _PRAGMAS:
                await self._connection.execute(pragma)
            self.path.chmod(0o600)
            await self._run(lambda connection: migrate(connection, self.path))
        except sqlite3.Error as error:
            await self.close()
            raise StoreError(
                f"The store {self.path} can't be opened: {error}.", "Move it away, or set LOOPTOP_HOME."
            ) from error
        except OSError as error:
            await self.close()
            raise StoreError(f"The store {self.path} can't be opened: {error.strerror}.") from error
        except BaseException:
            await self.close()
            raise
        self._writer = asyncio.create_task(self._write_all(), name="store-writer")

    async def _run(self, unit: Unit[T]) -> T:
        """Run a function on the connection's own thread."""
        connection = self._connection
        assert connection is not None
        return await connection._execute(unit, connection._conn)  # type: ignore[no-untyped-call,no-any-return]

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in a transaction of its own; durable on return. Raises RecordBlocked where the disk refuses.

        The unit runs whole or not at all; cancelling the waiter changes nothing about it.
        """
        if self._writer is None:
            raise StoreError("The store is closed.")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((unit, done))
        return await asyncio.shield(done)

    async def _write_all(self) -> None:
        while (item := await self._queue.get()) is not None:
            unit, done = item
            try:
                result = await self._run(lambda connection, unit=unit: _transaction(connection, unit))  # type: ignore[misc]
            except sqlite3.Error as error:
                _fail(done, self._blocked(error))
            except BaseException as error:
                _fail(done, error)
                if isinstance(error, asyncio.CancelledError):
                    raise
            else:
                if not done.done():
                    done.set_result(result)

    def _blocked(self, error: sqlite3.Error) -> BaseException:
        text = str(error).lower()
        if any(words in text for words in ("full", "disk i/o", "readonly", "read-only", "unable to open", "locked")):
            return RecordBlocked(
                f"the store on {self.path.parent} can't be written ({error}); free space or make it writable"
            )
        return StoreError(f"The store {self.path} failed: {error}.")

    @asynccontextmanager
    async def read(self) -> AsyncIterator[aiosqlite.Connection]:
        """A connection for a few queries. It holds no transaction while idle."""
        connection = await aiosqlite.connect(f"file:{self.path}?mode=ro", uri=True, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            await connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            yield connection
        finally:
            await asyncio.shield(connection.close())

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of one query."""
        async with self.read() as connection:
            return list(await connection.execute_fetchall(sql, parameters))

    async def checkpoint(self) -> None:
        """Move the write-ahead log into the database and cut it back."""
        with contextlib.suppress(sqlite3.Error):
            await self._run(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    async def close(self) -> None:
        """Finish what is queued and close; the process can end at once afterwards."""
        if self._writer is not None:
            self._queue.put_nowait(None)
            await asyncio.shield(asyncio.wait([self._writer]))
            self._writer = None
        if self._connection is not None:
            await self.checkpoint()
            await self._connection.close()
            self._connection = None


def _transaction(connection: sqlite3.Connection, unit: Unit[T]) -> T:
    deadline = time.monotonic() + LOCKED_RETRY_S
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
    try:
        result = unit(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        done.set_exception(
            error if not isinstance(error, asyncio.CancelledError) else StoreError("The store was closed.")
        )
        # A waiter that was cancelled never asks for it.
        done.exception()
