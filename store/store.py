"""The store as a whole: opened once per process, closed with everything written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from store.calibrations import Calibrations
from store.claims import Claims
from store.database import Database
from store.event_log import EventLog
from store.history import History
from store.home import FILE_NAME
from store.ledger import UsageLedger
from store.projects import Projects
from store.reports import Reports
from store.retention import Retention
from store.views import Views


@dataclass(frozen=True, slots=True)
class Store:
    """Everything that must last, by its parts."""

    database: Database
    record: EventLog
    ledger: UsageLedger
    history: History
    reports: Reports
    views: Views
    projects: Projects
    claims: Claims
    retention: Retention
    calibrations: Calibrations


@asynccontextmanager
async def open_store(home: Path) -> AsyncIterator[Store]:
    """Open the store in looptop's home folder, made where it is missing. Raises StoreError."""
    database = Database(home / FILE_NAME)
    await database.open()
    events = EventLog(database)
    views = Views(database, events)
    history = History(database, events, views)
    ledger, reports, projects = UsageLedger(database, events), Reports(database), Projects(database)
    claims = Claims(database, events)
    claims.start()
    try:
        yield Store(
            database,
            events,
            ledger,
            history,
            reports,
            views,
            projects,
            claims,
            Retention(database),
            Calibrations(database),
        )
    finally:
        try:
            await claims.close()
            await events.close()
        finally:
            try:
                await views.close()
            finally:
                await database.close()
