"""A started process whose end tells its exit status and the CPU time of itself and its waited-for children."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from runtime.process.tree import boot_ticks


class Child:
    """A process in a session of its own. It is reaped here and nowhere else, by wait4, which tells its CPU time."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.STDOUT,
    ) -> None:
        """Start it. Raises OSError; must be called from an event loop."""
        self.since = boot_ticks()
        self._popen = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            close_fds=True,
        )
        self.pid = self._popen.pid
        self.returncode: int | None = None
        self.cpu_ms: int | None = None
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._watch()

    @property
    def stdout(self) -> IO[bytes] | None:
        """The reading end of its output pipe."""
        return self._popen.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """The reading end of its error pipe."""
        return self._popen.stderr

    @property
    def stdin(self) -> IO[bytes] | None:
        """The writing end of its input pipe."""
        return self._popen.stdin

    def _watch(self) -> None:
        if hasattr(os, "pidfd_open"):
            descriptor = os.pidfd_open(self.pid)
            self._loop.add_reader(descriptor, self._ready, descriptor)
        else:
            threading.Thread(target=self._wait_in_thread, name=f"wait-{self.pid}", daemon=True).start()

    def _ready(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self._reaped(*os.wait4(self.pid, 0)[1:])

    def _wait_in_thread(self) -> None:
        status, usage = os.wait4(self.pid, 0)[1:]
        self._loop.call_soon_threadsafe(self._reaped, status, usage)

    def _reaped(self, status: int, usage: object) -> None:
        self.returncode = os.waitstatus_to_exitcode(status)
        # Popen must not try to wait for it again.
        self._popen.returncode = self.returncode
        self.cpu_ms = int((getattr(usage, "ru_utime", 0.0) + getattr(usage, "ru_stime", 0.0)) * 1000)
        if not self._ended.done():
            self._ended.set_result(None)

    async def wait(self) -> int:
        """Its exit status; negative is the signal that ended it."""
        await asyncio.shield(self._ended)
        assert self.returncode is not None
        return self.returncode

    def close(self) -> None:
        """Close our ends of its pipes."""
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()


class PipeReader:
    """Reads a pipe without blocking the event loop."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._fd = pipe.fileno()
        os.set_blocking(self._fd, False)
        self._loop = asyncio.get_running_loop()

    async def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end."""
        while True:
            try:
                return os.read(self._fd, size)
            except BlockingIOError:
                await self._readable()
            except OSError:
                return b""

    async def _readable(self) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        self._loop.add_reader(self._fd, wake)
        try:
            await ready
        finally:
            self._loop.remove_reader(self._fd)
