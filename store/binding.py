"""Values as SQLite can hold them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from runtime.text import storable

LARGEST = 2**63 - 1


def utc(at: datetime) -> str:
    """A time as text that sorts by time."""
    return at.astimezone(UTC).isoformat()


def put(connection: sqlite3.Connection, sql: str, values: Sequence[Any]) -> None:
    """Execute with text without lone surrogates and NUL, and integers of 64 bits."""
    connection.execute(sql, [_held(value) for value in values])


def _held(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-LARGEST, min(value, LARGEST))
    return value
