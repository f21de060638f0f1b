"""Questions about runs that were: lists, one run found by the beginning of its id, its view by snapshot and fold."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from runtime.errors import UsageError
from runtime.events.base import Event
from runtime.events.codec import event_from_json
from runtime.view import RunView, fold
from store.database import Database
from store.event_log import EventLog
from store.ledger import SUMS, totals_of
from store.owner import Owner, is_alive

SNAPSHOT_EVERY = 10_000
VIEW_VERSION = 1
"""Counts up when RunView changes in a way that old snapshots don't fit."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of a list; sums from the ledger."""

    run: str
    project: str
    repo: str
    task: str
    model: str
    state: str
    reason: str | None
    attempt: int
    queued_at: datetime
    last_at: datetime
    tokens: int | None
    cost_micros: int | None
    cost_complete: bool
    cache_share: float | None
    workspace: Path | None
    owner_alive: bool | None


class History:
    """Reads; never writes anything but the fold's own snapshots."""

    def __init__(self, database: Database, events: EventLog) -> None:
        self._database = database
        self._events = events
        self._view_type: TypeAdapter[RunView] = TypeAdapter(RunView)

    async def runs(self, limit: int = 200, project: str | None = None) -> list[RunLine]:
        """The latest runs, newest first."""
        where, parameters = ("WHERE project = ?", [project]) if project else ("", [])
        rows = await self._database.rows(
            f"SELECT * FROM runs {where} ORDER BY queued_at DESC, id LIMIT ?", [*parameters, limit]
        )
        return [await self._line(row) for row in rows]

    async def open_runs(self) -> list[RunLine]:
        """Runs without an end."""
        rows = await self._database.rows("SELECT * FROM runs WHERE reason IS NULL ORDER BY queued_at")
        return [await self._line(row) for row in rows]

    async def line(self, run: str) -> RunLine:
        """One run. Raises UsageError where there is none."""
        rows = await self._database.rows("SELECT * FROM runs WHERE id = ?", (run,))
        if not rows:
            raise UsageError(f"There is no run {run!r}.", "`looptop runs` lists them.")
        return await self._line(rows[0])

    async def _line(self, row: sqlite3.Row) -> RunLine:
        sums = totals_of((await self._database.rows(f"{SUMS} WHERE run = ?", (row["id"],)))[0])
        owner = Owner(row["host"] or "", row["pid"] or 0, row["pid_started"] or 0.0)
        return RunLine(
            run=row["id"],
            project=row["project"],
            repo=row["repo"],
            task=row["task"],
            model=row["model"],
            state=row["state"],
            reason=row["reason"],
            attempt=row["attempt"],
            queued_at=datetime.fromisoformat(row["queued_at"]),
            last_at=datetime.fromisoformat(row["last_at"]),
            tokens=sums.usage.total if sums.calls else 0,
            cost_micros=sums.money.micros if sums.money.known else None,
            cost_complete=sums.money.complete,
            cache_share=sums.usage.cache_share,
            workspace=Path(row["workspace"]) if row["workspace"] else None,
            owner_alive=None if row["reason"] else is_alive(owner),
        )

    async def find(self, beginning: str) -> str:
        """The id of the run that begins so. Raises UsageError for none and for several."""
        if not beginning or not beginning.replace("-", "").isalnum():
            raise UsageError(f"{beginning!r} is not a run's id.", "`looptop runs` lists them.")
        rows = await self._database.rows(
            "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 6", (beginning, beginning + "\U0010ffff")
        )
        ids = [str(row["id"]) for row in rows]
        if beginning in ids:
            return beginning
        if not ids:
            raise UsageError(f"There is no run {beginning!r}.", "`looptop runs` lists them.")
        if len(ids) > 1:
            raise UsageError(f"{beginning!r} is the beginning of several runs: {', '.join(ids)}.", "Give more of it.")
        return ids[0]

    def events(self, run: str, after: int = 0) -> AsyncIterator[Event]:
        """A run's events in order."""
        return self._events.read(run, after)

    async def events_before(self, run: str, seq: int | None, limit: int) -> list[Event]:
        """At most `limit` events just below `seq` (None: the newest), oldest first."""
        rows = await self._database.rows(
            "SELECT body FROM events WHERE run = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
            (run, seq if seq is not None else 2**62, limit),
        )
        return [event_from_json(row["body"]) for row in reversed(rows)]

    async def events_after(self, run: str, seq: int, limit: int) -> list[Event]:
        """At most `limit` events above `seq`, oldest first."""
        rows = await self._database.rows(
            "SELECT body FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?", (run, seq, limit)
        )
        return [event_from_json(row["body"]) for row in rows]

    async def view(self, run: str) -> RunView:
        """The run as its events tell it: the newest snapshot of the fold and the events after it."""
        view = await self._snapshot(run)
        since = 0
        async for event in self._events.read(run, view.seq):
            view = fold(view, event)
            since += 1
            if since >= SNAPSHOT_EVERY:
                await self._keep(view)
                since = 0
        if not view.seq:
            raise UsageError(f"There is no run {run!r}.", "`looptop runs` lists them.")
        return view

    async def _snapshot(self, run: str) -> RunView:
        rows = await self._database.rows(
            "SELECT view FROM snapshots WHERE run = ? AND version = ? ORDER BY seq DESC LIMIT 1", (run, VIEW_VERSION)
        )
        return self._view_type.validate_json(rows[0]["view"]) if rows else RunView()

    async def _keep(self, view: RunView) -> None:
        text = self._view_type.dump_json(view).decode()
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO snapshots (run, seq, version, view) VALUES (?, ?, ?, ?)",
                (view.run, view.seq, VIEW_VERSION, text),
            )
        )

    async def command_ids(self, run: str) -> set[str]:
        """Ids of commands that were answered in an earlier process."""
        rows = await self._database.rows("SELECT id FROM commands WHERE run = ?", (run,))
        return {str(row["id"]) for row in rows}

    async def project_cap(self, project: str) -> int | None:
        """The project's override of the retry cap; None where there is none."""
        rows = await self._database.rows("SELECT fix_verify_retry_cap AS cap FROM projects WHERE id = ?", (project,))
        return rows[0]["cap"] if rows else None

    async def recovery_quotes(self, run: str) -> list[dict[str, object]]:
        """The recovery decisions of a run, with what was quoted."""
        rows = await self._database.rows(
            "SELECT attempt, action, router, quotes FROM recovery_decisions WHERE run = ? ORDER BY seq", (run,)
        )
        return [{**dict(row), "quotes": json.loads(row["quotes"])} for row in rows]
