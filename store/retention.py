"""How much the store holds, and the removal of old runs' events. Usage and what was derived from the events stay."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime

from store.binding import utc
from store.database import Database


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the store holds. `free_bytes` of the file are used again before it grows."""

    file_bytes: int
    log_bytes: int
    free_bytes: int
    runs: int
    pruned_runs: int
    events: int
    """Events that are still there."""
    oldest: datetime | None
    """Time of the oldest run whose events are still there."""


class Retention:
    """Looks at the size of the store and prunes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def holdings(self) -> Holdings:
        """What is held now; counted from the runs' rows, so that it is quick at any size."""

        def unit(connection: sqlite3.Connection) -> Holdings:
            runs, pruned, events, oldest = connection.execute(
                """SELECT count(*), coalesce(sum(pruned_at IS NOT NULL), 0),
                   coalesce(sum(CASE WHEN pruned_at IS NULL THEN last_seq END), 0),
                   min(CASE WHEN pruned_at IS NULL THEN queued_at END) FROM runs"""
            ).fetchone()
            page, pages, free = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_size", "page_count", "freelist_count")
            )
            at = datetime.fromisoformat(oldest) if oldest else None
            return Holdings(page * pages, self._database.wal_bytes(), page * free, runs, pruned, events, at)

        return await self._database.read(unit)

    async def prune(self, before: datetime) -> list[str]:
        """Remove the events of finished runs whose last event is older than `before`; returns their ids, oldest first.

        Their rows in lists, their attempts and their usage stay. What else belongs to them (outputs, workspaces) is the
        caller's to remove.
        """
        rows = await self._database.rows(
            """SELECT id FROM runs WHERE reason IS NOT NULL AND claimed = 0 AND pruned_at IS NULL AND last_at < ?
               ORDER BY last_at, id""",
            (utc(before),),
        )
        # A transaction each: other writers get their turn, and the log stays small.
        return [run for run in (str(row["id"]) for row in rows) if await self._prune(run)]

    async def _prune(self, run: str) -> bool:
        return await self._database.write(lambda connection: _prune(connection, run))


def _prune(connection: sqlite3.Connection, run: str) -> bool:
    done = connection.execute(
        "UPDATE runs SET pruned_at = ? WHERE id = ? AND reason IS NOT NULL AND claimed = 0 AND pruned_at IS NULL",
        (utc(datetime.now(UTC)), run),
    )
    if not done.rowcount:
        return False
    connection.execute("DELETE FROM events WHERE run = ?", (run,))
    connection.execute("DELETE FROM snapshots WHERE run = ?", (run,))
    return True
