"""Limits of a trial: processor time per test, address space, file size, no network."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import struct
import sys

MEMORY_ROOM = 1 << 30
"""How far a trial's address space may grow beyond what the warm session has, in bytes."""
FILE_BYTES = 64 << 20
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
SIOCSIFFLAGS = 0x8914
IFF_UP_RUNNING = 0x41
_LIBC = ctypes.CDLL(None)


def arm(cpu_s: float) -> None:
    """End this process by SIGPROF once it has used so much processor time; 0 disarms."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)


def own_size() -> int:
    """Address space of this process in bytes; 0 where the system doesn't tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def child_limits(address_space: int) -> None:
    """Limits of memory, file size and core dumps for a forked trial; `address_space` is what its parent has (0: no limit)."""
    if address_space:
        _lower(resource.RLIMIT_AS, address_space + MEMORY_ROOM)
    _lower(resource.RLIMIT_FSIZE, FILE_BYTES)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(what, (value, hard))
    except (ValueError, OSError):
        pass


def die_with_parent() -> None:
    """Be ended by the kernel when the parent goes (Linux)."""
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def cut_network() -> bool:
    """Give this process a network namespace with nothing but loopback. False where the system doesn't allow it."""
    if sys.platform != "linux":
        return False
    uid, gid = os.getuid(), os.getgid()
    try:
        flags = CLONE_NEWNET if uid == 0 else CLONE_NEWNET | CLONE_NEWUSER
        if _LIBC.unshare(flags) != 0:
            return False
        if uid != 0:
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{uid} {uid} 1")
            _write("/proc/self/gid_map", f"{gid} {gid} 1")
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", IFF_UP_RUNNING, b""))
        return True
    except (OSError, AttributeError):
        return False


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
