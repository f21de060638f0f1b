"""What SQLite's errors mean, in words: which filesystem needs what, or what is wrong with the file."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from runtime.errors import StoreError
from runtime.ports import RecordBlocked

BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
MOVE_AWAY = "Move it away, or set LOOPTOP_HOME to another folder."


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code of an error; -1 where Python made it up itself."""
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF if hasattr(error, "sqlite_errorcode") else -1


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection stands in the way for the moment."""
    return primary_code(error) in BUSY


def free_space(folder: Path) -> str:
    """What is free on a folder's filesystem, in words."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return "free space unknown"
    return f"{free / 1_000_000:,.1f} MB free"


def fault_of(error: sqlite3.Error, path: Path) -> StoreError:
    """The error to raise: RecordBlocked for what may pass, StoreError for what won't."""
    folder, code = path.parent, primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return RecordBlocked(
            f"The filesystem of {folder} has no room for looptop's record ({free_space(folder)}).",
            "Free some space there.",
        )
    if code == sqlite3.SQLITE_READONLY:
        return RecordBlocked(f"The store {path} can't be written: it is read-only.", f"Make {folder} writable.")
    if code == sqlite3.SQLITE_IOERR:
        return RecordBlocked(
            f"The filesystem of {folder} failed while looptop wrote its record ({free_space(folder)}).",
            "Check the disk and its quota.",
        )
    if code == sqlite3.SQLITE_CANTOPEN:
        return RecordBlocked(f"The store {path} can't be reached any more.", f"Make {folder} available and writable.")
    if code in BUSY:
        return RecordBlocked(
            f"Another process has kept the store {path} to itself for too long.", "End it, or let it finish."
        )
    if code in _DAMAGED:
        return damaged(error, path)
    if code == sqlite3.SQLITE_INTERRUPT:
        return StoreError(f"A query on the store {path} took too long and was ended.", "Ask for less at a time.")
    return StoreError(f"The store {path} failed: {error}.")


def damaged(error: sqlite3.Error, path: Path) -> StoreError:
    """A file that isn't a database, or is one no more."""
    if primary_code(error) == sqlite3.SQLITE_NOTADB:
        return StoreError(f"The store {path} is not a database.", MOVE_AWAY)
    return StoreError(
        f"The store {path} is damaged ({error}).", f"Put a copy of it back, or move it away: {path.name}."
    )
