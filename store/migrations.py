"""Bring a database to the present schema: one transaction per step, a copy before the first, a newer schema refused."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from runtime.errors import StoreError
from store.faults import MOVE_AWAY
from store.schema import MIGRATIONS

Steps = tuple[tuple[str, ...], ...]
APPLICATION_ID = 0x4C6F6F70
"""Written into the file's header ("Loop"), so that another program's database is never taken for a store."""


def schema_version(connection: sqlite3.Connection) -> int:
    """The schema's number; 0 for an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path, steps: Steps = MIGRATIONS) -> int:
    """Run the missing steps; returns how many this call ran.

    Raises StoreError for a schema newer than these steps and for a database that isn't looptop's.
    """
    present = _checked(connection, path, len(steps))
    if 0 < present < len(steps):
        _copy(connection, path.with_name(f"{path.name}.schema-{present}"))
    ran = 0
    for number in range(present, len(steps)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have come first: the number is read again inside the transaction.
            if schema_version(connection) == number:
                for statement in steps[number]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number + 1}")
                ran += 1
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    _checked(connection, path, len(steps))
    return ran


def _checked(connection: sqlite3.Connection, path: Path, wanted: int) -> int:
    """The schema's number, once it is sure that it can be worked with."""
    connection.execute("BEGIN")
    try:
        present = schema_version(connection)
        mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
        filled = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
    finally:
        connection.execute("COMMIT")
    if mark not in (0, APPLICATION_ID) or (not present and filled):
        raise StoreError(f"{path} is another program's database.", MOVE_AWAY)
    if present > wanted:
        raise StoreError(
            f"The store {path} has schema {present}; this looptop knows up to {wanted}.",
            "Use a newer looptop, or another LOOPTOP_HOME.",
        )
    return present


def _copy(connection: sqlite3.Connection, target: Path) -> None:
    """Keep the database as it is before the steps, whole or not at all."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    os.close(os.open(part, os.O_CREAT | os.O_RDWR | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    try:
        copy = sqlite3.connect(part)
        try:
            connection.backup(copy)
        finally:
            copy.close()
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
