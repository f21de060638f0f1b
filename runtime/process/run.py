"""Run one command to its end: own process group, no terminal, capped output, and the whole tree ended on timeout or cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from runtime.process.child import Child, PipeReader
from runtime.process.output import Output
from runtime.process.tree import KILL_GRACE_S, MARKER, STEP_MARKER, end_tree

READ_BYTES = 65_536
DRAIN_S = 0.2


class Ending(StrEnum):
    """How a process came to its end."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    OUTPUT_LIMIT = "output_limit"
    NOT_STARTED = "not_started"


class Sandbox(Protocol):
    """Wraps a command so that it can do less; `describe` says in words what is enforced and what isn't."""

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[list[str], Path, dict[str, str]]:
        """Return the command, folder and environment to start instead."""
        ...

    def describe(self) -> str:
        """One sentence for the supervisor."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What to run. `argv` is executed as it is; a shell command is `shell_argv(text)`."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    timeout_s: float
    run_id: str
    output_path: Path | None = None
    """Where the merged output is kept; `None` keeps head and tail in memory only."""
    output_cap_bytes: int = 64 * 1024 * 1024
    memory_cap_bytes: int = 256 * 1024
    """How much of head and of tail is kept in memory, each."""
    sandbox: Sandbox | None = None
    on_output: Callable[[str], None] | None = field(default=None, compare=False)
    """Called with decoded output as it comes, in bounded pieces; must not block."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What came of a command. `dropped_bytes` is what went over the cap and is kept nowhere."""

    ending: Ending
    exit_code: int | None
    head: str
    tail: str
    total_bytes: int
    dropped_bytes: int
    wall_ms: int
    cpu_ms: int | None
    error: str = ""
    """Why it couldn't start, in words."""
    survivors: tuple[int, ...] = ()
    """Process ids that could not be ended."""


def shell_argv(text: str) -> list[str]:
    """The command that runs a shell line with pipefail, so that a failing part of a pipeline is not hidden by what follows."""
    bash = shutil.which("bash")
    if bash:
        return [bash, "-o", "pipefail", "-c", text]
    return ["/bin/sh", "-c", text]


def start(argv: Sequence[str], cwd: Path, env: Mapping[str, str], sandbox: Sandbox | None, **pipes: int) -> Child:
    """Start a process in a session of its own, without a terminal. Raises OSError."""
    if sandbox is not None:
        argv, cwd, env = sandbox.wrap(argv, cwd, env)
    return Child(argv, cwd, env, **pipes)


async def run_process(spec: ProcessSpec) -> ProcessResult:
    """Run one command to its end. However it ends, none of its processes is left and what it printed is kept.

    A cancellation ends the tree first and is then raised.
    """
    began = time.monotonic()
    marker = secrets.token_hex(8)
    env = {**spec.env, MARKER: spec.run_id, STEP_MARKER: marker}
    # Opened first: the command may look for its own output.
    output = Output(spec.output_path, spec.output_cap_bytes, spec.memory_cap_bytes, spec.on_output)
    try:
        child = start(spec.argv, spec.cwd, env, spec.sandbox)
    except (OSError, ValueError) as error:
        output.close()
        return ProcessResult(Ending.NOT_STARTED, None, "", "", 0, 0, 0, None, error=f"{spec.argv[0]}: {_why(error)}")
    try:
        ending = await _wait(child, output, spec.timeout_s)
    finally:
        # Shielded: a second cancellation must not leave the tree alive.
        ended = asyncio.ensure_future(end_child(child, marker))
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            await ended
            raise
        finally:
            output.close()
    code = child.returncode
    return ProcessResult(
        ending=ending,
        exit_code=None if code is None or ending is not Ending.EXITED else (128 - code if code < 0 else code),
        head=output.head,
        tail=output.tail,
        total_bytes=output.total,
        dropped_bytes=output.dropped,
        wall_ms=int((time.monotonic() - began) * 1000),
        # Of a tree that was killed only a part was waited for.
        cpu_ms=child.cpu_ms if ending is Ending.EXITED else None,
        error=output.error,
        survivors=ended.result(),
    )


async def _wait(child: Child, output: Output, timeout_s: float) -> Ending:
    """Read until the process has exited, its time is up, or it wrote too much."""
    assert child.stdout is not None
    reading = asyncio.ensure_future(_read(PipeReader(child.stdout), output))
    exited = asyncio.ensure_future(child.wait())
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.wait([reading, exited], return_when=asyncio.FIRST_COMPLETED)
            if not (reading.done() and output.overflowed):
                await exited
        # What it wrote last is still in the pipe; a child left behind may hold the pipe open for ever.
        await asyncio.wait([reading], timeout=DRAIN_S)
        return Ending.OUTPUT_LIMIT if output.overflowed else Ending.EXITED
    except TimeoutError:
        return Ending.TIMED_OUT
    finally:
        for task in (reading, exited):
            task.cancel()
        await asyncio.gather(reading, exited, return_exceptions=True)


async def _read(pipe: PipeReader, output: Output) -> None:
    while not output.overflowed:
        data = await pipe.read(READ_BYTES)
        if not data:
            return
        output.add(data)
        # Let others run: a pipe that is never empty would keep the loop to itself.
        await asyncio.sleep(0)


async def end_child(child: Child, marker: str = "") -> tuple[int, ...]:
    """End what is left of a child's tree and reap it; returns the ids of survivors."""
    _, survivors = await end_tree(child.pid, marker, since=child.since)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILL_GRACE_S):
            await child.wait()
    child.close()
    return survivors


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
