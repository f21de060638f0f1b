"""Which process owns a run, and whether it is still alive: host, process id and the process's start time."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from a later one with the same id by when it started (seconds since the epoch)."""

    host: str
    pid: int
    started: float


def _started(pid: int) -> float | None:
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


@cache
def this_process() -> Owner:
    """The running process."""
    return Owner(socket.gethostname(), os.getpid(), _started(os.getpid()) or 0.0)


def is_alive(owner: Owner) -> bool | None:
    """Whether the owner still runs; None for one on another host, which can't be seen from here."""
    if owner.host != socket.gethostname():
        return None
    started = _started(owner.pid)
    return started is not None and abs(started - owner.started) < 1.0
