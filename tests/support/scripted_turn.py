"""One answer of a scripted server, and short ways to write it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

FAULTS = frozenset(
    {
        "",
        "no answer",  # the connection is cut before anything is answered
        "cut",  # the connection is cut inside the first block
        "error",  # an error event in the middle, of the type `error`
        "no end",  # the stream ends in order, but without its last events
        "block not closed",  # the blocks' ends are missing
        "not json",  # an event whose data isn't JSON
        "silent",  # after the blocks nothing comes any more, not even the end
        "whole",  # a chat answer that isn't a stream, though one was asked for
    }
)


@dataclass
class Turn:
    """One answer. `blocks` as the Messages API has them; a tool call's `raw` is sent instead of its input."""

    blocks: list[dict[str, Any]] = field(default_factory=list)
    stop: str | None = "end_turn"
    usage: list[dict[str, Any]] | None = None
    """Usage objects instead of the simulated ones: the first for the start event, the others for deltas."""
    status: int = 200
    error: str = "overloaded_error"
    words: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    """One of FAULTS."""
    begin: asyncio.Event | None = None
    """Waited for before the answer begins."""
    gate: asyncio.Event | None = None
    """Waited for in the middle of the stream."""
    output_tokens: int = 20

    def __post_init__(self) -> None:
        if self.fault not in FAULTS:
            raise ValueError(f"no such fault: {self.fault}")


def text(words: str, stop: str = "end_turn", **more: Any) -> Turn:
    """A turn of text."""
    return Turn([{"type": "text", "text": words}], stop, **more)


def call(name: str, call_id: str = "toolu_1", /, **arguments: Any) -> Turn:
    """A turn with one tool call."""
    return Turn([{"type": "tool_use", "id": call_id, "name": name, "input": arguments}], "tool_use")


def refuse(status: int, error: str = "overloaded_error", **headers: str) -> Turn:
    """A turn that is refused with a status."""
    return Turn(status=status, error=error, headers={name.replace("_", "-"): value for name, value in headers.items()})
