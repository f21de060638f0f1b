"""Usage by day, month, model, project, tenant, category, run, purpose and round: sums of the ledger and of nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.errors import UsageError
from runtime.usage import Money, Usage
from store.database import Database
from store.ledger import SUMS, totals_of

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


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Sums of the calls that share a key."""

    key: str
    calls: int
    usage: Usage
    money: Money
    estimated: bool
    """Whether a part of the counts is estimated."""


class Reports:
    """Sums for the command line and the Usage screen."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def usage(
        self, by: str, *, run: str | None = None, since: str | None = None, until: str | None = None
    ) -> list[UsageRow]:
        """One row per key in the key's order; `since` and `until` are days, both inclusive. Raises UsageError for another key."""
        if by not in KEYS:
            raise UsageError(f"Usage can't be summed by {by!r}.", f"By: {', '.join(KEYS)}.")
        key = KEYS[by]
        where, parameters = _where(run, since, until)
        rows = await self._database.rows(
            SUMS.replace("SELECT ", f"SELECT {key} AS key, ", 1) + f"{where} GROUP BY {key} ORDER BY {key}", parameters
        )
        return [_row(row, str(row["key"])) for row in rows]

    async def total(self, *, run: str | None = None, since: str | None = None, until: str | None = None) -> UsageRow:
        """The sum of all that `usage` would list."""
        where, parameters = _where(run, since, until)
        return _row((await self._database.rows(SUMS + where, parameters))[0], "total")


def _where(run: str | None, since: str | None, until: str | None) -> tuple[str, Sequence[Any]]:
    parts, parameters = [], []
    for condition, value in (("run = ?", run), ("day >= ?", since), ("day <= ?", until)):
        if value is not None:
            parts.append(condition)
            parameters.append(value)
    return (" WHERE " + " AND ".join(parts) if parts else ""), parameters


def _row(row: sqlite3.Row, key: str) -> UsageRow:
    totals = totals_of(row)
    return UsageRow(key, totals.calls, totals.usage, totals.money, bool(row["estimated"]))
