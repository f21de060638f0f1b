"""looptop's own runs as trajectories: from events, live and stored alike."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.events.base import Event
from runtime.events.loop import LegStarted, RoundFinished, RunFinished, RunPrepared, RunQueued, ToolCalled, ToolFinished
from runtime.events.values import StepStatus, StopReason
from runtime.stoploss.steps import Step, Trajectory
from runtime.stoploss.trajectories.agents import action_words

SOURCE = "looptop"
FAILED = frozenset(
    {
        StopReason.CAP_REACHED,
        StopReason.ROUND_LIMIT,
        StopReason.TOKEN_BUDGET,
        StopReason.COST_BUDGET,
        StopReason.TIME_BUDGET,
        StopReason.GAVE_UP,
    }
)
"""Ends without a verdict (aborted, interrupted, stopped by StopLoss itself, ...) say nothing of what would have become of a run."""


def step_of(called: ToolCalled, finished: ToolFinished, cost_micros: int | None = None) -> Step:
    """A tool step as the monitor sees it. A call that wasn't executed is one too: its observation is the error."""
    action = f"{called.tool} {called.raw}" if called.arguments is None else action_words(called.tool, called.arguments)
    failed = finished.status is not StepStatus.OK or finished.exit_code not in (None, 0)
    return Step(action, finished.content, failed, cost_micros)


def outcome_of(reason: StopReason) -> bool | None:
    """Whether a run that ended so succeeded; None where its end says nothing of that."""
    if reason is StopReason.PASSED:
        return True
    return False if reason in FAILED else None


def executor_of(models: Iterable[str]) -> str:
    """Who acted in a run: its models in order. A run that escalated had another executor than one that didn't."""
    return " > ".join(dict.fromkeys(models)) or "unknown"


def own(events: Iterable[Event]) -> Trajectory | None:
    """The trajectory of a run's events, in order; None where they don't begin with the run's birth."""
    queued: RunQueued | None = None
    base = ""
    models: list[str] = []
    calls: dict[int, ToolCalled] = {}
    steps: list[tuple[int, Step]] = []
    costs: dict[int, int | None] = {}
    finished: RunFinished | None = None
    for event in events:
        if isinstance(event, RunQueued):
            queued = event
        elif isinstance(event, RunPrepared):
            base = base or event.base_commit
        elif isinstance(event, LegStarted):
            models.append(event.model)
        elif isinstance(event, ToolCalled):
            calls[event.step] = event
        elif isinstance(event, ToolFinished) and event.step in calls:
            steps.append((event.round, step_of(calls[event.step], event)))
        elif isinstance(event, RoundFinished):
            costs[event.round] = event.cost_micros
        elif isinstance(event, RunFinished):
            finished = event
    if queued is None:
        return None
    return Trajectory(
        id=queued.run,
        steps=tuple(_paid(steps, costs)),
        succeeded=None if finished is None else outcome_of(finished.reason),
        # "Make verify pass" is another task at every commit.
        task=queued.task.strip() or f"verify at {base or queued.run}",
        group=queued.project,
        executor=executor_of(models or [queued.settings.model]),
        project=queued.project,
        source=SOURCE,
        cost_micros=None if finished is None else finished.cost_micros,
    )


def _paid(steps: list[tuple[int, Step]], costs: dict[int, int | None]) -> Iterable[Step]:
    """Each round's cost at its first tool step."""
    before: int | None = None
    for number, step in steps:
        cost = costs.get(number) if number != before else (None if costs.get(number) is None else 0)
        yield Step(step.action, step.observation, step.failed, cost)
        before = number
