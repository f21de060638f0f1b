"""Fold of a run's frame: queued, prepared, legs, attempts, the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtime.events.loop import (
    AttemptFinished,
    AttemptStarted,
    ChangeDelivered,
    LegStarted,
    PhaseEnded,
    PromptAdded,
    RunFinished,
    RunPrepared,
    RunQueued,
)
from runtime.view.model import AttemptRow, Handler, Phase, RunView, TurnRow, changed

TURNS_KEPT = 200


def at_phase(view: RunView, phase: Phase, mono_ms: int) -> RunView:
    """The view in another phase, or unchanged when it is there already."""
    if view.phase is phase:
        return view
    return changed(view, phase=phase, phase_since_ms=mono_ms)


def on_attempt(view: RunView, attempt: int, **changes: Any) -> RunView:
    """The view with some fields of one attempt's row changed."""
    rows = tuple(replace(row, **changes) if row.attempt == attempt else row for row in view.attempts)
    return changed(view, attempts=rows)


def _queued(view: RunView, e: RunQueued) -> RunView:
    return changed(
        view,
        task=e.task,
        repo=e.repo,
        project=e.project,
        verify_specs=e.verify,
        settings=e.settings,
        continues=e.continues,
        worker=e.worker,
        queued_at=e.at,
        phase=Phase.PREPARING,
        phase_since_ms=e.mono_ms,
        budget_tokens=e.settings.budget_tokens,
        budget_micros=e.settings.budget_micros,
        budget_seconds=e.settings.budget_seconds,
    )


def _prepared(view: RunView, e: RunPrepared) -> RunView:
    return changed(
        view,
        workspace=e.workspace,
        base_commit=e.base_commit,
        branch=e.branch,
        sandbox=e.sandbox,
        warnings=view.warnings + e.warnings,
        priced=e.priced,
        baseline_failing=e.baseline_failing,
    )


def _leg(view: RunView, e: LegStarted) -> RunView:
    return changed(
        view,
        leg=e.leg,
        models=(*view.models, e.model),
        cap=e.cap,
        cap_source=e.cap_source,
        on_trial=e.on_trial,
        attempts_of_leg=0,
        context_tokens=e.context_tokens,
        cache_minimum=e.cache_minimum,
        warnings=view.warnings + e.warnings,
    )


def _attempt_started(view: RunView, e: AttemptStarted) -> RunView:
    row = AttemptRow(e.attempt, e.leg, e.attempt_of_leg, e.model, started_ms=e.mono_ms)
    kept = tuple(old for old in view.attempts if old.attempt != e.attempt)
    resumed = next((old for old in view.attempts if old.attempt == e.attempt), None)
    view = changed(view, attempts=(*kept, resumed or row), attempts_of_leg=e.attempt_of_leg)
    return at_phase(view, Phase.FIXING, e.mono_ms)


def _prompt(view: RunView, e: PromptAdded) -> RunView:
    return changed(view, turns=(*view.turns, TurnRow(e.attempt, e.kind, e.text))[-TURNS_KEPT:])


def _phase_ended(view: RunView, e: PhaseEnded) -> RunView:
    return on_attempt(view, e.attempt, phase_end=e.why)


def _attempt_finished(view: RunView, e: AttemptFinished) -> RunView:
    view = on_attempt(
        view,
        e.attempt,
        finished_ms=e.mono_ms,
        passed=e.passed,
        phase_end=e.phase_end,
        comparison=e.comparison,
        cause=e.cause,
        first_failure=e.first_failure,
        diff=e.diff,
        tree=e.tree,
        verify_wall_ms=e.verify_wall_ms,
        verify_cpu_ms=e.verify_cpu_ms,
        verify_micros=e.verify_micros,
    )
    view = changed(view, diff=e.diff)
    return view if e.passed else at_phase(view, Phase.RECOVERING, e.mono_ms)


def _delivered(view: RunView, e: ChangeDelivered) -> RunView:
    done = {"apply": "applied to the working tree", "branch": f"kept as branch {e.branch}", "discard": "discarded"}[
        e.how
    ]
    failed = f"{e.how} failed: {e.detail or ', '.join(e.conflicts)}"
    return changed(view, delivered=done if e.ok else failed)


def _finished(view: RunView, e: RunFinished) -> RunView:
    view = at_phase(view, Phase.FINISHED, e.mono_ms)
    waited = view.waited_ms + (e.mono_ms - view.wait_since_ms if view.wait_since_ms is not None else 0)
    return changed(
        view,
        reason=e.reason,
        detail=e.detail,
        summary=e.summary,
        diff=e.diff_stat,
        result_ref=e.result_ref,
        hold=None,
        paused=False,
        approvals=(),
        live_usage=None,
        waited_ms=waited,
        wait_since_ms=None,
    )


HANDLERS: dict[str, Handler] = {
    "run_queued": _queued,
    "run_prepared": _prepared,
    "leg_started": _leg,
    "attempt_started": _attempt_started,
    "prompt_added": _prompt,
    "phase_ended": _phase_ended,
    "attempt_finished": _attempt_finished,
    "change_delivered": _delivered,
    "run_finished": _finished,
}
