"""A SQLite connection on a thread of its own, as the writer and the readers use it. The only place that touches aiosqlite."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

import aiosqlite

T = TypeVar("T")
Unit = Callable[[sqlite3.Connection], T]
INTERRUPT_AGAIN_S = 0.05
"""An interrupt that comes before its statement has begun does nothing, so it is repeated."""


async def connect(target: str) -> aiosqlite.Connection:
    """Open a database by its file URI, without implicit transactions and without waiting for locks."""
    connection = aiosqlite.connect(target, uri=True, isolation_level=None, timeout=0)
    # A connection that nobody closed must never keep the process alive.
    connection._thread.daemon = True
    await connection
    connection.row_factory = sqlite3.Row
    return connection


async def run_unit(connection: aiosqlite.Connection, unit: Unit[T]) -> T:
    """Run a function in one go on the connection's thread. Cancelling the waiter doesn't stop it."""
    result: Any = await connection._execute(unit, connection._conn)  # type: ignore[no-untyped-call]
    return result  # type: ignore[no-any-return]


async def close(connection: aiosqlite.Connection, interrupt: bool = False) -> None:
    """Close, ending what still runs with `interrupt`; returns once the thread is done, also for a caller that is cancelled."""
    closing = asyncio.ensure_future(connection.close())
    cancelled = False
    while not closing.done():
        if interrupt:
            interrupt_now(connection)
        try:
            await asyncio.wait([closing], timeout=INTERRUPT_AGAIN_S if interrupt else None)
        except asyncio.CancelledError:
            cancelled = True
    with contextlib.suppress(sqlite3.Error, ValueError):
        closing.result()
    if cancelled:
        raise asyncio.CancelledError


def interrupt_now(connection: aiosqlite.Connection) -> None:
    """End the statement that runs on the connection, if one does; may be called from any thread."""
    with contextlib.suppress(sqlite3.Error, ValueError):
        connection._conn.interrupt()
