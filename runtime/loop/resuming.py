"""Going on with an interrupted run: its workspace opened again, its leg as it was, and everything left open closed in the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from runtime.commands import Steer
from runtime.events.base import Event
from runtime.events.loop import RoundFinished, RoundStarted, ToolCalled, ToolFinished
from runtime.events.supervision import Notice, SteerDelivered
from runtime.events.values import Action, StepStatus
from runtime.loop.control import Control
from runtime.loop.legs import Leg, handed_to
from runtime.loop.readback import ReadBack, Stage
from runtime.loop.services import Services
from runtime.loop.setup import (
    OWN_INTERPRETER,
    Parts,
    WorkspaceSettings,
    assemble,
    confine,
    outputs_of,
    own_interpreter_first,
    workspace_of,
)
from runtime.loop.state import Limits, RunState
from runtime.loop.stepping import Repetition
from runtime.loop.verified import standing_of
from runtime.models.base import ToolCall
from runtime.ports import LostCall
from runtime.process.tree import reap_run
from runtime.prompt.transcript import INTERRUPTED
from runtime.tools.registry import call_key
from runtime.workspace.clone import Workspace, open_workspace
from runtime.workspace.discard import discard_workspace
from runtime.workspace.lend import Lent
from runtime.workspace.repository import Repository

UNDECIDED = "Not executed: looptop ended before the supervisor had decided about it."
NOT_BEGUN = "Interrupted before it began; it was not executed."
"""A call is recorded before it is executed, so that one that isn't in the record can't have had effects."""


@dataclass(frozen=True, slots=True)
class GoingOn:
    """An interrupted run that this process took over. `words` tell the supervisor what is resumed and what it costs."""

    back: ReadBack
    lost: tuple[LostCall, ...] = ()
    sender: str = "supervisor"
    words: str = ""


def restore_state(state: RunState, back: ReadBack) -> None:
    """Put counters, limits and what verify has shown back to where the run stood."""
    view = back.view
    state.limits = Limits(
        view.cap or state.limits.cap,
        view.cap_source or state.limits.cap_source,
        view.budget_tokens,
        view.budget_micros,
        view.budget_seconds,
    )
    state.model = back.model
    state.active_before_s = view.active_ms / 1000
    if back.stage is Stage.PREPARING:
        return
    counters = state.counters
    counters.leg, counters.attempt, counters.attempt_of_leg = view.leg, view.attempt, view.attempts_of_leg
    counters.round = max((row.round for row in view.rounds), default=0)
    counters.step = view.steps_total
    state.standing = standing_of(back, state.verify)


def restore_control(control: Control, back: ReadBack) -> None:
    """Put back what supervisors had asked for and was accepted, but not done yet. Who resumes a paused run wants it to go on."""
    control.active_budget_s = back.view.budget_seconds
    control.end_attempt = "end_attempt" in back.pending
    control.verify_now = "verify_now" in back.pending
    if (switch := back.pending.get("switch_model")) is not None:
        control.next_model = switch.new
    if (chosen := back.pending.get("choose_recovery")) is not None and chosen.new in set(Action):
        control.chosen = Action(chosen.new)
    for steer in back.steers.values():
        queue = control.steers_now if steer.when == "now" else control.steers_next
        queue.append(Steer(id=steer.command_id, sender=steer.sender, text=steer.text, when=steer.when))


async def end_orphans(run: str, control: Control, words: str) -> None:
    """End what the dead process left running, and say what is resumed."""
    ended, survivors = await control.guard(reap_run(run))
    orphans = f"; {ended} processes that were left running were ended" if ended else ""
    stuck = f"; these could not be ended: {', '.join(map(str, survivors))}" if survivors else ""
    level = "warning" if survivors else "info"
    control.emitter.emit(Notice(level=level, text=f"{words}{orphans}{stuck}"))


async def clear_beginnings(repository: Repository, services: Services, run: str) -> None:
    """Remove the half-made workspace of a run that was interrupted before its first model call: nobody has worked in it."""
    await discard_workspace(repository, workspace_of(services.home, run), run, agreed=True)


async def reopen(
    state: RunState,
    control: Control,
    services: Services,
    repository: Repository,
    lent: WorkspaceSettings,
    back: ReadBack,
    made: Callable[[Workspace], None],
) -> Parts:
    """The parts of a run around the workspace that it has already. Set-up and baseline aren't run again. Raises LooptopError."""
    folder = workspace_of(services.home, state.run)
    # The git that held it died with its process; nobody else writes there.
    (folder / "book.git" / "index.lock").unlink(missing_ok=True)
    workspace = await control.guard(open_workspace(repository, folder, state.run))
    tree = workspace.tree
    shared = tuple(name for name in dict.fromkeys(lent.share) if (tree / name).is_symlink())
    copied = tuple(name for name in dict.fromkeys(lent.copy) if (tree / name).exists())
    workspace = replace(workspace, lent=Lent(shared, copied))
    made(workspace)
    confined, outside, _ = await confine(control, services, workspace, lent)
    if back.prepared is not None and OWN_INTERPRETER in back.prepared.warnings:
        confined, outside = own_interpreter_first(confined, outside)
    if back.prepared is not None and confined.words != back.prepared.sandbox:
        text = f"commands are confined otherwise than before: {confined.words} (before: {back.prepared.sandbox})"
        control.emitter.emit(Notice(level="warning", text=text))
    parts = assemble(state, control, services, workspace, outside, confined)
    outputs_of(services.home, state.run).mkdir(parents=True, exist_ok=True)
    parts.verifier.phases = back.verify_phases
    called, done = back.last_called, back.last_finished
    if called is not None and done is not None and called.step == done.step:
        key = call_key(ToolCall(id=called.call_id, name=called.tool, arguments=called.arguments, raw=called.raw))
        parts.stepper.repetition = Repetition((key, f"{done.status} {done.content}"), done.repeats)
    return parts


def close_open(state: RunState, control: Control, going_on: GoingOn) -> list[Event]:
    """Close in the record what the dead process left open: the call in flight, tool calls without a result, steering.

    Returns the events that belong into the transcript.
    """
    for lost in going_on.lost:
        _close_round(state, control, going_on.back, lost)
    for command_id in going_on.back.said_steers:
        control.emitter.emit(SteerDelivered(command_id=command_id, round=state.counters.round))
    return list(_close_calls(state, control, going_on.back))


def _close_round(state: RunState, control: Control, back: ReadBack, lost: LostCall) -> None:
    counters = state.counters
    if lost.round > counters.round:
        # It was reserved and may have been sent, but the record ends before it.
        counters.round = lost.round
        control.emitter.emit(
            RoundStarted(
                attempt=counters.attempt,
                round=lost.round,
                leg=counters.leg,
                model=state.model,
                prompt_estimate=lost.usage.input or 0,
            )
        )
    elif back.open_round is None or back.open_round.round != lost.round:
        return
    control.emitter.emit(
        RoundFinished(
            attempt=counters.attempt,
            round=lost.round,
            leg=counters.leg,
            model=state.model,
            stop="interrupted",
            stop_detail="the process that executed the run died in this call; counted at its worst case",
            usage=lost.usage,
            cost_micros=lost.cost_micros,
            latency_ms=0,
            outcome="interrupted",
        )
    )


def _close_calls(state: RunState, control: Control, back: ReadBack) -> Iterable[Event]:
    counters, begun = state.counters, back.called_but_open
    for call in back.open_calls:
        content = INTERRUPTED if begun else NOT_BEGUN
        if not begun:
            counters.step += 1
            yield control.emitter.emit(
                ToolCalled(
                    attempt=counters.attempt,
                    round=counters.round,
                    step=counters.step,
                    call_id=call.id,
                    tool=call.name,
                    arguments=call.arguments,
                    raw=call.raw if call.arguments is None else "",
                )
            )
        begun = False
        yield control.emitter.emit(
            ToolFinished(
                attempt=counters.attempt,
                round=counters.round,
                step=counters.step,
                call_id=call.id,
                tool=call.name,
                status=StepStatus.INTERRUPTED,
                content=UNDECIDED if counters.step in back.undecided else content,
            )
        )


async def resume_leg(parts: Parts, going_on: GoingOn, opening: str, closed: Iterable[Event]) -> Leg:
    """The leg that was interrupted: its transcript as it was sent, its cache mark, and `closed`, what was closed since.

    `opening` is its first user text, where that wasn't said yet.
    """
    back, services = going_on.back, parts.services
    assert back.leg is not None
    model = await services.make_model(parts.state.model, parts.model_context)
    rebuilt = back.rebuilt(closed)
    fixer = handed_to(parts, model)
    sent = rebuilt.sent
    age_s = _age_s(services, sent.started.at) if sent is not None else 0.0
    fixer.conversation.go_on(rebuilt, services.clock.monotonic() - age_s)
    fixer.rounds_made = back.rounds_made
    return Leg(model, fixer, "" if back.opened else opening, "handover" if back.leg.leg > 1 else "task")


def _age_s(services: Services, at: datetime) -> float:
    """Seconds since a moment of another process; never negative, whatever the wall clock did meanwhile."""
    return max(0.0, (services.clock.now() - at).total_seconds())
