"""A minimal HTTP/1.1 server on the loopback, for scripted model servers: one handler, chunked streaming, nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Received:
    """One request as it came, with its exact body."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """The answering side of one request."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._open = False

    async def answer(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        """Send a whole JSON answer."""
        body = json.dumps(data).encode()
        lines = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        self._head(status, lines)
        self._writer.write(body)
        await self._writer.drain()

    async def begin_stream(self, headers: dict[str, str] | None = None) -> None:
        """Begin a stream of server-sent events."""
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **(headers or {})})
        self._open = True
        await self._writer.drain()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        text = f"HTTP/1.1 {status} Status\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._writer.write(text.encode() + b"\r\n")

    async def event(self, data: Any, name: str | None = None) -> None:
        """Send one event; `data` as JSON unless it is text already."""
        text = data if isinstance(data, str) else json.dumps(data)
        piece = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
        raw = piece.encode("utf-8", "surrogatepass")
        self._writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        await self._writer.drain()

    async def end_stream(self) -> None:
        """End the stream as HTTP wants it."""
        self._writer.write(b"0\r\n\r\n")
        self._open = False
        await self._writer.drain()

    def cut(self) -> None:
        """Drop the connection in the middle."""
        self._writer.transport.abort()


Handler = Callable[[Received, Connection], Awaitable[None]]


@dataclass
class Loopback:
    """Serves a handler on a port of 127.0.0.1 until it is closed."""

    handler: Handler
    port: int = 0
    """0 takes a free one."""
    received: list[Received] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Loopback:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=1 << 26)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer), name="loopback-connection")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader)) is not None:
                self.received.append(request)
                await self.handler(request, Connection(writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received | None:
    line = await reader.readline()
    if not line:
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode().partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)
