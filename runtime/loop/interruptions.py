"""Typed interruptions of the loop: what ends or cuts the work from outside, with what is to be recorded."""

from __future__ import annotations

from runtime.events.values import StopReason


class RunEnds(Exception):
    """The run ends here, with its one reason and the words for the supervisor."""

    def __init__(self, reason: StopReason, detail: str = "") -> None:
        super().__init__(detail or reason.value)
        self.reason = reason
        self.detail = detail


class Aborted(RunEnds):
    """A supervisor, or the process's own end, aborted the run."""

    def __init__(self, sender: str, why: str = "") -> None:
        super().__init__(StopReason.ABORTED, why or f"aborted by {sender}")
        self.sender = sender
        self.why = why


class Cut(Exception):
    """The operation in flight was cut so that the loop can look at what a supervisor said (pause now, steer now, a time limit)."""
