"""A headless run in a process of its own whose events are read as they come; it may be killed at any of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from runtime.events.base import Event
from runtime.events.codec import event_from_json
from support.cli import ROOT, clean_environment

KEY = "sk-ant-test-key-of-no-use-at-all"
WAIT_S = 90.0


@dataclass
class Headless:
    """A `looptop ... --json` under way."""

    process: asyncio.subprocess.Process
    events: list[Event] = field(default_factory=list)

    @property
    def run(self) -> str:
        """The run's id."""
        return self.events[0].run

    @property
    def pid(self) -> int:
        return self.process.pid

    async def until(self, wanted: Callable[[Event], bool]) -> Event:
        """Read on until an event is as wanted."""
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT_S):
            while line := await self.process.stdout.readline():
                event = event_from_json(line)
                self.events.append(event)
                if wanted(event):
                    return event
        raise AssertionError(f"it ended before that: {[event.type for event in self.events]}, {await self.errors()}")

    async def until_type(self, name: str) -> Event:
        """Read on until an event of a type."""
        return await self.until(lambda event: event.type == name)

    async def kill(self) -> None:
        """SIGKILL, at once."""
        self.process.kill()
        await self.process.wait()

    async def end(self) -> int:
        """Read to the end; returns the exit code."""
        with suppress(AssertionError):
            await self.until(lambda _: False)
        return await asyncio.wait_for(self.process.wait(), WAIT_S)

    async def errors(self) -> str:
        """What was printed on stderr, once it has ended."""
        assert self.process.stderr is not None
        return (await asyncio.wait_for(self.process.stderr.read(), WAIT_S)).decode()


def environment(folder: Path, url: str = "", **more: str) -> dict[str, str]:
    """What a process needs to find the home in `folder` and a scripted server."""
    wire = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url} if url else {}
    return {**clean_environment(folder), "PYTHONPATH": str(ROOT), **wire, **more}


@asynccontextmanager
async def spawned(args: tuple[str, ...], env: Mapping[str, str], folder: Path) -> AsyncIterator[Headless]:
    """Start looptop with `--json`; it is killed on leaving where it still runs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "tui", *args, "--json"),
        env=dict(env),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    try:
        yield Headless(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def looptop(args: tuple[str, ...], env: Mapping[str, str], folder: Path) -> tuple[int, str, str]:
    """Call looptop whole; returns its exit code and what it printed on stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "tui", *args),
        env=dict(env),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()
