"""Find and end a whole process tree: its group, its descendants, and what carries the run's marker in its environment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

MARKER = "LOOPTOP_RUN"
STEP_MARKER = "LOOPTOP_STEP"
TERM_GRACE_S = 0.3
KILL_GRACE_S = 1.5
POLL_S = 0.02
_PROC = Path("/proc")


def _stat(pid: int) -> tuple[int, int, str] | None:
    """Parent, session and state of a process; None when it is gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[1]), int(fields[3]), fields[0]


def _pids() -> list[int]:
    if sys.platform != "linux":
        import psutil

        return [int(pid) for pid in psutil.pids()]
    return [int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit()]


def _alive(pid: int) -> bool:
    if sys.platform != "linux":
        import psutil

        with contextlib.suppress(psutil.Error):
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        return False
    found = _stat(pid)
    return found is not None and found[2] not in "ZX"


def _environ_has(pid: int, needle: bytes) -> bool:
    if sys.platform != "linux":
        import psutil

        name, _, value = needle.decode().partition("=")
        with contextlib.suppress(psutil.Error):
            return bool(psutil.Process(pid).environ().get(name) == value)
        return False
    try:
        return needle in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def find_marked(value: str, name: str = MARKER) -> list[int]:
    """Processes of ours whose environment carries the marker, this one apart."""
    needle = f"{name}={value}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and _environ_has(pid, needle) and _alive(pid)]


def _group_and_descendants(root: int) -> set[int]:
    """Processes of the root's session, and its descendants by parent."""
    if sys.platform != "linux":
        import psutil

        with contextlib.suppress(psutil.Error):
            return {root, *(child.pid for child in psutil.Process(root).children(recursive=True))}
        return {root}
    parents: dict[int, int] = {}
    members: set[int] = set()
    for pid in _pids():
        found = _stat(pid)
        if found is None or found[2] in "ZX":
            continue
        parents[pid] = found[0]
        if found[1] == root:
            members.add(pid)
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent == root or parent in members} - members
        grown = bool(more)
        members |= more
    if root in parents:
        members.add(root)
    return members


def tree_of(root: int, step_marker: str = "") -> set[int]:
    """Every live process that began with `root`, also those in a session of their own that carry the step's marker."""
    found = _group_and_descendants(root)
    if step_marker:
        found |= set(find_marked(step_marker, STEP_MARKER))
    found.discard(os.getpid())
    return found


def _signal(pids: Iterable[int], signum: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


async def end_tree(root: int, step_marker: str = "", grace_s: float = TERM_GRACE_S) -> tuple[int, tuple[int, ...]]:
    """End a tree within two seconds: asked first, then killed. Returns how many were ended and the ids that survived."""
    first = tree_of(root, step_marker)
    if not first:
        return 0, ()
    ended = set(first)
    _signal(first, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    # The end of somebody else's child can't be awaited, only looked for.
    while any(_alive(pid) for pid in first) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)
    deadline = time.monotonic() + KILL_GRACE_S
    while left := tree_of(root, step_marker) | {pid for pid in ended if _alive(pid)}:
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
