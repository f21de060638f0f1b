"""What the screens know of the world behind them: live events, summaries, history, commands, and nothing of how it is done.

Everything is called from the app's own event loop. Nothing heavy is imported here: the first frame is painted from this module on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from runtime.commands import Command
    from runtime.curves.curve import Curve
    from runtime.curves.whatif import Outcome
    from runtime.events.base import Event
    from runtime.events.values import RunSettings, VerifySpec
    from runtime.loop.quoting import ResumeQuote
    from runtime.stoploss.evaluate.report import Evaluation
    from runtime.stoploss.threshold import Calibration
    from runtime.view.model import RunView

Wake = Callable[[], None]
"""Called when a queue went from empty to not empty. It must be cheap; the reader drains in its own time."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run as the fleet shows it. `None` is unknown; money in micro-dollars; times in UTC or milliseconds."""

    run: str
    task: str = ""
    project: str = ""
    repo: str = ""
    model: str = ""
    state: str = "queued"
    """A phase, `held`, `paused`, or the stop reason of a finished run."""
    finished: bool = False
    live: bool = False
    """Whether a worker that is heard from executes it; false for history."""
    stale: bool = False
    """Whether its worker was lost: what is shown is the last that was heard."""
    needs: str = ""
    """What decision it waits for, in words; empty where it waits for none."""
    attempt: int = 0
    attempts_of_leg: int = 0
    cap: int | None = None
    rounds: int = 0
    score: float | None = None
    threshold: float | None = None
    tokens: int | None = None
    unmetered: int = 0
    """Calls whose usage isn't known; `tokens` misses them."""
    budget_tokens: int | None = None
    cost_micros: int | None = None
    cost_complete: bool = True
    budget_micros: int | None = None
    cache_share: float | None = None
    failing: int | None = None
    """Findings of the latest verify that are not pre-existing."""
    queued_at: datetime | None = None
    last_at: datetime | None = None
    active_ms: int | None = None
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a command: whether it was accepted, and the answer in words."""

    accepted: bool
    text: str


@dataclass(frozen=True, slots=True)
class OutputPage:
    """A piece of a kept output. `offset` and `size` are byte positions in the file; `total` its size."""

    text: str
    offset: int
    size: int
    total: int


@dataclass(frozen=True, slots=True)
class UsageLine:
    """Sums of the calls that share `key`. `micros` counts what has a price; `complete` is false where some have none."""

    key: str
    calls: int = 0
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    micros: int | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage of a span and of the span before it, by some property of the calls, dearest first."""

    by: str
    span: str
    total: UsageLine
    before: UsageLine
    lines: tuple[UsageLine, ...] = ()
    days: tuple[UsageLine, ...] = ()
    """One line a day of the span, oldest first; keys are ISO dates; days without calls are there too."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that a run can be started with. Prices in micro-dollars per million tokens; None is unknown."""

    name: str
    note: str = ""
    available: bool = True
    input_micros: int | None = None
    output_micros: int | None = None
    cap: int | None = None
    """Its default retry cap."""


@dataclass(frozen=True, slots=True)
class RepoFacts:
    """What a repository shows before a run: its root, its verify steps and where they were found, and changes not committed."""

    root: str
    project: str
    verify: tuple[VerifySpec, ...] = ()
    verify_from: str = ""
    dirty_files: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoplossReport:
    """StopLoss on a project's own history. `evaluation` is None where it can't be measured; `missing` says why, in words."""

    project: str
    projects: tuple[str, ...] = ()
    """All that there are, the one with most runs first."""
    evaluation: Evaluation | None = None
    calibration: Calibration | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class FamilyCurve:
    """A model family: its curve, the cap in force with its source, and what other caps would have done."""

    curve: Curve
    cap: int
    cap_from: str
    whatifs: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class CurvesReport:
    """All families with finished runs, the one with most of them first."""

    families: tuple[FamilyCurve, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project. `cap` is its override in the store, `file_cap` one of the settings, which beats it; money in micro-dollars."""

    id: str
    name: str
    root: str
    runs: int
    passed: int
    micros: int | None
    complete: bool
    cap: int | None = None
    file_cap: int | None = None
    verify: tuple[str, ...] = ()
    budgets: tuple[tuple[str, str], ...] = ()
    """Name and limit, in words."""
    trouble: str = ""
    """Why its settings can't be read, in words."""


class Subscription(Protocol):
    """A live feed of one run's events."""

    def drain(self) -> Sequence[Event]:
        """All that has queued up, oldest first; never waits."""
        ...

    def close(self) -> None:
        """End the feed; nothing is queued any more."""
        ...


class SummaryFeed(Protocol):
    """A live feed of all runs, a summary each; the first drain gives every run that is known."""

    def drain(self) -> Sequence[RunSummary]:
        """The newest summary of each run that changed since the last drain; never waits."""
        ...

    def close(self) -> None:
        """End the feed."""
        ...


class Backend(Protocol):
    """The world behind the screens. Failures are LooptopError: one sentence, shown as it is."""

    recorded: bool
    """Whether what is shown is a recording: said on every screen."""

    def events(self, run: str, wake: Wake) -> Subscription:
        """Subscribe to a run's events from now on. A finished run's feed stays empty."""
        ...

    def summaries(self, wake: Wake) -> SummaryFeed:
        """Subscribe to all runs, those of history included."""
        ...

    async def load_view(self, run: str) -> RunView:
        """The run's picture, at least as new as any event that a subscription opened before this call didn't get."""
        ...

    async def events_before(self, run: str, seq: int | None, limit: int) -> Sequence[Event]:
        """At most `limit` recorded events just below `seq` (None: the newest), oldest first."""
        ...

    async def events_after(self, run: str, seq: int, limit: int) -> Sequence[Event]:
        """At most `limit` recorded events above `seq`, oldest first."""
        ...

    async def read_output(self, run: str, path: str, offset: int, limit: int) -> OutputPage:
        """A piece of a kept verify output (`VerifyRow.output_path`) from byte `offset` on; a negative one counts from the end."""
        ...

    async def diff(self, run: str, attempt: int | None = None, since: int | None = None) -> str:
        """Unified diff of the workspace as `attempt` left it (None: as it is now) against `since` (None: the run's start)."""
        ...

    async def send(self, run: str, command: Command) -> Answer:
        """Send a command to a live run and wait for its answer."""
        ...

    async def deliver(self, run: str, how: Literal["apply", "branch", "discard"], branch: str | None = None) -> str:
        """Put a finished run's change into the supervisor's tree, keep it as a branch, or remove it. Says what was done."""
        ...

    async def usage(
        self, by: Literal["project", "model", "purpose"], span: Literal["day", "week", "month"]
    ) -> UsageReport:
        """What was used in the running day, week or month, from the ledger."""
        ...

    async def stoploss(self, project: str) -> StoplossReport:
        """Measure StopLoss on a project's finished runs; without a name on the project with most of them."""
        ...

    async def curves(self, caps: Sequence[int] = ()) -> CurvesReport:
        """Fix-rate curves of finished runs, by model family; what `caps`, or those around each family's own, would have done."""
        ...

    async def apply_cap(self, family: str) -> str:
        """Write a family's recommended cap into the user's settings, audited; says what was done."""
        ...

    async def projects(self) -> Sequence[ProjectLine]:
        """Every project that there are runs or settings of, the one with most runs first."""
        ...

    async def update_project(self, project: str, change: Mapping[str, Any]) -> str:
        """Change a project's settings in the store; says what was done."""
        ...

    async def models(self) -> Sequence[ModelChoice]:
        """Models to choose from, the default first."""
        ...

    async def inspect(self, repo: str) -> RepoFacts:
        """Look at a repository before a run."""
        ...

    async def default_settings(self, repo: str) -> RunSettings:
        """What a run there would be started with by the settings."""
        ...

    async def start(self, repo: str, task: str, verify: Sequence[VerifySpec], settings: RunSettings) -> str:
        """Start a run on this machine's worker; returns its id."""
        ...

    async def quote_resume(self, run: str) -> ResumeQuote:
        """What resuming an interrupted run means and costs. Raises LooptopError where it can't be resumed."""
        ...

    async def resume(self, run: str) -> str:
        """Go on with an interrupted run on this machine's worker; returns its id."""
        ...

    async def close(self, stop_runs: bool) -> None:
        """Let go of everything; with `stop_runs`, live runs are aborted, else they end as interrupted and can be resumed."""
        ...


class Connect(Protocol):
    """Makes the backend; called in the app's event loop after the first frame was painted."""

    async def __call__(self) -> Backend:
        """Open the store and whatever else it takes. Raises LooptopError."""
        ...
