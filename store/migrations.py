"""Bring a database to the present schema: one transaction per step, a copy before the first, a newer schema refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from runtime.errors import StoreError
from store.schema import MIGRATIONS


def schema_version(connection: sqlite3.Connection) -> int:
    """The schema's number; 0 for an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path, steps: tuple[tuple[str, ...], ...] = MIGRATIONS) -> int:
    """Run the missing steps; returns how many there were. Raises StoreError for a schema newer than these steps."""
    present, wanted = schema_version(connection), len(steps)
    if present > wanted:
        raise StoreError(
            f"The store {path} has schema {present}; this looptop knows up to {wanted}.",
            "Use a newer looptop, or another LOOPTOP_HOME.",
        )
    if present == wanted:
        return 0
    if present:
        _copy(connection, path.with_name(f"{path.name}.before-{wanted}"))
    for number in range(present, wanted):
        # Another process may have come first: the number is read again inside the transaction.
        connection.execute("BEGIN IMMEDIATE")
        try:
            if schema_version(connection) == number:
                for statement in steps[number]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
    return wanted - present


def _copy(connection: sqlite3.Connection, target: Path) -> None:
    with sqlite3.connect(target) as copy:
        connection.backup(copy)
    copy.close()
    target.chmod(0o600)
