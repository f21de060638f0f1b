"""The one ledger: a row per model call, reservations before it, and the only sums that anybody shows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from runtime.ports import CallRow, Limit, Refusal, RunTotals
from runtime.scope import Scope, current_scope
from runtime.usage import Usage
from store.binding import put, utc
from store.database import Database
from store.event_log import EventLog
from store.owner import owner_lives, this_process
from store.sums import SUMS, totals_of

UNKNOWN = "unknown"
WORST_CASE = "worst case"
"""Stands for the price table's version where a call was settled at what it may have cost at most."""
MOST_TOKENS, MOST_MICROS = 10**12, 10**15
"""No call can have used or cost more; a server that says so, or less than nothing, has told nothing."""
_COLUMNS = (
    "call_id, at, day, provider, model, project, tenant, category, run, leg, attempt, round, purpose, input, output, cache_read, "
    "cache_write_5m, cache_write_1h, estimated, cost_micros, price_version, latency_ms, ttft_ms, request_id, outcome, extra"
)
_INSERT = f"INSERT OR IGNORE INTO llm_usage ({_COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS.split(', ')))})"
_RESERVE = """INSERT OR REPLACE INTO reservations (call_id, run, project, tenant, day, tokens, micros, at, host, pid, pid_started,
    scope, provider, model, output_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_COUNTS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
_TOKENS = (
    "coalesce(input, 0) + coalesce(output, 0) + coalesce(cache_read, 0) + coalesce(cache_write_5m, 0) "
    "+ coalesce(cache_write_1h, 0)"
)


class UsageLedger:
    """Implements the runtime's Ledger."""

    def __init__(self, database: Database, events: EventLog) -> None:
        self._database = database
        self._events = events

    async def record(self, row: CallRow) -> None:
        """Keep a row, together with the events that came before it, and drop its reservation, all in one transaction.

        The same row again changes nothing. Raises RecordBlocked while it can't be written.
        """
        scope = current_scope()

        def unit(connection: sqlite3.Connection) -> None:
            insert_row(connection, row, scope)
            connection.execute("DELETE FROM reservations WHERE call_id = ?", (row.call_id,))

        await self._events.write_with(unit)

    async def run_totals(self, run: str) -> RunTotals:
        """Sums of one run over everything that was recorded for it, settled worst cases of dead processes included."""
        return totals_of((await self._database.rows(f"{SUMS} WHERE run = ?", (run,)))[0])

    async def reserve(self, call_id: str, run: str, tokens: int, micros: int | None) -> None:
        """Note a call's worst case before it is made."""
        await self.try_reserve(call_id, run, tokens, micros)

    async def try_reserve(
        self,
        call_id: str,
        run: str,
        tokens: int,
        micros: int | None,
        limits: Sequence[Limit] = (),
        *,
        provider: str = UNKNOWN,
        model: str = UNKNOWN,
        output_tokens: int = 0,
    ) -> Refusal | None:
        """Reserve a call's worst case if it fits into every limit, else say which one it doesn't fit; nothing is reserved then.

        What other calls in flight may still take counts as taken, also those of other processes. Raises RecordBlocked.
        """
        scope, owner, now = current_scope(), this_process(), datetime.now(UTC)
        day = now.date().isoformat()
        places = {"run": run, "project": scope.project, "tenant": scope.tenant, "day": day}
        needed = {"tokens": tokens, "micros": micros}
        values = (
            *(call_id, run, scope.project, scope.tenant, day, tokens, micros, now.isoformat()),
            *(owner.host, owner.pid, owner.started, json.dumps(asdict(scope)), provider, model, output_tokens),
        )

        def unit(connection: sqlite3.Connection) -> Refusal | None:
            for limit in limits:
                need, place = needed[limit.unit], places[limit.of]
                if need is None or place is None:
                    continue
                refusal = _refusal(connection, limit, place, need, call_id)
                if refusal is not None:
                    return refusal
            put(connection, _RESERVE, values)
            return None

        # It must outlive the process, not a power cut: a call that nobody reads the reply of is not worth a wait for the disk.
        return await self._database.write(unit, synced=False)

    async def settle(self, call_id: str) -> None:
        """Drop a reservation whose call was never sent; one that was recorded has none left."""
        if await self._database.rows("SELECT 1 FROM reservations WHERE call_id = ?", (call_id,)):
            await self._database.write(
                lambda connection: connection.execute("DELETE FROM reservations WHERE call_id = ?", (call_id,)),
                synced=False,
            )

    async def recover(self) -> list[str]:
        """Settle the reservations of processes that are gone: each becomes a row at its worst case, marked estimated.

        Returns the ids of the runs that they belonged to. Several processes may do so at once; each call is settled once.
        """
        now = datetime.now(UTC)
        rows = await self._database.rows(
            "SELECT v.*, coalesce(r.heartbeat, v.at) AS heartbeat FROM reservations v LEFT JOIN runs r ON r.id = v.run"
        )
        dead = [row for row in rows if owner_lives(row, now) is False]
        if dead:
            await self._database.write(lambda connection: _settle_dead(connection, dead))
        return sorted({str(row["run"]) for row in dead})


def _refusal(connection: sqlite3.Connection, limit: Limit, place: str, needed: int, call_id: str) -> Refusal | None:
    """Why a call doesn't fit into a limit; None where it does."""
    amount = "cost_micros" if limit.unit == "micros" else _TOKENS
    used, unpriced = connection.execute(
        f"SELECT coalesce(sum({amount}), 0), coalesce(sum(cost_micros IS NULL), 0) FROM llm_usage WHERE {limit.of} = ?",
        (place,),
    ).fetchone()
    (reserved,) = connection.execute(
        f"SELECT coalesce(sum({limit.unit}), 0) FROM reservations WHERE {limit.of} = ? AND call_id <> ?",
        (place, call_id),
    ).fetchone()
    if used + reserved + needed <= limit.limit:
        return None
    return Refusal(limit, int(used), int(reserved), needed, limit.unit == "tokens" or not unpriced)


def insert_row(connection: sqlite3.Connection, row: CallRow, scope: Scope) -> None:
    """Write one call. A call id that is there already, or a request id within the same round, is the same reply again."""
    usage, at = row.usage, row.started_at.astimezone(UTC)
    counts = {name: getattr(usage, name) for name in _COUNTS}
    wrong = [name for name, count in counts.items() if not _plausible(count, MOST_TOKENS)]
    counts.update(dict.fromkeys(wrong))
    micros = row.cost_micros if not wrong and _plausible(row.cost_micros, MOST_MICROS) else None
    extra = {**row.extra, **({"implausible": ", ".join(wrong)} if wrong else {})}
    put(
        connection,
        _INSERT,
        (
            *(row.call_id, utc(at), at.date().isoformat(), row.provider, row.model),
            *(scope.project, scope.tenant, scope.category, scope.run, scope.leg, scope.attempt, scope.round),
            *(row.purpose or scope.purpose, *counts.values(), ",".join(usage.estimated), micros),
            *(row.price_version, row.latency_ms, row.ttft_ms, row.request_id or None, row.outcome, json.dumps(extra)),
        ),
    )


def _plausible(figure: int | None, most: int) -> bool:
    return figure is None or 0 <= figure <= most


def _settle_dead(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> None:
    """Calls whose process died were paid for as far as anybody knows: their worst case, marked."""
    for row in rows:
        if connection.execute("DELETE FROM reservations WHERE call_id = ?", (row["call_id"],)).rowcount:
            insert_row(connection, _worst_case(row), Scope(**{**_scope_fields(row["scope"]), "run": row["run"]}))


def _worst_case(row: sqlite3.Row) -> CallRow:
    output = min(row["output_tokens"], row["tokens"])
    return CallRow(
        call_id=row["call_id"],
        provider=row["provider"],
        model=row["model"],
        usage=settled_usage(row["tokens"] - output, output),
        cost_micros=row["micros"],
        price_version=WORST_CASE,
        started_at=datetime.fromisoformat(row["at"]),
        latency_ms=None,
        ttft_ms=None,
        request_id=None,
        outcome="interrupted",
    )


def settled_usage(fresh: int, output: int) -> Usage:
    """The usage of a call that was settled at its worst case. How much of its prompt was read from cache isn't known."""
    return Usage(input=fresh, output=output, estimated=("input", "output"))


def _scope_fields(text: str) -> dict[str, Any]:
    known = set(Scope.__dataclass_fields__)
    return {name: value for name, value in json.loads(text).items() if name in known}
