"""Sends one command to the process that hosts a run, and waits for its answer."""

from __future__ import annotations

import socket
from pathlib import Path

from runtime.commands import Command
from runtime.errors import EnvironmentFault, UsageError
from runtime.sockets.places import address_of, sockets_of
from runtime.sockets.wire import LINE_BYTES, Answered, question, read_answer

ANSWER_SECONDS = 10.0


def send_command(home: Path, pid: int, run: str, command: Command, timeout_s: float = ANSWER_SECONDS) -> Answered:
    """Send a command to a run that process `pid` of this machine hosts; returns the answering event.

    Raises UsageError for what is wrong with the command, EnvironmentFault where nobody answers.
    """
    line = question(run, command)
    refused: UsageError | None = None
    for path in sockets_of(home, pid):
        try:
            return read_answer(_asked(path, line, timeout_s))
        except UsageError as error:
            # The process may host runs at several sockets; only one of them has this one.
            refused = error
        except (ConnectionError, FileNotFoundError):
            continue
        except OSError as error:
            why = "took too long" if isinstance(error, TimeoutError) else f"failed: {error.strerror or error}"
            raise EnvironmentFault(f"The answer of process {pid} for run {run} {why}.") from error
    if refused is not None:
        raise refused
    raise EnvironmentFault(f"Process {pid}, which hosts run {run}, takes no commands.", "It may be ending just now.")


def _asked(path: Path, line: bytes, timeout_s: float) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(timeout_s)
        with address_of(path) as address:
            peer.connect(address)
        peer.sendall(line)
        received = bytearray()
        while b"\n" not in received:
            piece = peer.recv(64 * 1024)
            if not piece:
                raise ConnectionResetError
            received += piece
            if len(received) > 2 * LINE_BYTES:
                break
        return bytes(received.partition(b"\n")[0])
