"""Usage by day, month, model, project, tenant, category, run, purpose and round: sums of the ledger and of nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from runtime.errors import UsageError
from runtime.usage import FREE, Money, Usage
from store.database import Database
from store.sums import SUMS, cache_share_of, totals_of

KEYS = {
    "day": "day",
    "month": "substr(day, 1, 7)",
    "model": "model",
    "project": "project",
    "tenant": "coalesce(tenant, '')",
    "category": "coalesce(category, '')",
    "run": "coalesce(run, 'UNSCOPED')",
    "purpose": "purpose",
    "round": "coalesce(round, 0)",
}
Span = Literal["day", "week", "month"]


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Sums of the calls that share a key. Days are UTC days."""

    key: str
    calls: int
    usage: Usage
    money: Money
    """`complete` is false where some of the calls have no price."""
    estimated: bool
    """Whether a part of the counts is estimated."""
    cache_share: float | None = None
    """Share of the prompts read from cache, over the calls that report it."""
    unmetered: int = 0
    """Calls whose usage isn't known, or not wholly."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A span's usage against the span before it: the whole of both, the parts by a key, and a row for every day."""

    since: date
    until: date
    total: UsageRow
    before: UsageRow
    rows: tuple[UsageRow, ...]
    """Dearest first."""
    days: tuple[UsageRow, ...]
    """Oldest first; days without calls are there too."""


class Reports:
    """Sums for the command line and the Usage screen."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def usage(
        self,
        by: str,
        *,
        run: str | None = None,
        since: str | None = None,
        until: str | None = None,
        project: str | None = None,
        tenant: str | None = None,
    ) -> list[UsageRow]:
        """One row per key in the key's order; `since` and `until` are days, both inclusive. Raises UsageError for another key."""
        if by not in KEYS:
            raise UsageError(f"Usage can't be summed by {by!r}.", f"By: {', '.join(KEYS)}.")
        key = KEYS[by]
        where, parameters = _where(run, since, until, project, tenant)
        rows = await self._database.rows(
            SUMS.replace("SELECT ", f"SELECT {key} AS key, ", 1) + f"{where} GROUP BY {key} ORDER BY {key}", parameters
        )
        return [_row(row, str(row["key"])) for row in rows]

    async def total(
        self,
        *,
        run: str | None = None,
        since: str | None = None,
        until: str | None = None,
        project: str | None = None,
        tenant: str | None = None,
    ) -> UsageRow:
        """The sum of all that `usage` would list."""
        where, parameters = _where(run, since, until, project, tenant)
        return _row((await self._database.rows(SUMS + where, parameters))[0], "total")

    async def compare(self, by: str, span: Span, today: date) -> Compared:
        """The running day, week (from Monday) or month up to `today`, and the whole span before it."""
        since, before = span_of(span, today)
        first, last = since.isoformat(), today.isoformat()
        rows = await self.usage(by, since=first, until=last)
        by_day = {row.key: row for row in await self.usage("day", since=first, until=last)}
        keys = [(since + timedelta(days=n)).isoformat() for n in range((today - since).days + 1)]
        return Compared(
            since=since,
            until=today,
            total=await self.total(since=first, until=last),
            before=await self.total(since=before.isoformat(), until=(since - timedelta(days=1)).isoformat()),
            rows=tuple(sorted(rows, key=lambda row: (-row.money.micros, -(row.usage.total or 0), row.key))),
            days=tuple(by_day.get(key) or UsageRow(key, 0, FREE, Money(), False) for key in keys),
        )


def span_of(span: Span, today: date) -> tuple[date, date]:
    """First day of the span that `today` is in, and of the one before it."""
    if span == "day":
        return today, today - timedelta(days=1)
    if span == "week":
        monday = today - timedelta(days=today.weekday())
        return monday, monday - timedelta(days=7)
    first = today.replace(day=1)
    return first, (first - timedelta(days=1)).replace(day=1)


def _where(
    run: str | None, since: str | None, until: str | None, project: str | None, tenant: str | None
) -> tuple[str, Sequence[Any]]:
    parts, parameters = [], []
    for condition, value in (
        ("run = ?", run),
        ("day >= ?", since),
        ("day <= ?", until),
        ("project = ?", project),
        ("tenant = ?", tenant),
    ):
        if value is not None:
            parts.append(condition)
            parameters.append(value)
    return (" WHERE " + " AND ".join(parts) if parts else ""), parameters


def _row(row: sqlite3.Row, key: str) -> UsageRow:
    totals = totals_of(row)
    return UsageRow(
        key=key,
        calls=totals.calls,
        usage=totals.usage,
        money=totals.money,
        estimated=bool(row["estimated"]),
        cache_share=cache_share_of(row),
        unmetered=int(row["unmetered"]),
    )
