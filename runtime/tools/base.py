"""What every tool gets and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtime.events.values import StepStatus
from runtime.process.run import Sandbox

READ_LIMIT = 16_000
"""Characters of one observation that the model reads; the rest is named, not sent."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where a run's tools work. `shown_root` is the path by which the workspace is known to the model and its commands."""

    workspace: Path
    shown_root: Path
    run_id: str
    outputs: Path
    env: Mapping[str, str]
    sandbox: Sandbox | None = None
    shell_timeout_s: float = 120.0
    output_cap_bytes: int = 64 * 1024 * 1024
    protected: tuple[str, ...] = field(default=(".git",))


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call; `content` is what the model reads, never empty."""

    status: StepStatus
    content: str
    exit_code: int | None = None
    duration_ms: int = 0
    dropped_bytes: int = 0


class ToolFault(Exception):
    """The tool could not do what was asked; the message is what the model reads."""


OnOutput = Callable[[str], None]


def clip(text: str, limit: int = READ_LIMIT) -> str:
    """Head and tail of a long text with a line between them that says how much is left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[... {limit:,} of {len(text):,} characters shown ...]\n{text[-tail:]}"
