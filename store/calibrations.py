"""Calibrations as they were made, newest first: what a threshold or a budget was set by. Rows are added, never changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from store.binding import put, utc
from store.database import Database

STOPLOSS = "stoploss"


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One calibration. `body` is its data; `runs` how many it was made from."""

    id: int
    kind: str
    made_at: datetime
    project: str | None
    model: str | None
    scorer: str | None
    runs: int
    body: dict[str, Any]


class Calibrations:
    """Keeps calibrations and finds the one in force."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        kind: str,
        body: Mapping[str, Any],
        runs: int,
        *,
        project: str | None = None,
        model: str | None = None,
        scorer: str | None = None,
        made_at: datetime | None = None,
    ) -> int:
        """Keep one; returns its id. Raises RecordBlocked while it can't be written."""
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        at = utc(made_at or datetime.now(UTC))

        def unit(connection: sqlite3.Connection) -> int:
            put(
                connection,
                "INSERT INTO calibrations (kind, made_at, project, model, scorer, runs, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (kind, at, project, model, scorer, runs, text),
            )
            return int(connection.execute("SELECT last_insert_rowid()").fetchone()[0])

        return await self._database.write(unit)

    async def latest(
        self, kind: str, *, project: str | None = None, model: str | None = None, scorer: str | None = None
    ) -> CalibrationRow | None:
        """The newest of a kind; of a project, a model, a scorer where they are given."""
        found = await self.all(kind, project=project, model=model, scorer=scorer, limit=1)
        return found[0] if found else None

    async def all(
        self,
        kind: str,
        *,
        project: str | None = None,
        model: str | None = None,
        scorer: str | None = None,
        limit: int = 200,
    ) -> list[CalibrationRow]:
        """Those of a kind, newest first."""
        wanted = {"kind": kind, "project": project, "model": model, "scorer": scorer}
        given = {name: value for name, value in wanted.items() if value is not None}
        rows = await self._database.rows(
            f"SELECT * FROM calibrations WHERE {' AND '.join(f'{name} = ?' for name in given)} ORDER BY id DESC LIMIT ?",
            (*given.values(), limit),
        )
        return [_row(row) for row in rows]


def _row(row: sqlite3.Row) -> CalibrationRow:
    return CalibrationRow(
        row["id"],
        row["kind"],
        datetime.fromisoformat(row["made_at"]),
        row["project"],
        row["model"],
        row["scorer"],
        row["runs"],
        json.loads(row["body"]),
    )
