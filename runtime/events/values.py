"""Values that events carry: settings of a run, verify steps, findings, differences, receipts."""

from __future__ import annotations

from enum import StrEnum

from runtime.events.base import Part


class StopReason(StrEnum):
    """Why a run ended; exactly one per finished run."""

    PASSED = "passed"
    ALREADY_PASSING = "already_passing"
    CAP_REACHED = "cap_reached"
    ROUND_LIMIT = "round_limit"
    TOKEN_BUDGET = "token_budget"
    COST_BUDGET = "cost_budget"
    TIME_BUDGET = "time_budget"
    STOPLOSS = "stoploss"
    GAVE_UP = "gave_up"
    ABORTED = "aborted"
    UNRECOVERABLE = "unrecoverable"
    INTERRUPTED = "interrupted"


class Verdict(StrEnum):
    """What a verify step said."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ERRORED = "errored"


class Cause(StrEnum):
    """Why a verify phase failed, or why its pass isn't one."""

    INFRASTRUCTURE = "infrastructure"
    TIMED_OUT = "timed_out"
    FLAKY = "flaky"
    PRE_EXISTING = "pre_existing"
    NEW = "new"
    SAME = "same_as_before"
    STILL_FAILING = "still_failing"
    TESTS_EDITED = "tests_edited"
    NO_TESTS = "no_tests_collected"


class StepStatus(StrEnum):
    """How a tool step ended."""

    OK = "ok"
    FAILED = "failed"
    MALFORMED = "malformed"
    DENIED = "denied"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"


class Action(StrEnum):
    """What happens after a failed attempt."""

    REFLECT = "reflect"
    REPLAN = "replan"
    ESCALATE = "escalate"


class HoldReason(StrEnum):
    """What a held run waits for."""

    CAP = "cap"
    BUDGET = "budget"
    STOPLOSS = "stoploss"
    APPROVAL = "approval"
    DISK = "disk"
    TRANSPORT = "transport"
    TESTS_EDITED = "tests_edited"


class VerifySpec(Part):
    """One command of the project's verify list. A failed set-up step ends the verify phase."""

    command: str
    name: str = ""
    timeout_s: float = 600.0
    setup: bool = False


class Finding(Part):
    """One failing check: a test id, or a lint or type error with its place."""

    id: str
    """Stable name by which attempts are compared: a test's id, or rule and place without the line number."""
    kind: str = "test"
    path: str = ""
    line: int | None = None
    message: str = ""


class DiffStat(Part):
    """Size of a change against the run's start."""

    files: int = 0
    added: int = 0
    removed: int = 0
    binary: int = 0


class Comparison(Part):
    """Findings of a verify phase against the baseline and the attempt before, by finding id."""

    fixed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    pre_existing: tuple[str, ...] = ()


class RunSettings(Part):
    """What a run was started with. Money in micro-dollars, times in seconds; a budget of None is off."""

    model: str
    escalate_to: str | None = None
    cap: int | None = None
    """The cap asked for by option; None leaves it to project and default."""
    budget_tokens: int | None = 1_000_000
    budget_micros: int | None = None
    budget_seconds: float | None = None
    max_rounds: int = 40
    max_output_tokens: int = 16_384
    include_dirty: bool = False
    category: str | None = None
    tenant: str | None = None
    recovery: str = "fixed:reflect"
    stoploss: str = "watch"
    stoploss_chosen: bool = False
    """Whether somebody chose that mode, so that it isn't only the default."""
    stoploss_scorer: str = "auto"
    hold_on_stoploss: bool = False
    """Whether a run that StopLoss asks about waits for the answer; else it goes on."""
    approval: str = "auto"
    ttl: str = "5m"
    failure_analysis: str = ""
    """The model that sums up a run that ended badly; empty: none does."""
    verify_micros_per_minute: int | None = None
    """What a minute of verify costs; None where that isn't known."""
    allow_test_edits: bool = False
    hold_on_cap: bool = False
    hold_on_budget: bool = False
    hold_on_approval: bool = True
    """Whether a call that needs an approval waits for it; else it is denied, because nobody can be asked."""
    deliver: str | None = None
    """`apply`, `branch:NAME`, or None: what to do with a passed change at the end."""


class AbortReceipt(Part):
    """What an abort ended, what it kept, and what was written late."""

    ended_processes: int = 0
    survivors: tuple[int, ...] = ()
    kept_ref: str | None = None
    diff: DiffStat = DiffStat()
    late_writes: tuple[str, ...] = ()
    call_in_flight_micros: int | None = None
    call_in_flight: bool = False
