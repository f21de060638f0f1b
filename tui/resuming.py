"""Interrupted runs: what can be resumed, what it costs, and the way back into their loop. Both front ends act through here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runtime.catalog.caps import effective_cap
from runtime.catalog.prices import Catalog
from runtime.commands import Command, SetCap
from runtime.errors import EnvironmentFault, UsageError
from runtime.events.base import Event
from runtime.events.values import RunSettings, StopReason
from runtime.loop.quoting import ResumeQuote, quote_of
from runtime.loop.readback import ReadBack, Stage
from runtime.loop.resuming import GoingOn
from runtime.loop.runner import RunOrder, RunTask
from runtime.loop.setup import WorkspaceSettings, workspace_of
from runtime.models.factory import Endpoint, endpoint_for
from runtime.workspace.clone import open_workspace
from runtime.workspace.repository import Repository, open_repository
from store.store import Store
from tui.compose import Cockpit, RunHandle
from tui.project import Project


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """A run to be resumed, by the beginning of its id, and what of its settings is this process's to say."""

    run: str
    lent: WorkspaceSettings = field(default_factory=WorkspaceSettings)
    project_cap: int | None = None
    holds: Mapping[str, bool] = field(default_factory=dict)
    """The `hold_on_...` settings: whether somebody is there to be asked."""
    commands: tuple[Command, ...] = ()
    """Sent as soon as it goes on: limits given by option."""
    sender: str = "supervisor"


@dataclass(frozen=True, slots=True)
class Resumable:
    """An interrupted run that was found fit to go on."""

    back: ReadBack
    repository: Repository
    endpoint: Endpoint
    settings: RunSettings
    price_known: bool
    quote: ResumeQuote


def request_of(run: str, project: Project, commands: tuple[Command, ...] = ()) -> ResumeRequest:
    """Ask for a run to be resumed under the settings of its project here."""
    holds = {name: value for name, value in project.run.model_dump().items() if name.startswith("hold_on_")}
    return ResumeRequest(run, project.lent, project.cap, holds, commands)


async def read_back(store: Store, run: str) -> ReadBack:
    """An interrupted run as its events tell it. Raises LooptopError in one sentence for one that can't be resumed."""
    line = await store.history.line(run)
    if line.pruned_at is not None:
        raise EnvironmentFault(f"Run {run} can't be resumed: its events were removed on {line.pruned_at[:10]}.")
    if line.reason is None:
        raise UsageError(f"Run {run} is being executed.", f"`looptop send {run} ...` gives it commands.")
    if line.reason != StopReason.INTERRUPTED.value:
        raise UsageError(
            f"Run {run} has ended: {line.reason}. Only an interrupted run can be resumed.",
            f"`looptop run --continue {run}` starts another one from what was said in it.",
        )
    back = ReadBack()
    pending: list[Event] = []
    async for event in store.history.events(run):
        pending.append(event)
        if len(pending) >= 500:
            await asyncio.to_thread(_take_all, back, pending)
            pending = []
    await asyncio.to_thread(_take_all, back, pending)
    if back.queued is None:
        raise EnvironmentFault(f"Run {run} can't be resumed: the record doesn't tell how it began.")
    return back


def _take_all(back: ReadBack, events: list[Event]) -> None:
    for event in events:
        back.take(event)


async def check_resumable(cockpit: Cockpit, run: str) -> Resumable:
    """Look at all that a resume needs. Makes and spends nothing. Raises LooptopError in one sentence."""
    back = await read_back(cockpit.store, run)
    assert back.queued is not None
    settings = back.queued.settings
    switched = back.pending["switch_model"].new if "switch_model" in back.pending else None
    endpoint = endpoint_for(switched or back.model, cockpit.env, cockpit.settings.base_url)
    try:
        repository = await open_repository(Path(back.queued.repo))
    except UsageError as error:
        raise EnvironmentFault(f"Run {run} can't be resumed: {error.message}") from error
    if back.stage is not Stage.PREPARING:
        if back.view.delivered == "discarded":
            raise EnvironmentFault(f"Run {run} can't be resumed: its workspace was discarded.")
        await open_workspace(repository, workspace_of(cockpit.home, run), run)
    catalog = cockpit.catalog
    quote = await asyncio.to_thread(quote_of, back, catalog, endpoint.provider, endpoint.name, datetime.now(UTC))
    known = await asyncio.to_thread(catalog.known, endpoint.provider, endpoint.name)
    return Resumable(back, repository, endpoint, settings, known, quote)


def quoted(
    back: ReadBack, prices: Mapping[str, Mapping[str, float]], env: Mapping[str, str], base_url: str | None
) -> ResumeQuote:
    """What resuming means, by the record alone. Raises UsageError where the model can't be reached."""
    endpoint = endpoint_for(back.model, env, base_url)
    return quote_of(back, Catalog(prices), endpoint.provider, endpoint.name, datetime.now(UTC))


async def quote_resume(cockpit: Cockpit, run: str) -> ResumeQuote:
    """What resuming a run means and costs. Raises LooptopError where it can't be resumed."""
    return (await check_resumable(cockpit, await cockpit.store.history.find(run))).quote


async def resume_run(
    cockpit: Cockpit, request: ResumeRequest, tell: Callable[[Resumable], None] = lambda _: None
) -> RunHandle:
    """Take an interrupted run over and go on with it; `tell` is told what that means before it is begun.

    Raises LooptopError in one sentence; nothing is changed then.
    """
    store = cockpit.store
    run = await store.history.find(request.run)
    found = await check_resumable(cockpit, run)
    for command in request.commands:
        _check(found.back, command)
    tell(found)
    if await store.claims.claim(run) != found.back.view.seq:
        # Something was added since, by a process that has ended by now.
        found = await check_resumable(cockpit, run)
    back = found.back
    assert back.queued is not None
    order = RunOrder(
        run=run,
        repository=found.repository,
        task=back.queued.task,
        verify=back.queued.verify,
        settings=found.settings.model_copy(update=dict(request.holds)),
        lent=request.lent,
        price_known=found.price_known,
        continues=back.queued.continues,
        conversation=() if back.opening else await cockpit.conversation(found.repository, back.queued.continues),
    )
    lost = tuple(await store.history.lost_calls(run))
    going_on = GoingOn(back, lost, request.sender, f"resumed: {found.quote.words}")
    # Kept outputs are read for it: not on the loop that the dashboard lives on.
    task = await asyncio.to_thread(RunTask, order, cockpit.services(request.project_cap), going_on)
    if not task.state.limits.cap:
        cap = effective_cap(
            found.endpoint.name,
            option=found.settings.cap,
            project=request.project_cap,
            defaults=cockpit.settings.caps,
        )
        task.state.limits.cap, task.state.limits.cap_source = cap.value, cap.source
    handle = cockpit.host(task)
    for command in request.commands:
        handle.send(command)
    return handle


def _check(back: ReadBack, command: Command) -> None:
    """Raise UsageError for a limit that the run would refuse."""
    made = back.view.attempts_of_leg
    if isinstance(command, SetCap) and command.cap < made:
        raise UsageError(f"--cap {command.cap}: {made} attempts of this leg are made already; the cap can't be lower.")
