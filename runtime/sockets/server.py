"""The socket of a process that hosts runs. Whatever a client sends or leaves out, runs and other clients don't notice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

from runtime.commands import Command
from runtime.errors import EnvironmentFault, LooptopError, UsageError
from runtime.sockets.places import address_of, clean_stale, new_socket_path
from runtime.sockets.wire import LINE_BYTES, Answered, answer, failure, read_question

log = logging.getLogger(__name__)
Take = Callable[[str, Command], Awaitable[Answered]]
"""Gives a run a command and returns the answering event. Raises LooptopError where there is no such run here."""
LINE_SECONDS = 10.0
"""How long a client may take for a line, and for reading its answer."""
MOST_CLIENTS = 64
DRAINED_BYTES = 64 * 1024 * 1024
"""How much of a line that is too long is read away, so that its sender can read the answer."""


class CommandServer:
    """Listens from `open` to `close`."""

    def __init__(self, home: Path, take: Take, line_seconds: float = LINE_SECONDS) -> None:
        self._home = home
        self._take = take
        self._line_seconds = line_seconds
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self.path: Path | None = None

    async def open(self) -> Path:
        """Listen; returns the socket's path. Raises EnvironmentFault."""
        path = new_socket_path(self._home)
        clean_stale(self._home)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with address_of(path) as address:
                listener.bind(address)
            path.chmod(0o600)
            listener.listen(MOST_CLIENTS)
            listener.setblocking(False)
            self._server = await asyncio.start_unix_server(self._connected, sock=listener, limit=LINE_BYTES)
        except OSError as error:
            listener.close()
            raise EnvironmentFault(f"The socket {path} can't be opened: {error.strerror or error}.") from error
        self.path = path
        return path

    async def close(self) -> None:
        """Listen no more; clients that still wait are let go."""
        if self._server is not None:
            self._server.close()
        for task in self._clients:
            task.cancel()
        if self._clients:
            await asyncio.wait(self._clients)
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        # Waiting for the drain then means that the answer has left.
        writer.transport.set_write_buffer_limits(high=0)
        try:
            if not _same_user(writer):
                log.warning("a process of another user was refused at the command socket")
            elif len(self._clients) > MOST_CLIENTS:
                await self._say(writer, failure(EnvironmentFault("Too many clients at once.", "Try again.")))
            else:
                await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            # It went away, or took too long; what it had said whole was answered.
            pass
        except asyncio.CancelledError:
            # Only `close` cancels, and the stream's own callback would report it as an error.
            pass
        finally:
            self._clients.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with asyncio.timeout(self._line_seconds):
                try:
                    line = await reader.readuntil(b"\n")
                except asyncio.LimitOverrunError:
                    error = UsageError(f"A line came that is longer than {LINE_BYTES // 1024} KiB.")
                    await self._say(writer, failure(error))
                    await _read_away(reader)
                    return
            await self._say(writer, await self._answer(line))

    async def _answer(self, line: bytes) -> bytes:
        try:
            run, command = read_question(line)
            return answer(await self._take(run, command))
        except LooptopError as error:
            return failure(error)
        except Exception as error:
            log.exception("a command could not be taken")
            return failure(EnvironmentFault(f"looptop itself failed: {type(error).__name__}; its log has the details."))

    async def _say(self, writer: asyncio.StreamWriter, line: bytes) -> None:
        writer.write(line)
        async with asyncio.timeout(self._line_seconds):
            await writer.drain()


async def _read_away(reader: asyncio.StreamReader) -> None:
    read = 0
    while read < DRAINED_BYTES and (piece := await reader.read(LINE_BYTES)):
        read += len(piece)


def _same_user(writer: asyncio.StreamWriter) -> bool:
    """Whether the peer is a process of the same user, where the system tells; the folder's mode keeps others out everywhere."""
    peer = writer.get_extra_info("socket")
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None or peer is None:
        return True
    _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return bool(uid == os.getuid())
