"""The record of events: appended without waiting, written in batches, with the tables that are derived from them.

What is derived (runs, attempts, verify results, ...) is written in the same transaction as its event and can't disagree with it.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from itertools import islice

from runtime.errors import StoreError
from runtime.events.base import Event
from runtime.events.loop import RunFinished
from runtime.ports import RecordBlocked
from store.connection import T, Unit
from store.database import Database
from store.event_rows import insert_events, read_page, read_page_before
from store.owner import owner_lives, this_process

log = logging.getLogger(__name__)
BATCH_SECONDS = 0.05
BATCH_EVENTS = 500
PAGE = 2_000
Barrier = tuple[int, "asyncio.Future[None]"]


class EventLog:
    """Implements the runtime's Record."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: deque[Event] = deque()
        self._first = 0
        """Position of the oldest pending event among all that were ever appended."""
        self._barriers: list[Barrier] = []
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self.blocked = ""
        """Why events can't be written at present; empty where they can."""
        self.on_written: Callable[[Sequence[Event]], None] | None = None
        """Told of every batch once it is committed."""

    def append(self, event: Event) -> None:
        """Take a stamped event; it is written within a moment."""
        self._pending.append(event)
        if len(self._pending) >= BATCH_EVENTS:
            self._wake_up()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._wake_up)

    async def flush(self) -> None:
        """Wait until everything appended is committed, and what is marked durable has reached the disk itself.

        Raises RecordBlocked; nothing is lost then, and the next flush tries again.
        """
        if not self._pending:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._barriers.append((self._first + len(self._pending), done))
        self._wake_up()
        await done

    async def write_with(self, unit: Unit[T]) -> T:
        """Run a unit in one transaction with all events that wait, so that neither is there without the other."""
        batch, end = tuple(self._pending), self._first + len(self._pending)
        owner = this_process()

        def whole(connection: sqlite3.Connection) -> tuple[list[str], T]:
            return insert_events(connection, batch, owner), unit(connection)

        refused, result = await self._database.write(whole)
        self._written(end, refused)
        return result

    def _wake_up(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is None:
            self._task = asyncio.create_task(self._write_all(), name="event-log")
        self._wake.set()

    async def _write_all(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._write_pending()
            except RecordBlocked as blocked:
                self._fail(blocked)
            except StoreError as error:
                self._fail(RecordBlocked(error.message, error.hint))
            except Exception as error:
                log.exception("events could not be written")
                self._fail(RecordBlocked(f"Events can't be written ({type(error).__name__}: {error})."))

    async def _write_pending(self) -> None:
        owner = this_process()
        while self._pending:
            batch = tuple(islice(self._pending, BATCH_EVENTS))
            end = self._first + len(batch)
            refused = await self._database.write(
                lambda connection, batch=batch: insert_events(connection, batch, owner),  # type: ignore[misc]
                synced=any(event.durable for event in batch),
            )
            self._written(end, refused)

    def _written(self, end: int, refused: list[str]) -> None:
        """Everything before position `end` is durable."""
        self.blocked = ""
        done = [self._pending.popleft() for _ in range(max(0, end - self._first))]
        self._first += len(done)
        for text in refused:
            log.error("%s", text)
        reached = [barrier for barrier in self._barriers if barrier[0] <= self._first]
        self._barriers = [barrier for barrier in self._barriers if barrier[0] > self._first]
        for _, waiter in reached:
            if not waiter.done():
                if refused:
                    waiter.set_exception(StoreError(f"{refused[0].capitalize()}.", "Another process may execute it."))
                else:
                    waiter.set_result(None)
        if done and self.on_written is not None:
            self.on_written(done)

    def _fail(self, blocked: RecordBlocked) -> None:
        self.blocked = blocked.text
        barriers, self._barriers = self._barriers, []
        for _, waiter in barriers:
            if not waiter.done():
                waiter.set_exception(blocked)

    async def append_after_end(self, event: Event) -> Event:
        """Add an event to a run that no process executes; numbered in the transaction. Returns it as it was stored.

        A run ends once: for a run that has an end already, a further RunFinished is not written and the stored one returned.
        """
        now = datetime.now(UTC)

        def unit(connection: sqlite3.Connection) -> Event:
            row = connection.execute("SELECT * FROM runs WHERE id = ?", (event.run,)).fetchone()
            if row is None:
                raise StoreError(f"There is no run {event.run} in the store.")
            if row["pruned_at"]:
                raise StoreError(
                    f"The events of run {event.run} were removed on {row['pruned_at'][:10]}; none can be added."
                )
            executing = row["reason"] is None or row["claimed"]
            if executing and owner_lives(row, now) is not False:
                raise StoreError(f"Run {event.run} is being executed by process {row['pid']} on {row['host']}.")
            if isinstance(event, RunFinished) and row["reason"] is not None:
                return _stored_end(connection, event.run) or event
            numbered = event.model_copy(update={"seq": int(row["last_seq"]) + 1})
            insert_events(connection, [numbered], None)
            return numbered

        await self.flush()
        return await self._database.write(unit)

    async def take_in(self, events: Sequence[Event]) -> None:
        """Keep events of runs that another process executes or executed: received or imported, in any order, any number of times.

        Raises StoreError where the store holds another event under the same number.
        """
        refused = await self._database.write(lambda connection: insert_events(connection, events, None))
        if self.on_written is not None:
            self.on_written(events)
        if refused:
            raise StoreError(f"{refused[0].capitalize()}.", "It comes from a run of the same id elsewhere.")

    async def read(self, run: str, after: int = 0, until: int | None = None) -> AsyncIterator[Event]:
        """A run's events from `after` (exclusive), in pages, so that a long run is never in memory whole."""
        while page := await self.page(run, after, until):
            for event in page:
                yield event
            after = page[-1].seq

    async def page(self, run: str, after: int = 0, until: int | None = None, limit: int = PAGE) -> list[Event]:
        """At most `limit` events above `after`, oldest first; fewer where they are large; empty at the end."""
        return await self._database.read(lambda connection: read_page(connection, run, after, until, limit))

    async def page_before(self, run: str, before: int | None = None, limit: int = PAGE) -> list[Event]:
        """At most `limit` events just below `before` (None: the newest), oldest first; fewer where they are large."""
        return await self._database.read(lambda connection: read_page_before(connection, run, before, limit))

    async def close(self) -> None:
        """Write what is left. Raises StoreError where that can't be done, with how much is lost."""
        self._database.hurry()
        try:
            await self.flush()
        except RecordBlocked as blocked:
            runs, count = ", ".join(sorted({event.run for event in self._pending})), len(self._pending)
            lost = f"{count} event{'s' if count > 1 else ''} of {runs} {'were' if count > 1 else 'was'} not kept"
            raise StoreError(f"{lost}: {blocked.message}", blocked.hint) from blocked
        finally:
            if self._timer is not None:
                self._timer.cancel()
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])


def _stored_end(connection: sqlite3.Connection, run: str) -> Event | None:
    row = connection.execute(
        "SELECT seq FROM events WHERE run = ? AND type = 'run_finished' ORDER BY seq DESC LIMIT 1", (run,)
    ).fetchone()
    return None if row is None else read_page(connection, run, row["seq"] - 1, row["seq"], 1)[0]
