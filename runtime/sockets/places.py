"""Where the sockets lie: a folder that only its user can enter, a short name per hosting process, dead ones cleaned away."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import EnvironmentFault

FOLDER = "sockets"
LONGEST_ADDRESS = 100
"""Bytes; `sun_path` holds 108 on Linux and 104 on macOS and the BSDs, its end mark included."""


def _host() -> str:
    """A few characters for this machine: a home folder may be shared with others, whose sockets aren't ours to judge."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]


def sockets_of(home: Path, pid: int) -> list[Path]:
    """The sockets that a process of this machine has in a home; several where it hosts runs several times."""
    return sorted((home / FOLDER).glob(f"{_host()}-{pid}-*.sock"))


def new_socket_path(home: Path) -> Path:
    """A free name for a socket of this process, in a folder of the user's alone. Raises EnvironmentFault."""
    folder = home / FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise EnvironmentFault(f"The folder {folder} can't be used: {error.strerror or error}.") from error
    return folder / f"{_host()}-{os.getpid()}-{secrets.token_hex(2)}.sock"


@contextmanager
def address_of(path: Path) -> Iterator[str]:
    """An address for `bind` or `connect` that fits, however long the path is. Raises EnvironmentFault where there is none."""
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        yield str(path)
        return
    if sys.platform != "linux":
        raise EnvironmentFault(f"The path {path} is too long for a socket.", "Set LOOPTOP_HOME to a shorter one.")
    # The system's own name for an open folder is short.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def is_dead(path: Path) -> bool:
    """Whether nobody listens at a socket's path any more."""
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.setblocking(False)
        with address_of(path) as address:
            probe.connect(address)
    except OSError as error:
        return error.errno == errno.ECONNREFUSED
    except EnvironmentFault:
        return False
    finally:
        probe.close()
    return False


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def clean_stale(home: Path) -> list[Path]:
    """Remove what dead processes of this machine left; returns it.

    A process that runs may have a socket at which it doesn't listen yet: its files stay, except for our own, which are older ones
    of another process that had the same id.
    """
    removed = []
    for path in (home / FOLDER).glob(f"{_host()}-*-*.sock"):
        number = path.name.split("-")[1]
        if not number.isdigit() or (int(number) != os.getpid() and _runs(int(number))):
            continue
        if is_dead(path):
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
    return removed
