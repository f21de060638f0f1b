"""A long-lived child that is spoken to over its stdin and stdout, line by line; ended with its whole tree like any other."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.process.child import Child, PipeReader
from runtime.process.run import end_child
from runtime.process.tree import STEP_MARKER

READ_BYTES = 1 << 18


class PipeChild:
    """A running child. `end` must be awaited in the end; nothing of its tree is left then."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        """Start it. Raises OSError; must be called from an event loop."""
        import subprocess

        self._marker = secrets.token_hex(8)
        marked = {**env, STEP_MARKER: self._marker}
        self._child = Child(argv, cwd, marked, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._reader = PipeReader(self._child.stdout)
        self._in = self._child.stdin.fileno()
        os.set_blocking(self._in, False)
        self._buffer = b""
        self._lines: list[bytes] = []

    @property
    def pid(self) -> int:
        """The child's process id, which is its group's and session's too."""
        return self._child.pid

    async def send(self, data: bytes) -> None:
        """Write all of it. Raises BrokenPipeError where the child has gone."""
        while data:
            try:
                data = data[os.write(self._in, data) :]
            except BlockingIOError:
                await self._writable()

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_writer(self._in, wake)
        try:
            await ready
        finally:
            loop.remove_writer(self._in)

    async def line(self) -> bytes:
        """The next line without its end; empty once the child has closed its output."""
        while not self._lines:
            data = await self._reader.read(READ_BYTES)
            if not data:
                return b""
            *self._lines, self._buffer = (self._buffer + data).split(b"\n")
            self._lines = [line for line in self._lines if line]
        return self._lines.pop(0)

    async def end(self) -> tuple[int, ...]:
        """End the child and whatever it started; returns the ids of survivors."""
        return await asyncio.shield(asyncio.ensure_future(end_child(self._child, self._marker)))
