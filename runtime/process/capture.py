"""Run one short command of our own (git, a probe) and take its two streams apart, as bytes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.process.child import Child
from runtime.process.run import end_child


@dataclass(frozen=True, slots=True)
class Captured:
    """Exit status and streams of a finished command; `timed_out` where it was ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


async def capture(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, stdin: bytes = b"", timeout_s: float = 60.0
) -> Captured:
    """Run a command to its end; its tree is ended on timeout and on cancellation. Raises OSError where it can't start."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        child = Child(argv, cwd, env, stdin=given.fileno(), stdout=out.fileno(), stderr=err.fileno())
        timed_out = False
        try:
            async with asyncio.timeout(timeout_s):
                await child.wait()
        except TimeoutError:
            timed_out = True
        finally:
            if child.returncode is None:
                await asyncio.shield(asyncio.ensure_future(end_child(child)))
        out.seek(0)
        err.seek(0)
        return Captured(child.returncode if child.returncode is not None else -1, out.read(), err.read(), timed_out)
