"""Events of the loop: a run from queued to finished, its legs, attempts, rounds and tool steps."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from runtime.events.base import Event
from runtime.events.values import (
    Cause,
    Comparison,
    DiffStat,
    RunSettings,
    StepStatus,
    StopReason,
    VerifySpec,
)
from runtime.models.base import Block
from runtime.usage import Usage


class RunQueued(Event):
    """A run exists: its task, where, how it is verified, and with what settings."""

    durable: ClassVar[bool] = True
    type: Literal["run_queued"] = "run_queued"
    task: str = ""
    repo: str
    project: str
    verify: tuple[VerifySpec, ...] = ()
    settings: RunSettings
    continues: str | None = None
    worker: str = ""


class RunPrepared(Event):
    """The workspace stands and the baseline is known. `warnings` are sentences for the supervisor."""

    durable: ClassVar[bool] = True
    type: Literal["run_prepared"] = "run_prepared"
    workspace: str
    base_commit: str
    branch: str
    sandbox: str
    baseline_failing: int | None = None
    priced: bool = True
    tree: str | None = None
    """Git tree of the workspace after the baseline."""
    warnings: tuple[str, ...] = ()


class LegStarted(Event):
    """The attempts with one model begin. `on_trial` says in words that the cap is a safe default not yet backed by own runs."""

    type: Literal["leg_started"] = "leg_started"
    leg: int
    model: str
    provider: str
    cap: int
    cap_source: str
    on_trial: str = ""
    context_tokens: int | None = None
    cache_minimum: int | None = None
    warnings: tuple[str, ...] = ()


class ModelSwitched(Event):
    """A supervisor or an escalation put another model in charge from the next leg on."""

    type: Literal["model_switched"] = "model_switched"
    old: str
    new: str
    why: str = ""


class AttemptStarted(Event):
    """A fix phase begins."""

    durable: ClassVar[bool] = True
    type: Literal["attempt_started"] = "attempt_started"
    attempt: int
    leg: int
    attempt_of_leg: int
    model: str


class PromptAdded(Event):
    """User-side text that the runtime put into the transcript: the task, feedback, a steering message, a nudge."""

    type: Literal["prompt_added"] = "prompt_added"
    attempt: int
    kind: Literal["task", "feedback", "steer", "nudge", "plan_demand", "handover", "conversation"]
    text: str
    fresh: bool = False
    """Whether a new transcript begins with it."""


class RoundStarted(Event):
    """A model call is about to be sent. Token figures are estimates of ours."""

    type: Literal["round_started"] = "round_started"
    attempt: int
    round: int
    leg: int
    model: str
    prompt_estimate: int
    predicted_read: int | None = None
    reserved_micros: int | None = None


class TextDelta(Event):
    """Text as it streams in, batched."""

    type: Literal["text_delta"] = "text_delta"
    round: int
    text: str
    thinking: bool = False


class UsageDelta(Event):
    """Running totals of the call in flight; each replaces the one before."""

    type: Literal["usage_delta"] = "usage_delta"
    round: int
    usage: Usage


class RoundFinished(Event):
    """A reply is whole, or the call broke off (`outcome`). `reply` holds its blocks as they stand in the transcript."""

    durable: ClassVar[bool] = True
    type: Literal["round_finished"] = "round_finished"
    attempt: int
    round: int
    leg: int
    model: str
    stop: str
    stop_detail: str = ""
    usage: Usage
    cost_micros: int | None = None
    saved_micros: int | None = None
    """What caching saved against sending everything fresh; None where it isn't known."""
    rewarm_micros: int | None = None
    """What the next call costs more once the cached prefix is cold and has to be written anew; None where it isn't known."""
    latency_ms: int
    ttft_ms: int | None = None
    request_id: str | None = None
    message_id: str | None = None
    outcome: Literal["ok", "broken", "interrupted"] = "ok"
    reply: tuple[Block, ...] = ()
    gave_up: str = ""
    """Why the model has no idea, where it says so."""


class TransportRetried(Event):
    """A try of a model call broke and will be sent again after `wait_s` seconds."""

    type: Literal["transport_retried"] = "transport_retried"
    round: int
    attempt_of_call: int
    of: int
    status: int | None = None
    error: str
    wait_s: float
    usage: Usage | None = None
    cost_micros: int | None = None


class CacheDiagnosed(Event):
    """The usage showed less read from cache than foretold, and why that is likely. `server_reason` is the provider's own word."""

    type: Literal["cache_diagnosed"] = "cache_diagnosed"
    round: int
    cause: str
    text: str
    predicted: int | None = None
    reported: int | None = None
    server_reason: str | None = None


class ToolCalled(Event):
    """A tool step begins. `arguments` is None where the call was malformed; `raw` is then what came."""

    type: Literal["tool_called"] = "tool_called"
    attempt: int
    round: int
    step: int
    call_id: str
    tool: str
    arguments: dict[str, Any] | None = None
    raw: str = ""


class OutputDelta(Event):
    """Output of a running tool or verify step as it comes, bounded and safe to show."""

    type: Literal["output_delta"] = "output_delta"
    step: int | None = None
    verify_step: int | None = None
    text: str


class ToolFinished(Event):
    """A tool step ended; `content` is what the model reads."""

    type: Literal["tool_finished"] = "tool_finished"
    attempt: int
    round: int
    step: int
    call_id: str
    tool: str
    status: StepStatus
    content: str
    exit_code: int | None = None
    duration_ms: int = 0
    dropped_bytes: int = 0
    repeats: int = 1
    """How many times in a row this very call gave this very result."""


class PhaseEnded(Event):
    """A fix phase ended and verify follows: how (`turn`, `rounds`, ...), and why in words (empty for a turn that simply ended)."""

    type: Literal["phase_ended"] = "phase_ended"
    attempt: int
    how: str
    why: str = ""


class AttemptFinished(Event):
    """An attempt was verified. `why` says in words why the run goes on or ends."""

    durable: ClassVar[bool] = True
    type: Literal["attempt_finished"] = "attempt_finished"
    attempt: int
    passed: bool
    phase_end: str = ""
    """Why the fix phase ended, in words; empty where the model simply ended its turn."""
    comparison: Comparison = Comparison()
    cause: Cause | None = None
    first_failure: str = ""
    diff: DiffStat = DiffStat()
    tree: str | None = None
    """Git tree of the workspace after the attempt, to compare any two attempts."""
    verify_wall_ms: int = 0
    verify_cpu_ms: int | None = None
    verify_micros: int | None = None
    edited_tests: tuple[str, ...] = ()


class ChangeDelivered(Event):
    """The change was applied, kept as a branch, or discarded; or couldn't be, with the conflicts."""

    durable: ClassVar[bool] = True
    type: Literal["change_delivered"] = "change_delivered"
    how: Literal["apply", "branch", "discard"]
    ok: bool
    branch: str | None = None
    conflicts: tuple[str, ...] = ()
    detail: str = ""


class RunFinished(Event):
    """The run's end and its sums. `cost_usd` is None where any part has no price."""

    durable: ClassVar[bool] = True
    type: Literal["run_finished"] = "run_finished"
    reason: StopReason
    detail: str = ""
    attempts: int
    rounds: int
    steps: int = 0
    usage: dict[str, int | None]
    cost_usd: float | None = None
    cost_micros: int | None = None
    diff_stat: DiffStat = DiffStat()
    summary: str = ""
    result_ref: str | None = None
