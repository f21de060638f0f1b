"""Run one command to its end: own process group, no terminal, capped output, and the whole tree ended on timeout or cancellation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol


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
