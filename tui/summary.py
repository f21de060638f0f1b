"""From a run's picture to its line in the fleet, and the order in which runs want attention. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.view.model import RunView
    from tui.backend import RunSummary


def summarise(view: RunView, *, live: bool, stale: bool = False) -> RunSummary:
    """A run's line. `live` tells whether a worker executes it."""
    from tui.backend import RunSummary

    latest = view.scores[-1] if view.scores else None
    return RunSummary(
        run=view.run,
        task=view.task,
        project=view.project,
        repo=view.repo,
        model=view.model,
        state=view.state,
        finished=view.finished,
        live=live and not view.finished,
        stale=stale,
        needs=needs(view),
        attempt=view.attempt,
        attempts_of_leg=view.attempts_of_leg,
        cap=view.cap,
        rounds=len(view.rounds),
        score=latest.score if latest else None,
        threshold=latest.threshold if latest else None,
        tokens=tokens_used(view),
        unmetered=view.unmetered_calls,
        budget_tokens=view.budget_tokens,
        cost_micros=view.money.micros if view.money.known else None,
        cost_complete=view.money.complete,
        budget_micros=view.budget_micros,
        cache_share=view.usage.cache_share,
        failing=failing(view),
        queued_at=view.queued_at,
        last_at=view.last_at,
        active_ms=view.active_ms,
        worker=view.worker,
    )


def tokens_used(view: RunView) -> int | None:
    """Tokens of all calls that ended: nothing before the first one; None where calls ended and none of them was metered."""
    if all(row.finished_ms is None for row in view.rounds):
        return 0
    return view.usage.total


def needs(view: RunView) -> str:
    """What decision a run waits for, in a word or two."""
    if view.finished:
        return ""
    if view.approvals:
        return "approval" if len(view.approvals) == 1 else f"{len(view.approvals)} approvals"
    return view.hold.why.value.replace("_", " ") if view.hold else ""


def failing(view: RunView) -> int | None:
    """Findings left after the latest verified attempt, pre-existing ones apart; before it, the baseline's."""
    for row in reversed(view.attempts):
        if row.comparison is not None:
            return len(row.comparison.new) + len(row.comparison.still)
    return view.baseline_failing


def at_risk(run: RunSummary) -> float:
    """Money at risk in micro-dollars: what a run may still spend times its score, or times attempts made / cap without one.

    Without a dollar budget what it has spent so far stands for what it may still spend.
    """
    if run.finished:
        return 0.0
    spent = run.cost_micros or 0
    left = max(0, run.budget_micros - spent) if run.budget_micros is not None else spent
    chance = run.score
    if chance is None:
        chance = min(1.0, run.attempts_of_leg / run.cap) if run.cap else 0.0
    return left * chance


def by_attention(runs: Iterable[RunSummary]) -> list[RunSummary]:
    """Calls that wait for an approval first, then other decisions, then runs by money at risk, then the finished ones, newest first."""

    def order(run: RunSummary) -> tuple[int, float, float, str]:
        moment = run.last_at.timestamp() if run.last_at else 0.0
        if run.needs:
            return -1 if "approval" in run.needs else 0, -at_risk(run), -moment, run.run
        if not run.finished:
            return 1, -at_risk(run), -moment, run.run
        return 2, -moment, 0.0, run.run

    return sorted(runs, key=order)
