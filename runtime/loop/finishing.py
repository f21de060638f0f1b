"""The end of a run: what was changed is kept under a ref, delivered if asked for, summed up from the ledger."""

from __future__ import annotations

import contextlib

from runtime.errors import LooptopError
from runtime.events.loop import ChangeDelivered, RunFinished
from runtime.events.supervision import RunAborted, SteerDelivered
from runtime.events.values import AbortReceipt, DiffStat, StopReason
from runtime.loop.control import Control
from runtime.loop.interruptions import Aborted, RunEnds
from runtime.loop.keeping import durable
from runtime.loop.services import Services
from runtime.loop.state import RunState
from runtime.ports import RunTotals
from runtime.process.tree import reap_run
from runtime.text import one_line
from runtime.usage import MICROS_PER_DOLLAR
from runtime.workspace.clone import Workspace
from runtime.workspace.deliver import Delivered, Kept, apply_change, branch_change, keep_result
from runtime.workspace.discard import discard_workspace
from runtime.workspace.repository import Repository

LEFT_OUT_SHOWN = 10
"""How many files are named that are left out of a change."""


async def finish(
    state: RunState, control: Control, services: Services, workspace: Workspace | None, end: RunEnds, said: str
) -> RunFinished:
    """Settle a run and emit its run_finished, the last event of its loop. `said` is the model's own closing text."""
    ended, survivors = await reap_run(state.run)
    diff, ref, tree = DiffStat(), None, None
    if workspace is not None:
        diff, ref, tree = await _keep(state, workspace, end)
    if isinstance(end, Aborted):
        late = await _late_writes(workspace, tree)
        receipt = AbortReceipt(
            ended_processes=control.processes_at_abort + ended,
            survivors=survivors,
            kept_ref=ref,
            diff=diff,
            late_writes=late,
            call_in_flight=control.call_cut,
            call_in_flight_micros=control.call_cut_micros,
        )
        control.emitter.emit(RunAborted(sender=end.sender, reason=end.why, receipt=receipt))
    for steer in (*control.steers_now, *control.steers_next):
        control.emitter.emit(SteerDelivered(command_id=steer.id, round=None, dropped="the run ended"))
    if end.reason is StopReason.PASSED and state.settings.deliver and workspace is not None and tree is not None:
        await _deliver(state, control, workspace, tree)
    if workspace is not None and ref is None and not state.counters.step:
        # No tool ran, so there is nothing in the workspace that anybody made.
        await discard_workspace(workspace.repository, workspace.folder, state.run, agreed=True)
    totals = await services.ledger.run_totals(state.run)
    detail = "; ".join(filter(None, (end.detail, await _left_out(workspace))))
    finished = control.emitter.emit(_event(state, end, detail, totals, diff, ref, said))
    await durable(services, control)
    return finished


async def _keep(state: RunState, workspace: Workspace, end: RunEnds) -> tuple[DiffStat, str | None, str | None]:
    """Record the change; returns its size, the ref that keeps it, and its tree. A broken workspace keeps what it has."""
    with contextlib.suppress(LooptopError):
        book = workspace.book
        tree = await book.snapshot()
        diff = await book.stat(workspace.start_tree, tree)
        if tree == workspace.start_tree:
            return diff, None, tree
        message = f"looptop {state.run}: {end.reason.value}\n\n{state.task}".strip()
        return diff, await keep_result(book, workspace.repository, state.run, tree, message), tree
    return state.standing.diff, None, None


async def _late_writes(workspace: Workspace | None, tree: str | None) -> tuple[str, ...]:
    """Files that changed after everything was ended: something that escaped still writes."""
    if workspace is None or tree is None:
        return ()
    with contextlib.suppress(LooptopError):
        again = await workspace.book.snapshot()
        return tuple(one_line(change.path) for change in await workspace.book.changes(tree, again))
    return ()


async def _left_out(workspace: Workspace | None) -> str:
    """New files that are no part of the change, in words; a broken workspace tells none."""
    if workspace is None:
        return ""
    with contextlib.suppress(LooptopError):
        names = await workspace.book.withheld()
        more = f" and {len(names) - LEFT_OUT_SHOWN} more" if len(names) > LEFT_OUT_SHOWN else ""
        if names:
            return f"not part of the change, because they look like secrets: {', '.join(names[:LEFT_OUT_SHOWN])}{more}"
    return ""


async def _deliver(state: RunState, control: Control, workspace: Workspace, tree: str) -> None:
    how, _, name = (state.settings.deliver or "").partition(":")
    try:
        change = Kept(workspace.book, workspace.start_tree, tree, workspace.repository.head)
        done = await deliver_change(change, workspace.repository, state.run, how, name, state.task)
        detail = "" if done.ok else "conflicts with the working tree; nothing was written"
        event = ChangeDelivered(
            how="branch" if how == "branch" else "apply",
            ok=done.ok,
            branch=done.branch,
            conflicts=done.conflicts,
            detail=detail,
        )
    except LooptopError as error:
        event = ChangeDelivered(how="branch" if how == "branch" else "apply", ok=False, detail=str(error))
    control.emitter.emit(event)


async def deliver_change(change: Kept, repository: Repository, run: str, how: str, name: str, task: str) -> Delivered:
    """Apply a change or keep it as a branch. Raises LooptopError."""
    if how == "branch":
        message = (task or "Make verify pass").strip() + f"\n\nlooptop run {run}"
        return await branch_change(change.book, repository, change.start, change.end, name, message, base=change.base)
    return await apply_change(change.book, repository, change.start, change.end)


def _event(
    state: RunState, end: RunEnds, detail: str, totals: RunTotals, diff: DiffStat, ref: str | None, said: str
) -> RunFinished:
    usage, money = totals.usage, totals.money
    return RunFinished(
        reason=end.reason,
        detail=detail,
        attempts=state.counters.attempt,
        rounds=state.counters.round,
        steps=state.counters.step,
        usage={
            "input": usage.input if totals.calls else 0,
            "output": usage.output if totals.calls else 0,
            "cache_read": usage.cache_read if totals.calls else 0,
            "cache_write": usage.cache_write if totals.calls else 0,
        },
        cost_usd=money.micros / MICROS_PER_DOLLAR if money.complete else None,
        cost_micros=money.micros if money.complete else None,
        diff_stat=diff,
        summary=said,
        result_ref=ref,
    )
