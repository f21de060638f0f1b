"""The one ledger: a row per model call, reservations before it, and the only sums that anybody shows."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from runtime.ports import CallRow, RunTotals
from runtime.scope import Scope, current_scope
from runtime.usage import Money, Usage
from store.database import Database
from store.event_log import EventLog, insert
from store.owner import Owner, is_alive, this_process

SUMS = """SELECT count(*) AS calls, sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
    sum(cache_write_5m) AS w5, sum(cache_write_1h) AS w1, coalesce(sum(cost_micros), 0) AS micros,
    sum(cost_micros IS NULL) AS unpriced, sum(estimated <> '') AS estimated FROM llm_usage"""


class UsageLedger:
    """Implements the runtime's Ledger."""

    def __init__(self, database: Database, events: EventLog) -> None:
        self._database = database
        self._events = events

    async def record(self, row: CallRow) -> None:
        """Keep a row, together with the events that came before it, in one transaction; the same row again changes nothing."""
        scope = current_scope()
        waiting = self._events.take()

        def unit(connection: sqlite3.Connection) -> None:
            insert(connection, waiting)
            insert_row(connection, row, scope)

        await self._database.write(unit)

    async def run_totals(self, run: str) -> RunTotals:
        """Sums of one run, calls that a dead process left open included at their worst case."""
        rows = await self._database.rows(f"{SUMS} WHERE run = ?", (run,))
        return totals_of(rows[0])

    async def reserve(self, call_id: str, run: str, tokens: int, micros: int | None) -> None:
        """Note a call's worst case before it is made."""
        scope, owner = current_scope(), this_process()
        now = datetime.now(UTC)
        values = (
            *(call_id, run, scope.project, scope.tenant, now.date().isoformat(), tokens, micros, now.isoformat()),
            *(owner.host, owner.pid, owner.started, json.dumps(asdict(scope))),
        )
        await self._database.write(
            lambda connection: connection.execute(
                """INSERT OR REPLACE INTO reservations (call_id, run, project, tenant, day, tokens, micros, at, host, pid,
                   pid_started, scope) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                values,
            )
        )

    async def settle(self, call_id: str) -> None:
        """Drop a reservation whose call was recorded or never sent."""
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM reservations WHERE call_id = ?", (call_id,))
        )

    async def recover(self) -> list[str]:
        """Settle the reservations of processes that are gone: each becomes a row at its worst case, marked estimated.

        Returns the ids of the runs that they belonged to.
        """
        rows = await self._database.rows("SELECT * FROM reservations")
        dead = [row for row in rows if is_alive(Owner(row["host"], row["pid"], row["pid_started"])) is False]
        for row in dead:
            await self._database.write(lambda connection, row=row: _settle_dead(connection, row))  # type: ignore[misc]
        return sorted({str(row["run"]) for row in dead})


def insert_row(connection: sqlite3.Connection, row: CallRow, scope: Scope) -> None:
    """Write one call. A call id or a request id that is there already is the same reply delivered again."""
    usage = row.usage
    connection.execute(
        """INSERT OR IGNORE INTO llm_usage (call_id, at, day, provider, model, project, tenant, category, run, leg, attempt,
           round, purpose, input, output, cache_read, cache_write_5m, cache_write_1h, estimated, cost_micros, price_version,
           latency_ms, ttft_ms, request_id, outcome)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(row.call_id, row.started_at.isoformat(), row.started_at.date().isoformat(), row.provider, row.model),
            *(scope.project, scope.tenant, scope.category, scope.run, scope.leg, scope.attempt, scope.round),
            *(row.purpose or scope.purpose, usage.input, usage.output, usage.cache_read),
            *(usage.cache_write_5m, usage.cache_write_1h, ",".join(usage.estimated), row.cost_micros),
            *(row.price_version, row.latency_ms, row.ttft_ms, row.request_id, row.outcome),
        ),
    )


def _settle_dead(connection: sqlite3.Connection, row: sqlite3.Row) -> None:
    """A call whose process died was paid for as far as anybody knows: its worst case, marked."""
    if not connection.execute("DELETE FROM reservations WHERE call_id = ?", (row["call_id"],)).rowcount:
        return
    scope = Scope(**_fields(row["scope"]))
    usage = Usage(input=row["tokens"], output=0, estimated=("input", "output"))
    call = CallRow(
        call_id=row["call_id"],
        provider="unknown",
        model="unknown",
        usage=usage,
        cost_micros=row["micros"],
        price_version="worst case",
        started_at=datetime.fromisoformat(row["at"]),
        latency_ms=None,
        ttft_ms=None,
        request_id=None,
        outcome="interrupted",
    )
    insert_row(connection, call, scope)


def _fields(text: str) -> dict[str, Any]:
    known = set(Scope.__dataclass_fields__)
    return {name: value for name, value in json.loads(text).items() if name in known}


def totals_of(row: sqlite3.Row) -> RunTotals:
    """Sums of a query over llm_usage."""
    usage = Usage(
        input=row["input"],
        output=row["output"],
        cache_read=row["cache_read"],
        cache_write_5m=row["w5"],
        cache_write_1h=row["w1"],
        estimated=("some",) if row["estimated"] else (),
    )
    money = Money(micros=int(row["micros"]), complete=not row["unpriced"])
    return RunTotals(usage=usage, tokens=usage.total or 0, money=money, calls=int(row["calls"]))
