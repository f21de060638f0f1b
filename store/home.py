"""looptop's own folder and the store's file in it, the user's alone."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.errors import StoreError

SET_HOME = "Set LOOPTOP_HOME to a folder that you can write."

FILE_NAME = "looptop.db"
"""The store, in looptop's home."""


def prepare_home(home: Path, store_file: str) -> None:
    """Make the folder where it is missing. Raises StoreError.

    A folder that looptop made, or that is empty, or holds its store, is closed to others; one that was there for other things
    keeps its mode.
    """
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if home.stat().st_mode & 0o077 and ((home / store_file).exists() or not any(home.iterdir())):
            home.chmod(0o700)
    except OSError as error:
        raise StoreError(f"The folder {home} can't be used: {error.strerror or error}.", SET_HOME) from error
    if not os.access(home, os.W_OK | os.X_OK):
        raise StoreError(f"The folder {home} can't be written.", SET_HOME)


def prepare_file(path: Path) -> None:
    """Make the store's file before SQLite does, so that it and what lies beside it are never readable by others.

    Raises StoreError.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"The store {path} can't be opened: {error.strerror or error}.", SET_HOME) from error
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
    except OSError as error:
        raise StoreError(f"The store {path} can't be closed to others: {error.strerror or error}.", SET_HOME) from error
    finally:
        os.close(descriptor)
