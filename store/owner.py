"""Which process owns a run, and whether it is still alive: host, process id and the process's start time.

A process of this host is asked for in the process table; one of another host is judged by its heartbeat in the store.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

HEARTBEAT_SECONDS = 15.0
SILENT_SECONDS = 300.0
"""A process of another host that hasn't written its heartbeat for so long is taken for dead; clocks may differ a little."""
SAME_START_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from a later one with the same id by when it started (seconds; by what clock depends on the system)."""

    host: str
    pid: int
    started: float


def _started(pid: int) -> float | None:
    """When a running process started; None where there is none. A zombie runs no more."""
    if pid <= 0:
        return None
    try:
        # Counted from boot: the wall clock, which may be set while we run, has no part in it. The name, which may hold
        # anything, ends with the last parenthesis.
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None if Path("/proc/self/stat").exists() else _started_by_table(pid)


def _started_by_table(pid: int) -> float | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return None


_this: dict[int, Owner] = {}


def this_process() -> Owner:
    """The running process; a forked child is another one."""
    pid = os.getpid()
    if pid not in _this:
        _this[pid] = Owner(socket.gethostname(), pid, _started(pid) or 0.0)
    return _this[pid]


def is_alive(owner: Owner, heartbeat: datetime | None = None, now: datetime | None = None) -> bool | None:
    """Whether the owner still runs; None for one on another host of which nothing is known.

    `heartbeat` is the last sign of life in the store; it is asked only about other hosts, since a process here can be looked up.
    """
    if owner.host != this_process().host:
        if heartbeat is None or now is None:
            return None
        return (now - heartbeat).total_seconds() < SILENT_SECONDS
    started = _started(owner.pid)
    return started is not None and abs(started - owner.started) < SAME_START_SECONDS


def owner_lives(row: Mapping[str, Any] | sqlite3.Row, now: datetime) -> bool | None:
    """Whether the process that a row names (`host`, `pid`, `pid_started`, `heartbeat`) still runs; None where it can't be known."""
    if row["host"] is None or row["pid"] is None:
        return None
    beat = row["heartbeat"]
    owner = Owner(row["host"], row["pid"], row["pid_started"] or 0.0)
    return is_alive(owner, datetime.fromisoformat(beat) if beat else None, now)
