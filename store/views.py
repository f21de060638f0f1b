"""A run's picture from the store: the newest kept state of the fold, and the events after it.

The state is kept every `SNAPSHOT_EVERY` events while a run is written, and at its end, so that opening a long run is quick.
"""

from __future__ import annotations

import asyncio
import logging
import pkgutil
import sqlite3
from collections.abc import Sequence
from functools import cache
from hashlib import sha256

from pydantic import TypeAdapter

from runtime.errors import StoreError, UsageError
from runtime.events.base import Event
from runtime.view import RunView, fold, fold_all
from store.database import Database
from store.event_log import PAGE, EventLog

log = logging.getLogger(__name__)
SNAPSHOT_EVERY = 10_000
SNAPSHOT_AT_END = 500
"""A finished run's state is kept where that saves the fold of at least so many events."""
QUIET_PAGE, QUIET_PAUSE_S = 200, 0.02
_FOLDED_BY = {
    "runtime.view": ("__init__", "model", "fold", "attempts", "checks", "rounds", "supervision"),
    "runtime.events": ("base", "checks", "loop", "supervision", "values"),
    "runtime": ("usage",),
}


@cache
def view_type() -> TypeAdapter[RunView]:
    """Reads and writes a picture as JSON."""
    return TypeAdapter(RunView)


@cache
def fold_version() -> int:
    """A number that differs for every edition of the fold, so that a state kept by another edition is never built upon."""
    digest = sha256()
    for package, names in _FOLDED_BY.items():
        for name in names:
            digest.update(pkgutil.get_data(package, f"{name}.py") or name.encode())
    return int.from_bytes(digest.digest()[:7], "big")


class Views:
    """Loads pictures and keeps the fold's state."""

    def __init__(self, database: Database, events: EventLog, every: int = SNAPSHOT_EVERY) -> None:
        self._database = database
        self._events = events
        self._every = every
        self._kept: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        events.on_written = self._written

    async def load(self, run: str) -> RunView:
        """The run as its events tell it. Raises UsageError where there is no such run."""
        return (await self._load(run, PAGE))[0]

    async def _load(self, run: str, page_size: int, pause_s: float | None = None) -> tuple[RunView, bool]:
        """The view, and whether no event is missing below it."""
        view = await self._newest(run)
        folded = view.seq
        while page := await self._events.page(run, view.seq, limit=page_size):
            before = view
            # The fold is pure, so that a long one needn't keep the screen waiting.
            view = await asyncio.to_thread(fold_all, page, view)
            folded += len(page)
            # A state with a gap below it would stand when the missing event comes in meanwhile: only whole ones are kept.
            if view.seq // self._every > before.seq // self._every and folded == view.seq:
                await self._keep(view)
            if pause_s is not None:
                await asyncio.sleep(pause_s)
        if not view.seq:
            raise await self._nothing_of(run)
        return view, folded == view.seq

    async def _nothing_of(self, run: str) -> UsageError:
        rows = await self._database.rows("SELECT pruned_at FROM runs WHERE id = ?", (run,))
        if rows and rows[0]["pruned_at"]:
            day = rows[0]["pruned_at"][:10]
            return UsageError(f"The events of run {run} were removed on {day}; its line and its usage are still there.")
        return UsageError(f"There is no run {run!r}.", "`looptop runs` lists them.")

    async def load_fully(self, run: str) -> RunView:
        """The same by folding every event."""
        view = RunView()
        async for event in self._events.read(run):
            view = fold(view, event)
        return view

    async def _newest(self, run: str) -> RunView:
        rows = await self._database.rows(
            "SELECT seq, view FROM snapshots WHERE run = ? AND version = ? ORDER BY seq DESC LIMIT 1",
            (run, fold_version()),
        )
        if not rows:
            return RunView()
        try:
            return await asyncio.to_thread(view_type().validate_json, rows[0]["view"])
        except ValueError:
            log.warning("the kept state of run %s at event %s can't be read; it is folded anew", run, rows[0]["seq"])
            return RunView()

    async def _keep(self, view: RunView) -> None:
        """Keep a state in place of older ones. Not being able to is no fault: it can be folded anew."""

        def unit(connection: sqlite3.Connection) -> None:
            connection.execute(
                "DELETE FROM snapshots WHERE run = ? AND (seq <= ? OR version <> ?)",
                (view.run, view.seq, fold_version()),
            )
            connection.execute(
                "INSERT OR REPLACE INTO snapshots (run, seq, version, view) VALUES (?, ?, ?, ?)",
                (view.run, view.seq, fold_version(), text),
            )

        try:
            text = await asyncio.to_thread(lambda: view_type().dump_json(view).decode())
            await self._database.write(unit, synced=False)
        except (StoreError, ValueError) as error:
            log.warning("the state of run %s at event %s was not kept: %s", view.run, view.seq, error)

    def _written(self, events: Sequence[Event]) -> None:
        for event in events:
            kept = self._kept.setdefault(event.run, event.seq - 1)
            due = SNAPSHOT_AT_END if event.type == "run_finished" else self._every
            if event.seq - kept >= due and event.run not in self._tasks:
                self._kept[event.run] = event.seq
                task = asyncio.create_task(self._keep_now(event.run), name=f"keep-view-{event.run}")
                self._tasks[event.run] = task
                task.add_done_callback(lambda _, run=event.run: self._tasks.pop(run, None))  # type: ignore[misc]
            if event.type == "run_finished":
                self._kept.pop(event.run, None)

    async def _keep_now(self, run: str) -> None:
        try:
            # Nobody waits for it: small pieces with pauses, so that runs and screens don't notice.
            view, whole = await self._load(run, QUIET_PAGE, QUIET_PAUSE_S)
            if whole:
                await self._keep(view)
        except StoreError as error:
            log.warning("the state of run %s was not kept: %s", run, error)

    async def close(self) -> None:
        """Stop keeping."""
        self._events.on_written = None
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
