"""Short-lived reads on connections of their own: a few are kept open, none holds a transaction while idle."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import aiosqlite

from runtime.errors import StoreError
from store.connection import T, Unit, close, connect, interrupt_now, run_unit
from store.faults import fault_of, is_busy

KEPT_OPEN = 3
AT_ONCE = 8
READ_LIMIT_S = 20.0
"""A read that takes longer is ended: a reader holds the write-ahead log back as long as it reads."""
BUSY_PATIENCE_S = 30.0


class Readers:
    """Runs read units, each in one transaction that ends with it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[aiosqlite.Connection] = []
        self._busy: set[aiosqlite.Connection] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._disposals: set[asyncio.Task[None]] = set()
        self._closed = False

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads, and sees one state of the store throughout. Raises StoreError."""
        async with self._slots:
            connection = await self._take()
            watch = asyncio.get_running_loop().call_later(READ_LIMIT_S, interrupt_now, connection)
            try:
                result = await run_unit(connection, lambda raw: _in_transaction(raw, unit))
            except sqlite3.Error as error:
                self._dispose(connection)
                raise fault_of(error, self._path) from error
            except BaseException:
                # Cancelled, or the unit itself failed: what still runs is ended, and the connection with it.
                self._dispose(connection)
                raise
            finally:
                watch.cancel()
            self._give_back(connection)
            return result

    async def _take(self) -> aiosqlite.Connection:
        if self._closed:
            raise StoreError("The store is closed.")
        if self._idle:
            connection = self._idle.pop()
        else:
            try:
                connection = await connect(f"{self._path.absolute().as_uri()}?mode=ro")
                # SQLite's own lower() knows the letters of ASCII only.
                await connection.create_function("casefold", 1, str.casefold, deterministic=True)
            except sqlite3.Error as error:
                raise fault_of(error, self._path) from error
        self._busy.add(connection)
        return connection

    def _give_back(self, connection: aiosqlite.Connection) -> None:
        self._busy.discard(connection)
        if self._closed or len(self._idle) >= KEPT_OPEN:
            self._dispose(connection)
        else:
            self._idle.append(connection)

    def _dispose(self, connection: aiosqlite.Connection) -> None:
        self._busy.discard(connection)
        task = asyncio.create_task(close(connection, interrupt=True), name="store-reader-close")
        self._disposals.add(task)
        task.add_done_callback(self._disposals.discard)

    async def close(self) -> None:
        """End every read and close every connection."""
        self._closed = True
        for connection in (*self._idle, *self._busy):
            self._dispose(connection)
        self._idle.clear()
        while self._disposals:
            await asyncio.wait(tuple(self._disposals))


def _in_transaction(raw: sqlite3.Connection, unit: Unit[T]) -> T:
    deadline = time.monotonic() + BUSY_PATIENCE_S
    while True:
        raw.execute("BEGIN")
        try:
            return unit(raw)
        except sqlite3.OperationalError as error:
            # Only the recovery of a log that a dead process left behind keeps readers out, and only for a moment.
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        finally:
            if raw.in_transaction:
                raw.execute("ROLLBACK")
