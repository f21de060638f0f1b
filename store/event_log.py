"""The record of events: appended without waiting, written in batches, with the tables that are derived from them.

What is derived (runs, attempts, verify results, ...) is written in the same transaction as its event and can't disagree with it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import AsyncIterator

from runtime.errors import StoreError
from runtime.events.base import Event
from runtime.events.codec import event_from_json, event_to_json
from runtime.ports import RecordBlocked
from runtime.text import storable
from store.database import Database
from store.projections import project

BATCH_SECONDS = 0.05
BATCH_EVENTS = 500
PAGE = 2_000


class EventLog:
    """Implements the runtime's Record."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: deque[Event] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self.blocked = ""
        """Why events can't be written at present; empty where they can."""

    def append(self, event: Event) -> None:
        """Take a stamped event; it is written within a moment."""
        self._pending.append(event)
        if len(self._pending) >= BATCH_EVENTS:
            self._start()
        elif self._timer is None and self._writing is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._start)

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is None and self._pending:
            self._writing = asyncio.create_task(self._write_pending(), name="event-log")
            self._writing.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self.blocked = str(error)
        elif self._pending:
            self._start()

    async def _write_pending(self) -> None:
        while self._pending:
            batch = list(self._pending)[:BATCH_EVENTS]
            await self._database.write(lambda connection, batch=batch: insert(connection, batch))  # type: ignore[misc]
            self.blocked = ""
            for _ in batch:
                self._pending.popleft()

    def take(self) -> list[Event]:
        """Everything that waits, for a unit that writes it together with something else; put back with `put_back` on failure."""
        return list(self._pending)

    async def flush(self) -> None:
        """Wait until everything appended is durable. Raises RecordBlocked; nothing is lost then, and the next flush tries again."""
        while self._pending or self._writing is not None:
            self._start()
            if self._writing is None:
                return
            try:
                await asyncio.shield(self._writing)
            except StoreError as error:
                raise RecordBlocked(str(error)) from error

    async def append_after_end(self, event: Event) -> Event:
        """Add an event to a run that no process executes; numbered in the transaction. Returns it as it was stored."""

        def unit(connection: sqlite3.Connection) -> Event:
            row = connection.execute("SELECT last_seq FROM runs WHERE id = ?", (event.run,)).fetchone()
            if row is None:
                raise StoreError(f"There is no run {event.run} in the store.")
            numbered = event.model_copy(update={"seq": int(row[0]) + 1})
            insert(connection, [numbered])
            return numbered

        return await self._database.write(unit)

    async def read(self, run: str, after: int = 0, until: int | None = None) -> AsyncIterator[Event]:
        """A run's events from `after` (exclusive), in pages, so that a long run is never in memory whole."""
        while True:
            rows = await self._database.rows(
                "SELECT seq, body FROM events WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
                (run, after, until if until is not None else 2**62, PAGE),
            )
            for row in rows:
                yield event_from_json(row["body"])
            if len(rows) < PAGE:
                return
            after = rows[-1]["seq"]

    async def close(self) -> None:
        """Write what is left."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self.flush()


def insert(connection: sqlite3.Connection, batch: list[Event]) -> None:
    """Write events and what follows from them. An event that is there already changes nothing."""
    for event in batch:
        body = storable(event_to_json(event))
        done = connection.execute(
            "INSERT OR IGNORE INTO events (run, seq, type, at, mono_ms, body) VALUES (?, ?, ?, ?, ?, ?)",
            (event.run, event.seq, event.type, event.at.isoformat(), event.mono_ms, body),
        )
        if done.rowcount:
            project(connection, event)
