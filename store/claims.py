"""Who executes a run: one process at a time, which shows now and then that it still does."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from datetime import UTC, datetime

from runtime.errors import StoreError, UsageError
from store.database import Database
from store.event_log import EventLog
from store.owner import HEARTBEAT_SECONDS, owner_lives, this_process


class Claims:
    """Takes runs over for this process, and writes its heartbeat."""

    def __init__(self, database: Database, events: EventLog) -> None:
        self._database = database
        self._events = events
        self._task: asyncio.Task[None] | None = None

    async def claim(self, run: str) -> int:
        """Make this process the one that executes a run, to resume it; returns its newest event's number.

        Raises UsageError where there is no such run, or a living process executes it. Of several that try, one succeeds.
        """
        owner, now = this_process(), datetime.now(UTC)

        def unit(connection: sqlite3.Connection) -> int:
            row = connection.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone()
            if row is None:
                raise UsageError(f"There is no run {run!r}.", "`looptop runs` lists them.")
            if row["pruned_at"]:
                raise UsageError(f"Run {run} can't be resumed: its events were removed on {row['pruned_at'][:10]}.")
            executing = row["reason"] is None or row["claimed"]
            if executing and owner_lives(row, now) is not False:
                raise UsageError(f"Run {run} is being executed by process {row['pid']} on {row['host']}.")
            connection.execute(
                "UPDATE runs SET host = ?, pid = ?, pid_started = ?, heartbeat = ?, claimed = 1 WHERE id = ?",
                (owner.host, owner.pid, owner.started, now.isoformat(), run),
            )
            return int(row["last_seq"])

        await self._events.flush()
        return await self._database.write(unit)

    async def beat(self) -> None:
        """Write the heartbeat of this process's open runs; where it has none, nothing is written."""
        owner = this_process()
        values = (datetime.now(UTC).isoformat(), owner.host, owner.pid, owner.started)
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE runs SET heartbeat = ? WHERE reason IS NULL AND host = ? AND pid = ? AND pid_started = ?",
                values,
            )
        )

    def start(self) -> None:
        """Beat from now on until `close`."""
        self._task = asyncio.create_task(self._beat_all(), name="store-heartbeat")

    async def _beat_all(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with contextlib.suppress(StoreError):
                await self.beat()

    async def close(self) -> None:
        """Beat no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
