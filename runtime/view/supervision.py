"""Fold of supervision: commands and answers, limits, holds, pauses, approvals, aborts."""

from __future__ import annotations

from runtime.events.supervision import (
    ApprovalGiven,
    ApprovalRequested,
    BudgetChanged,
    CapChanged,
    CommandAccepted,
    CommandRefused,
    Notice,
    RunAborted,
    RunHeld,
    RunPaused,
    RunResumed,
    SteerDelivered,
    SteerQueued,
)
from runtime.view.attempts import at_phase
from runtime.view.model import Approval, Handler, Hold, Phase, RunView, changed

NOTICES_KEPT = 50


def _waiting(view: RunView, mono_ms: int) -> RunView:
    """Start the clock of a wait unless one runs already."""
    return view if view.wait_since_ms is not None else changed(view, wait_since_ms=mono_ms)


def _going(view: RunView, mono_ms: int) -> RunView:
    """Stop the clock of the wait when neither a hold nor a pause is left."""
    if view.wait_since_ms is None or view.hold is not None or view.paused:
        return view
    return changed(view, waited_ms=view.waited_ms + max(0, mono_ms - view.wait_since_ms), wait_since_ms=None)


def _accepted(view: RunView, e: CommandAccepted) -> RunView:
    change = f" {e.old} -> {e.new}" if e.new is not None else ""
    effect = f": {e.effect}" if e.effect else ""
    return changed(view, last_answer=f"{e.command}{change} accepted{effect}")


def _refused(view: RunView, e: CommandRefused) -> RunView:
    return changed(view, last_answer=f"{e.command} refused: {e.why}")


def _cap(view: RunView, e: CapChanged) -> RunView:
    return changed(view, cap=e.new, cap_source=e.source)


def _budget(view: RunView, e: BudgetChanged) -> RunView:
    if e.kind == "seconds":
        return changed(view, budget_seconds=e.new)
    whole = None if e.new is None else int(e.new)
    return changed(view, budget_tokens=whole) if e.kind == "tokens" else changed(view, budget_micros=whole)


def _queued(view: RunView, e: SteerQueued) -> RunView:
    return changed(view, steers_waiting=(*view.steers_waiting, e.command_id))


def _delivered(view: RunView, e: SteerDelivered) -> RunView:
    return changed(view, steers_waiting=tuple(one for one in view.steers_waiting if one != e.command_id))


def _asked(view: RunView, e: ApprovalRequested) -> RunView:
    return changed(view, approvals=(*view.approvals, Approval(e.step, e.tool, e.command, e.why, e.hidden)))


def _given(view: RunView, e: ApprovalGiven) -> RunView:
    return changed(view, approvals=tuple(one for one in view.approvals if one.step != e.step))


def _held(view: RunView, e: RunHeld) -> RunView:
    hold = Hold(e.why, e.text, e.ends_with, since_ms=e.mono_ms, until_mono_ms=e.until_mono_ms)
    return _waiting(changed(view, hold=hold), e.mono_ms)


def _paused(view: RunView, e: RunPaused) -> RunView:
    return _waiting(changed(view, paused=True, pause_text=e.reason), e.mono_ms)


def _resumed(view: RunView, e: RunResumed) -> RunView:
    if e.resumed:
        view = changed(view, hold=None, paused=False, reason=None, detail="", approvals=(), live_usage=None)
        view = at_phase(view, Phase.PREPARING, e.mono_ms)
    elif e.from_hold:
        view = changed(view, hold=None)
    else:
        view = changed(view, paused=False, pause_text="")
    return _going(view, e.mono_ms)


def _aborted(view: RunView, e: RunAborted) -> RunView:
    return changed(view, receipt=e.receipt)


def _notice(view: RunView, e: Notice) -> RunView:
    return changed(view, notices=(*view.notices, e.text)[-NOTICES_KEPT:])


HANDLERS: dict[str, Handler] = {
    "command_accepted": _accepted,
    "command_refused": _refused,
    "cap_changed": _cap,
    "budget_changed": _budget,
    "steer_queued": _queued,
    "steer_delivered": _delivered,
    "approval_requested": _asked,
    "approval_given": _given,
    "run_held": _held,
    "run_paused": _paused,
    "run_resumed": _resumed,
    "run_aborted": _aborted,
    "notice": _notice,
}
