"""Events of supervision: commands and their answers, limits, holds, pauses, approvals, aborts, trouble with the record."""

from __future__ import annotations

from typing import ClassVar, Literal

from runtime.events.base import Event
from runtime.events.values import AbortReceipt, HoldReason


class CommandAccepted(Event):
    """A command took effect, with the value before and after it in words."""

    durable: ClassVar[bool] = True
    type: Literal["command_accepted"] = "command_accepted"
    command_id: str
    command: str
    sender: str
    reason: str = ""
    old: str | None = None
    new: str | None = None
    effect: str = ""


class CommandRefused(Event):
    """A command had no effect, and why."""

    durable: ClassVar[bool] = True
    type: Literal["command_refused"] = "command_refused"
    command_id: str
    command: str
    sender: str
    reason: str = ""
    why: str


class CapChanged(Event):
    """The retry cap of the present leg changed."""

    type: Literal["cap_changed"] = "cap_changed"
    old: int
    new: int
    source: str


class BudgetChanged(Event):
    """A budget changed; None is off. Units by kind: tokens, micro-dollars, seconds."""

    type: Literal["budget_changed"] = "budget_changed"
    kind: Literal["tokens", "micros", "seconds"]
    old: float | None
    new: float | None


class SteerQueued(Event):
    """A steering message waits for its delivery."""

    type: Literal["steer_queued"] = "steer_queued"
    command_id: str
    sender: str
    text: str
    when: Literal["now", "next_attempt"]


class SteerDelivered(Event):
    """A steering message reached the model in round `round`, or was dropped because the run ended."""

    type: Literal["steer_delivered"] = "steer_delivered"
    command_id: str
    round: int | None
    dropped: str = ""


class ApprovalRequested(Event):
    """A tool call waits for the supervisor. `hidden` counts characters that don't show."""

    type: Literal["approval_requested"] = "approval_requested"
    step: int
    tool: str
    command: str
    why: str
    hidden: int = 0


class ApprovalGiven(Event):
    """A waiting tool call was approved or denied."""

    type: Literal["approval_given"] = "approval_given"
    step: int
    approved: bool
    sender: str
    reason: str = ""


class RunHeld(Event):
    """The runtime waits for a decision. `ends_with` names the commands that end the hold."""

    type: Literal["run_held"] = "run_held"
    why: HoldReason
    text: str
    ends_with: tuple[str, ...] = ()
    until_mono_ms: int | None = None


class RunPaused(Event):
    """A supervisor paused the run."""

    type: Literal["run_paused"] = "run_paused"
    sender: str = ""
    reason: str = ""
    now: bool = False


class RunResumed(Event):
    """A hold or a pause ended; or an interrupted run goes on in a new process (`resumed`)."""

    type: Literal["run_resumed"] = "run_resumed"
    sender: str = ""
    from_hold: bool = False
    resumed: bool = False
    held_ms: int = 0


class RunAborted(Event):
    """The receipt of an abort. A run_finished follows."""

    durable: ClassVar[bool] = True
    type: Literal["run_aborted"] = "run_aborted"
    sender: str = ""
    reason: str = ""
    receipt: AbortReceipt


class Notice(Event):
    """A sentence for the supervisor that changes nothing."""

    type: Literal["notice"] = "notice"
    level: Literal["info", "warning", "error"] = "info"
    text: str


class UnknownEvent(Event):
    """An event of a newer looptop, kept and shown as it came."""

    type: str
