"""A model call while it is under way: what it has cost by now, and the door that keeps its tries back while the run is paused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from runtime.loop.control import Control
from runtime.prompt.estimate import BYTES_PER_TOKEN
from runtime.usage import Usage


@dataclass
class CallInFlight:
    """What is known of a call while it runs."""

    call_id: str
    started_at: datetime
    began: float
    estimate: int
    usage: Usage | None = None
    streamed_bytes: int = 0
    tries: int = 0
    sent: bool = False
    """Whether the present try was sent: while it waits for that, it costs nothing."""
    owes: bool = False
    """Whether an earlier try was billed, so that what was reserved may not cover the call any more."""

    def usage_so_far(self) -> Usage:
        """What the call has cost by now: reported figures exact, the rest estimated and marked."""
        known = self.usage or Usage()
        estimated = set(known.estimated)
        fresh, output = known.input, known.output
        if known.prompt is None:
            fresh = self.estimate
            estimated.add("input")
        streamed = -(-self.streamed_bytes // BYTES_PER_TOKEN)
        if output is None or streamed > output:
            output = streamed
            estimated.add("output")
        return known.model_copy(update={"input": fresh, "output": output, "estimated": tuple(sorted(estimated))})


@dataclass(frozen=True, slots=True)
class CallDoor:
    """Keeps the tries of a call back while the run is paused, and one after a billed try until it is reserved anew.

    Without a control it only notes that they are sent.
    """

    flight: CallInFlight
    control: Control | None = None
    reserve_anew: Callable[[], Awaitable[None]] | None = None

    def admits(self) -> bool:
        """Whether the run isn't paused and nothing is owed; the try counts as sent then."""
        paused = self.control is not None and self.control.paused
        self.flight.sent = not paused and not (self.flight.owes and self.reserve_anew)
        return self.flight.sent

    async def opened(self) -> None:
        """Wait while the run is paused, and reserve what is owed. Raises Aborted, and RunEnds where a budget is reached."""
        if self.control is not None:
            await self.control.gate()
        if self.flight.owes and self.reserve_anew is not None:
            await self.reserve_anew()
            self.flight.owes = False
