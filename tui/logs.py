"""The log: one file under LOOPTOP_HOME, the user's alone, bounded, without secrets. Nothing is made before something is to be said."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path

from runtime.text import Masker, secret_values

NAME = "looptop.log"
MOST_BYTES = 4 * 2**20
"""A log beyond this begins anew; the one before is kept beside it."""


def log_file(home: Path) -> Path:
    """Where the log is."""
    return home / "logs" / NAME


def write_log(home: Path, env: Mapping[str, str], text: str) -> Path | None:
    """Append a text to the log, masked; returns its path, or None where it can't be written."""
    from runtime.errors import StoreError
    from store.home import FILE_NAME, prepare_home

    path = log_file(home)
    try:
        prepare_home(home, FILE_NAME)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        if path.exists() and path.stat().st_size > MOST_BYTES:
            path.replace(path.with_suffix(".log.1"))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
            file.write(Masker(secret_values(env)).mask(text.rstrip("\n") + "\n"))
    except (OSError, StoreError):
        return None
    return path


class HomeLog(logging.Handler):
    """Sends what any part logs to the file, so that no traceback reaches the terminal."""

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        super().__init__(logging.WARNING)
        self._home = home
        self._env = env
        formatter = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
        formatter.converter = time.gmtime
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; a full disk is no reason to stop."""
        write_log(self._home, self._env, self.format(record))


def keep_log(home: Path, env: Mapping[str, str]) -> None:
    """Log to the file from now on, once per process."""
    logging.raiseExceptions = False
    root = logging.getLogger()
    if not any(isinstance(handler, HomeLog) for handler in root.handlers):
        root.addHandler(HomeLog(home, env))
