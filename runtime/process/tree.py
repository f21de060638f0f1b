"""Find and end a whole process tree: its group, its descendants, and what carries the run's marker in its environment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MARKER = "LOOPTOP_RUN"
STEP_MARKER = "LOOPTOP_STEP"
TERM_GRACE_S = 0.3
KILL_GRACE_S = 1.5
POLL_S = 0.02
_PROC = "/proc"


def boot_ticks() -> int:
    """Now in the unit of a process's start time, a little early: whatever is begun from here on starts at it or after it."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) - 1


@dataclass(frozen=True, slots=True)
class _Stat:
    parent: int
    session: int
    state: str
    started: int
    """Clock ticks since the system's start."""


def _read(pid: int, name: str) -> bytes:
    """A file of a process, whole. Bare calls: all of /proc is read after every command. Raises OSError."""
    descriptor = os.open(f"{_PROC}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        read = os.read(descriptor, 1 << 16)
        while more := os.read(descriptor, 1 << 16):
            read += more
        return read
    finally:
        os.close(descriptor)


def _stat(pid: int) -> _Stat | None:
    """Where a process stands; None when it is gone."""
    try:
        fields = _read(pid, "stat").rpartition(b")")[2].split()
    except OSError:
        return None
    return _Stat(int(fields[1]), int(fields[3]), fields[0].decode(), int(fields[19]))


def _pids() -> list[int]:
    if sys.platform != "linux":
        import psutil

        return [int(pid) for pid in psutil.pids()]
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]


def _alive(pid: int) -> bool:
    if sys.platform != "linux":
        import psutil

        with contextlib.suppress(psutil.Error):
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        return False
    found = _stat(pid)
    return found is not None and found.state not in "ZX"


def _environ_has(pid: int, needle: bytes) -> bool:
    if sys.platform != "linux":
        import psutil

        name, _, value = needle.decode().partition("=")
        with contextlib.suppress(psutil.Error):
            return bool(psutil.Process(pid).environ().get(name) == value)
        return False
    try:
        return needle in _read(pid, "environ").split(b"\0")
    except OSError:
        return False


def find_marked(value: str, name: str = MARKER) -> list[int]:
    """Processes of ours whose environment carries the marker, this one apart."""
    needle = f"{name}={value}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and _environ_has(pid, needle) and _alive(pid)]


def _group_and_descendants(root: int, live: Mapping[int, _Stat]) -> set[int]:
    """Processes of the root's session, and its descendants by parent."""
    members = {pid for pid, stat in live.items() if stat.session == root}
    grown = True
    while grown:
        more = {pid for pid, stat in live.items() if stat.parent == root or stat.parent in members} - members
        grown = bool(more)
        members |= more
    if root in live:
        members.add(root)
    return members


def _by_psutil(root: int) -> set[int]:
    import psutil

    with contextlib.suppress(psutil.Error):
        return {root, *(child.pid for child in psutil.Process(root).children(recursive=True))}
    return {root}


def tree_of(root: int, step_marker: str = "", since: int = 0) -> set[int]:
    """Every live process that began with `root`, also those in a session of their own that carry the step's marker.

    The marker was made at `since`, in ticks: what is older than that can't carry it and isn't asked.
    """
    if sys.platform != "linux":
        found = _by_psutil(root) | set(find_marked(step_marker, STEP_MARKER) if step_marker else ())
    else:
        stats = ((pid, _stat(pid)) for pid in _pids())
        live = {pid: stat for pid, stat in stats if stat is not None and stat.state not in "ZX"}
        found = _group_and_descendants(root, live)
        if step_marker:
            needle = f"{STEP_MARKER}={step_marker}".encode()
            found |= {pid for pid, stat in live.items() if stat.started >= since and _environ_has(pid, needle)}
    found.discard(os.getpid())
    return found


def _signal(pids: Iterable[int], signum: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


async def end_tree(
    root: int, step_marker: str = "", grace_s: float = TERM_GRACE_S, since: int = 0
) -> tuple[int, tuple[int, ...]]:
    """End a tree within two seconds: asked first, then killed. Returns how many were ended and the ids that survived."""
    first = tree_of(root, step_marker, since)
    if not first:
        return 0, ()
    ended = set(first)
    _signal(first, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    # The end of somebody else's child can't be awaited, only looked for.
    while any(_alive(pid) for pid in first) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)
    deadline = time.monotonic() + KILL_GRACE_S
    while left := tree_of(root, step_marker, since) | {pid for pid in ended if _alive(pid)}:
        ended |= left
        _signal(left, signal.SIGKILL)
        if time.monotonic() >= deadline:
            break
        await asyncio.sleep(POLL_S)
    survivors = tuple(sorted(pid for pid in ended if _alive(pid)))
    return len(ended) - len(survivors), survivors


async def reap_run(run_id: str) -> tuple[int, tuple[int, ...]]:
    """End whatever a dead worker left running for a run. Returns how many were ended and the ids that survived."""
    ended: set[int] = set()
    deadline = time.monotonic() + TERM_GRACE_S + KILL_GRACE_S
    while (left := find_marked(run_id)) and time.monotonic() < deadline:
        ended |= set(left)
        _signal(left, signal.SIGKILL)
        await asyncio.sleep(POLL_S)
    survivors = tuple(find_marked(run_id))
    return len(ended) - len(survivors), survivors
