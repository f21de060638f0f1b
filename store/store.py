"""The store as a whole: opened once per process, closed with everything written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from store.database import Database
from store.event_log import EventLog
from store.history import History
from store.ledger import UsageLedger
from store.reports import Reports

FILE_NAME = "looptop.db"


@dataclass(frozen=True, slots=True)
class Store:
    """Everything that must last, by its parts."""

    database: Database
    record: EventLog
    ledger: UsageLedger
    history: History
    reports: Reports


@asynccontextmanager
async def open_store(home: Path) -> AsyncIterator[Store]:
    """Open the store in looptop's home folder, made where it is missing. Raises StoreError."""
    database = Database(home / FILE_NAME)
    await database.open()
    events = EventLog(database)
    store = Store(database, events, UsageLedger(database, events), History(database, events), Reports(database))
    try:
        yield store
    finally:
        try:
            await events.close()
        finally:
            await database.close()
