"""The frozen picture of a run. `None` means unknown everywhere; times are `mono_ms` offsets or UTC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from runtime.events.checks import ActionQuote
from runtime.events.values import (
    AbortReceipt,
    Action,
    Cause,
    Comparison,
    DiffStat,
    Finding,
    HoldReason,
    RunSettings,
    StopReason,
    Verdict,
    VerifySpec,
)
from runtime.usage import Money, Usage


class Phase(StrEnum):
    """Where a run is in its life; held and paused may overlay any of them."""

    QUEUED = "queued"
    PREPARING = "preparing"
    FIXING = "fixing"
    VERIFYING = "verifying"
    RECOVERING = "recovering"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class VerifyRow:
    """One verify step of one attempt (0: the baseline); `verdict` is None while it runs."""

    attempt: int
    step: int
    of: int
    name: str
    command: str
    started_ms: int
    verdict: Verdict | None = None
    exit_code: int | None = None
    findings: tuple[Finding, ...] = ()
    findings_total: int | None = None
    collected: int | None = None
    summary: str = ""
    wall_ms: int | None = None
    cpu_ms: int | None = None
    output_path: str | None = None
    output_bytes: int = 0
    dropped_bytes: int = 0
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class RoundRow:
    """One model call. `finished_ms` is None while it is in flight."""

    round: int
    attempt: int
    leg: int
    model: str
    started_ms: int
    started_at: datetime
    prompt_estimate: int
    predicted_read: int | None = None
    finished_ms: int | None = None
    usage: Usage = Usage()
    cost_micros: int | None = None
    saved_micros: int | None = None
    rewarm_micros: int | None = None
    latency_ms: int | None = None
    ttft_ms: int | None = None
    stop: str = ""
    outcome: str = ""
    retries: int = 0
    retry_error: str = ""
    diagnosis: str = ""
    tools: int = 0


@dataclass(frozen=True, slots=True)
class StepRow:
    """One tool step, as the ladder's stream shows it; `status` is None while it runs."""

    step: int
    round: int
    attempt: int
    tool: str
    title: str
    started_ms: int
    status: str | None = None
    duration_ms: int | None = None
    exit_code: int | None = None
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One row of the ladder. `passed` is None until its verify phase ended."""

    attempt: int
    leg: int
    attempt_of_leg: int
    model: str
    started_ms: int
    finished_ms: int | None = None
    passed: bool | None = None
    phase_end: str = ""
    comparison: Comparison | None = None
    cause: Cause | None = None
    first_failure: str = ""
    diff: DiffStat | None = None
    tree: str | None = None
    rounds: int = 0
    steps: int = 0
    usage: Usage = Usage()
    money: Money = Money()
    verify_wall_ms: int | None = None
    verify_cpu_ms: int | None = None
    verify_micros: int | None = None
    next_action: Action | None = None
    why: str = ""

    @property
    def cost(self) -> Money:
        """What it cost: its model calls, and its verify where that has a price."""
        return self.money if self.verify_micros is None else self.money.plus(self.verify_micros)


@dataclass(frozen=True, slots=True)
class Hold:
    """What a held run waits for, in words, and the commands that end it."""

    why: HoldReason
    text: str
    ends_with: tuple[str, ...]
    since_ms: int
    until_mono_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """A tool call that waits for the supervisor."""

    step: int
    tool: str
    command: str
    why: str
    hidden: int


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """StopLoss at one checkpoint."""

    step: int
    scorer: str
    score: float | None
    threshold: float | None
    mode: str
    next_step: int | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """What was decided after an attempt, with the router's quotes."""

    attempt: int
    action: Action
    router: str
    why: str
    quotes: tuple[ActionQuote, ...]
    overridden_by: str | None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """User-side text in the transcript: task, feedback, steering."""

    attempt: int
    kind: str
    text: str


@dataclass(frozen=True)
class RunView:
    """A run as it stands after the events folded so far; `seq` is the last of them.

    Without slots, so that the picture after an event is made by copying one dictionary (see `changed`).
    """

    run: str = ""
    seq: int = 0
    task: str = ""
    repo: str = ""
    project: str = ""
    verify_specs: tuple[VerifySpec, ...] = ()
    settings: RunSettings | None = None
    continues: str | None = None
    worker: str = ""
    queued_at: datetime | None = None
    last_at: datetime | None = None
    last_ms: int = 0
    phase: Phase = Phase.QUEUED
    phase_since_ms: int = 0
    hold: Hold | None = None
    paused: bool = False
    pause_text: str = ""
    waited_ms: int = 0
    """Time held or paused so far, which the time budget doesn't count."""
    wait_since_ms: int | None = None
    workspace: str = ""
    base_commit: str = ""
    branch: str = ""
    sandbox: str = ""
    warnings: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    priced: bool | None = None
    baseline_failing: int | None = None
    models: tuple[str, ...] = ()
    """Models of the legs so far, in order."""
    leg: int = 0
    cap: int | None = None
    cap_source: str = ""
    on_trial: str = ""
    attempts_of_leg: int = 0
    context_tokens: int | None = None
    cache_minimum: int | None = None
    attempts: tuple[AttemptRow, ...] = ()
    rounds: tuple[RoundRow, ...] = ()
    steps_total: int = 0
    recent_steps: tuple[StepRow, ...] = ()
    """The last 50 tool steps."""
    verifies: tuple[VerifyRow, ...] = ()
    turns: tuple[TurnRow, ...] = ()
    usage: Usage = Usage()
    money: Money = Money()
    unmetered_calls: int = 0
    """Calls whose usage isn't known."""
    live_usage: Usage | None = None
    """Running totals of the call in flight."""
    budget_tokens: int | None = None
    budget_micros: int | None = None
    budget_seconds: float | None = None
    retries: int = 0
    scores: tuple[ScoreRow, ...] = ()
    recoveries: tuple[RecoveryRow, ...] = ()
    approvals: tuple[Approval, ...] = ()
    steers_waiting: tuple[str, ...] = ()
    last_answer: str = ""
    """The answer to the latest command, in words."""
    window: str = ""
    compactions: int = 0
    analysis: str = ""
    reason: StopReason | None = None
    detail: str = ""
    summary: str = ""
    diff: DiffStat | None = None
    receipt: AbortReceipt | None = None
    result_ref: str | None = None
    delivered: str = ""
    unknown_events: int = 0
    tail: str = ""
    """The last characters the model streamed in this round."""

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        return self.reason is not None

    @property
    def model(self) -> str:
        """The model of the present leg, or the one asked for."""
        if self.models:
            return self.models[-1]
        return self.settings.model if self.settings else ""

    @property
    def attempt(self) -> int:
        """The latest attempt's number; 0 before the first."""
        return self.attempts[-1].attempt if self.attempts else 0

    @property
    def needs_decision(self) -> bool:
        """Whether a supervisor is waited for."""
        return not self.finished and (self.hold is not None or bool(self.approvals))

    @property
    def state(self) -> str:
        """One word for the state: the stop reason, held, paused, or the phase."""
        if self.reason is not None:
            return self.reason.value
        if self.hold is not None:
            return "held"
        return "paused" if self.paused else self.phase.value

    @property
    def baseline(self) -> tuple[VerifyRow, ...]:
        """The verify rows of the baseline."""
        return tuple(row for row in self.verifies if row.attempt == 0)

    @property
    def active_ms(self) -> int:
        """Time that counts against the time budget, up to the last event."""
        waiting = self.last_ms - self.wait_since_ms if self.wait_since_ms is not None else 0
        return max(0, self.last_ms - self.waited_ms - waiting)


def changed(view: RunView, **changes: Any) -> RunView:
    """The picture with other values in some of its fields. `dataclasses.replace` does the same ten times more slowly, for every event.

    Raises TypeError for a field that doesn't exist.
    """
    now = view.__dict__
    if not changes.keys() <= now.keys():
        raise TypeError(f"RunView has no field {', '.join(sorted(changes.keys() - now.keys()))}")
    after = object.__new__(RunView)
    after.__dict__.update(now, **changes)
    return after


Handler = Callable[[RunView, Any], RunView]
"""A fold of one event type."""
