"""Fold of verifying, recovering, monitoring and the prompt's bookkeeping."""

from __future__ import annotations

from dataclasses import replace

from runtime.events.checks import (
    Compacted,
    FailureAnalysed,
    RecoveryDecided,
    StoplossScored,
    VerifyCharged,
    VerifyFinished,
    VerifyStarted,
    WindowTaken,
)
from runtime.usage import add_usage
from runtime.view.attempts import at_phase, on_attempt
from runtime.view.model import Handler, Phase, RecoveryRow, RunView, ScoreRow, VerifyRow, changed


def _started(view: RunView, e: VerifyStarted) -> RunView:
    row = VerifyRow(e.attempt, e.step, e.of, e.name, e.command, e.mono_ms)
    kept = tuple(old for old in view.verifies if (old.attempt, old.step) != (e.attempt, e.step))
    view = changed(view, verifies=(*kept, row))
    return at_phase(view, Phase.VERIFYING, e.mono_ms) if e.attempt else view


def _finished(view: RunView, e: VerifyFinished) -> RunView:
    rows = tuple(
        replace(
            row,
            verdict=e.verdict,
            exit_code=e.exit_code,
            findings=e.findings,
            findings_total=e.findings_total,
            collected=e.collected,
            summary=e.summary,
            wall_ms=e.wall_ms,
            cpu_ms=e.cpu_ms,
            output_path=e.output_path,
            output_bytes=e.output_bytes,
            dropped_bytes=e.dropped_bytes,
            excerpt=e.excerpt,
        )
        if (row.attempt, row.step) == (e.attempt, e.step)
        else row
        for row in view.verifies
    )
    return changed(view, verifies=rows)


def _charged(view: RunView, e: VerifyCharged) -> RunView:
    row = next((row for row in view.attempts if row.attempt == e.attempt), None)
    if row is not None:
        view = on_attempt(view, e.attempt, verify_micros=(row.verify_micros or 0) + e.cost_micros)
    return changed(view, money=view.money.plus(e.cost_micros))


def _recovery(view: RunView, e: RecoveryDecided) -> RunView:
    row = RecoveryRow(e.attempt, e.action, e.router, e.why, e.quotes, e.overridden_by)
    view = changed(view, recoveries=(*view.recoveries, row))
    return on_attempt(view, e.attempt, next_action=e.action, why=e.why)


def _scored(view: RunView, e: StoplossScored) -> RunView:
    row = ScoreRow(e.step, e.scorer, e.score, e.threshold, e.mode, e.next_step, e.error)
    used = e.usage.total != 0
    return changed(
        view,
        scores=(*view.scores, row),
        usage=add_usage(view.usage, e.usage) if used else view.usage,
        money=view.money.plus(e.cost_micros) if used else view.money,
    )


def _window(view: RunView, e: WindowTaken) -> RunView:
    left_out = e.turns_total - e.turns
    text = f"{e.turns} of {e.turns_total} turns, {e.characters:,} of {e.characters_total:,} characters"
    return changed(view, window=text + (f"; {left_out} earlier turns are not sent" if left_out else ""))


def _compacted(view: RunView, _: Compacted) -> RunView:
    return changed(view, compactions=view.compactions + 1)


def _analysed(view: RunView, e: FailureAnalysed) -> RunView:
    used = e.usage.total != 0
    return changed(
        view,
        analysis=e.text or e.error,
        usage=add_usage(view.usage, e.usage) if used else view.usage,
        money=view.money.plus(e.cost_micros) if used else view.money,
        unmetered_calls=view.unmetered_calls + (e.usage.total is None),
    )


HANDLERS: dict[str, Handler] = {
    "verify_started": _started,
    "verify_finished": _finished,
    "verify_charged": _charged,
    "recovery_decided": _recovery,
    "stoploss_scored": _scored,
    "stoploss_set": lambda view, _: view,
    "window_taken": _window,
    "compacted": _compacted,
    "failure_analysed": _analysed,
}
