"""Events as rows: made storable, written once each however often they come, with what is derived from them."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from typing import Any

from runtime.errors import StoreError
from runtime.events.base import Event
from runtime.events.codec import event_from_json, event_to_json
from runtime.events.supervision import UnknownEvent
from runtime.text import storable
from store.binding import utc
from store.owner import Owner
from store.projections import project, reached, rebuild

log = logging.getLogger(__name__)
_INSERT = "INSERT INTO events (run, seq, type, at, mono_ms, body) VALUES (?, ?, ?, ?, ?, ?)"
PAGE_BYTES = 4 * 1024 * 1024


def encode(event: Event) -> tuple[Event, str]:
    """The event as it will be read back, and its line. Text that can't be stored comes back with marks in it."""
    try:
        return event, event_to_json(event)
    except ValueError:
        pass
    try:
        cleaned = type(event).model_validate(_storable(event.model_dump(by_alias=True)))
        return cleaned, event_to_json(cleaned)
    except (ValueError, TypeError) as error:
        log.error("event %s/%s (%s) can't be stored: %s", event.run, event.seq, event.type, error)
        envelope = {name: getattr(event, name) for name in ("v", "run", "seq", "at", "mono_ms")}
        stub = UnknownEvent(**envelope, type=f"unstorable_{event.type}")
        return stub, event_to_json(stub)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


def insert_events(connection: sqlite3.Connection, batch: Sequence[Event], owner: Owner | None) -> list[str]:
    """Write events and what follows from them. Returns, in words, the ones refused: a number that another event has already.

    An event that is there already changes nothing, in whatever order it comes.
    """
    by_run: dict[str, list[Event]] = {}
    for event in batch:
        by_run.setdefault(event.run, []).append(event)
    refused: list[str] = []
    for run, events in by_run.items():
        _insert_of_run(connection, run, events, owner, refused)
    return refused


def _insert_of_run(
    connection: sqlite3.Connection, run: str, events: Sequence[Event], owner: Owner | None, refused: list[str]
) -> None:
    if connection.execute("SELECT 1 FROM runs WHERE id = ? AND pruned_at IS NOT NULL", (run,)).fetchone():
        # Its events were removed on purpose; what was derived from them stays as it is.
        return
    last = int(connection.execute("SELECT coalesce(max(seq), 0) FROM events WHERE run = ?", (run,)).fetchone()[0])
    fresh: list[Event] = []
    rows: list[tuple[Any, ...]] = []
    filled = 0
    for event in events:
        cleaned, body = encode(event)
        row = (run, event.seq, storable(event.type), utc(event.at), event.mono_ms, body)
        if event.seq > last:
            last = event.seq
            fresh.append(cleaned)
            rows.append(row)
            continue
        known = next((r[5] for r in rows if r[1] == event.seq), None) or _body(connection, run, event.seq)
        if known is None:
            connection.execute(_INSERT, row)
            filled = min(filled or event.seq, event.seq)
        elif known != body:
            refused.append(f"event {event.seq} of run {run} is in the store already, and is another one")
    connection.executemany(_INSERT, rows)
    if filled:
        connection.execute("DELETE FROM snapshots WHERE run = ? AND seq >= ?", (run, filled))
        rebuild(connection, run)
        return
    for event in fresh:
        project(connection, event, owner)
    if fresh:
        reached(connection, fresh[-1])


def _body(connection: sqlite3.Connection, run: str, seq: int) -> str | None:
    row = connection.execute("SELECT body FROM events WHERE run = ? AND seq = ?", (run, seq)).fetchone()
    return None if row is None else str(row[0])


def read_page(connection: sqlite3.Connection, run: str, after: int, until: int | None, limit: int) -> list[Event]:
    """Events above `after` up to `until`, oldest first: at most `limit`, and fewer where they are large, but one at least.

    Raises StoreError for one that can't be read.
    """
    return _page(connection, "AND seq > ? AND seq <= ? ORDER BY seq", (run, after, _last(until), limit))


def read_page_before(connection: sqlite3.Connection, run: str, before: int | None, limit: int) -> list[Event]:
    """The newest events below `before` (None: of all), oldest first: at most `limit`, and fewer where they are large."""
    return _page(connection, "AND seq < ? ORDER BY seq DESC", (run, _last(before), limit))[::-1]


def _last(seq: int | None) -> int:
    return 2**62 if seq is None else seq


def _page(connection: sqlite3.Connection, which: str, values: tuple[str | int, ...]) -> list[Event]:
    events: list[Event] = []
    size = 0
    for seq, body in connection.execute(f"SELECT seq, body FROM events WHERE run = ? {which} LIMIT ?", values):
        try:
            events.append(event_from_json(body))
        except ValueError as error:
            raise StoreError(f"Event {seq} of run {values[0]} can't be read: {error}.") from error
        size += len(body)
        if size >= PAGE_BYTES:
            break
    return events
