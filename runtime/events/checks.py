"""Events of verifying, recovering and monitoring."""

from __future__ import annotations

from typing import Literal

from runtime.events.base import Event, Part
from runtime.events.values import Action, Finding, Verdict
from runtime.usage import FREE, Usage


class VerifyStarted(Event):
    """A verify step begins; attempt 0 is the baseline."""

    type: Literal["verify_started"] = "verify_started"
    attempt: int
    step: int
    of: int
    name: str
    command: str


class VerifyFinished(Event):
    """A verify step ended. `findings` holds at most 500; `findings_total` counts all; None where the output couldn't be parsed."""

    type: Literal["verify_finished"] = "verify_finished"
    attempt: int
    step: int
    of: int
    name: str
    command: str
    verdict: Verdict
    exit_code: int | None = None
    findings: tuple[Finding, ...] = ()
    findings_total: int | None = None
    collected: int | None = None
    """Tests collected, where the runner tells."""
    summary: str = ""
    wall_ms: int = 0
    cpu_ms: int | None = None
    output_path: str | None = None
    output_bytes: int = 0
    dropped_bytes: int = 0
    excerpt: str = ""


class VerifyCharged(Event):
    """What a verify phase cost, whole or cut, where its price by the minute is set; attempt 0 is the baseline."""

    type: Literal["verify_charged"] = "verify_charged"
    attempt: int
    wall_ms: int
    cost_micros: int


class ActionQuote(Part):
    """One recovery action as the router saw it. Costs in micro-dollars; `masked` says in words why it isn't available."""

    action: Action
    score: float | None = None
    cost_micros: int | None = None
    value: float | None = None
    masked: str = ""


class RecoveryDecided(Event):
    """What happens after a failed attempt, and what the router thought of each action."""

    type: Literal["recovery_decided"] = "recovery_decided"
    attempt: int
    action: Action
    router: str
    why: str
    quotes: tuple[ActionQuote, ...] = ()
    overridden_by: str | None = None


class StoplossScored(Event):
    """A checkpoint was scored. `threshold` is None without a calibration; `score` None where the scorer failed (`error`)."""

    type: Literal["stoploss_scored"] = "stoploss_scored"
    step: int
    scorer: str
    score: float | None
    threshold: float | None = None
    mode: str
    next_step: int | None = None
    usage: Usage = FREE
    cost_micros: int | None = None
    """None where a model was asked whose price isn't known."""
    error: str = ""
    why: str = ""
    """Why the mode isn't the one asked for, or the threshold is in doubt."""


class StoplossSet(Event):
    """A supervisor set StopLoss of this run; `threshold` is the one in force from now on, None without any."""

    type: Literal["stoploss_set"] = "stoploss_set"
    mode: str
    threshold: float | None = None
    by_hand: bool = False
    """Whether the threshold was set by hand."""


class WindowTaken(Event):
    """The conversation window was cut when the run opened."""

    type: Literal["window_taken"] = "window_taken"
    turns: int
    turns_total: int
    characters: int
    characters_total: int


class Compacted(Event):
    """The transcript was compacted by one large step."""

    type: Literal["compacted"] = "compacted"
    round: int
    tokens_before: int
    tokens_after: int
    stubbed: int
    predicted_miss: int | None = None


class FailureAnalysed(Event):
    """A run that ended badly was summed up by a model."""

    type: Literal["failure_analysed"] = "failure_analysed"
    model: str
    text: str
    usage: Usage = FREE
    cost_micros: int | None = None
    error: str = ""
