"""Puts a runtime and its store together: the cockpit that the dashboard and the headless mode both start runs with."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runtime.bus import Bus
from runtime.catalog.caps import check_cap, effective_cap
from runtime.catalog.prices import Catalog
from runtime.commands import Abort, Command
from runtime.curves.legs import family_of
from runtime.errors import EnvironmentFault, UsageError
from runtime.events.loop import RunFinished
from runtime.events.supervision import CommandAccepted, CommandRefused
from runtime.events.values import RunSettings, VerifySpec
from runtime.loop.recovering import check_router
from runtime.loop.runner import RunOrder, RunTask, new_run_id
from runtime.loop.services import MakeJudge, ModelContext, Services
from runtime.loop.setup import WorkspaceSettings
from runtime.loop.state import RunState
from runtime.models.base import Model
from runtime.models.factory import Endpoint, endpoint_for, make_model
from runtime.models.limiter import Limiter, Limits
from runtime.models.transport import RetryPolicy, Transport
from runtime.ports import Limit, RecordBlocked, SystemClock
from runtime.prompt.window import Turn
from runtime.sockets.server import CommandServer
from runtime.stoploss.monitor import Monitor
from runtime.text import Masker, one_line, secret_values
from runtime.verify.detect import Detected, detect_steps
from runtime.verify.hazards import status_hazards
from runtime.workspace.deliver import check_new_branch
from runtime.workspace.git import git_version
from runtime.workspace.repository import Repository, open_repository
from store.curves import trial_of
from store.owner import this_process
from store.store import Store, open_store
from tui.recovery import recover_lost

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostSettings:
    """What the settings say about all runs of this process."""

    caps: Mapping[str, int] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    transport: RetryPolicy = field(default_factory=RetryPolicy)
    rates: Limits = field(default_factory=Limits)
    base_url: str | None = None
    limits: tuple[Limit, ...] = ()
    """Dollar budgets of project, tenant and day."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run as somebody asks for it. `verify` None takes what the repository shows."""

    repo: Path
    task: str
    settings: RunSettings
    verify: tuple[VerifySpec, ...] | None = None
    lent: WorkspaceSettings = field(default_factory=WorkspaceSettings)
    project_cap: int | None = None
    continues: str | None = None


@dataclass(frozen=True, slots=True)
class RunHandle:
    """A run under way."""

    task: RunTask
    done: asyncio.Task[RunFinished]

    @property
    def run(self) -> str:
        """The run's id."""
        return self.task.run

    def send(self, command: Command) -> CommandAccepted | CommandRefused:
        """Give it a command."""
        return self.task.send(command)


class Cockpit:
    """Hosts runs of this process. Every request is checked whole before anything is made or spent."""

    def __init__(self, home: Path, store: Store, settings: HostSettings, env: Mapping[str, str]) -> None:
        self.home = home
        self.store = store
        self.bus = Bus()
        self.settings = settings
        self.catalog = Catalog(settings.prices)
        self.runs: dict[str, RunHandle] = {}
        self._env = dict(env)
        self._masker = Masker(secret_values(env))
        self._transport = Transport(settings.transport, Limiter(settings.rates))

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that keys and addresses of servers are taken from."""
        return self._env

    async def start(self, request: RunRequest) -> RunHandle:
        """Check a request and start its run. Raises LooptopError in one sentence; nothing is left behind then."""
        repository, verify, endpoint = await check_request(request, self.settings, self._env)
        settings = request.settings
        project_cap = request.project_cap
        if project_cap is None:
            project_cap = await self.store.history.project_cap(repository.project)
        if project_cap is not None:
            check_cap(project_cap, "The project's fix_verify_retry_cap")
        cap = effective_cap(endpoint.name, option=settings.cap, project=project_cap, defaults=self.settings.caps)
        order = RunOrder(
            run=await self._free_id(),
            repository=repository,
            task=request.task.strip(),
            verify=verify,
            settings=settings,
            lent=request.lent,
            price_known=await asyncio.to_thread(self.catalog.known, endpoint.provider, endpoint.name),
            continues=request.continues,
            conversation=await self.conversation(repository, request.continues),
        )
        task = RunTask(order, self.services(project_cap))
        task.state.limits.cap, task.state.limits.cap_source = cap.value, cap.source
        return self.host(task)

    def host(self, task: RunTask) -> RunHandle:
        """Execute a run in this process."""
        handle = RunHandle(task, task.start())
        self.runs[task.run] = handle
        return handle

    async def conversation(self, repository: Repository, continues: str | None) -> tuple[Turn, ...]:
        """What was said in the project up to the run that is continued, and after it."""
        if continues is None:
            return ()
        line = await self.store.history.line(await self.store.history.find(continues))
        if line.project != repository.project:
            raise UsageError(f"Run {continues} belongs to {line.repo}, not to {repository.root}.")
        turns = await self.store.history.conversation(repository.project)
        return tuple(Turn("agent" if turn.role == "assistant" else "supervisor", turn.text) for turn in turns)

    async def _free_id(self) -> str:
        while True:
            run = new_run_id()
            if not await self.store.database.rows("SELECT 1 FROM runs WHERE id = ?", (run,)):
                return run

    def services(self, project_cap: int | None = None) -> Services:
        """What runs, and calls outside of runs, use of this process."""
        return Services(
            record=self.store.record,
            ledger=self.store.ledger,
            bus=self.bus,
            clock=SystemClock(),
            transport=self._transport,
            make_model=self._make_model,
            prices=self.catalog,
            home=self.home,
            env=self._env,
            masker=self._masker,
            caps=self.settings.caps,
            project_cap=project_cap,
            worker=this_process().host,
            limits=self.settings.limits,
            trial=self._trial,
            make_monitor=self._monitor,
        )

    async def _trial(self, model: str) -> str:
        return await trial_of(self.store.database, family_of(model, self.settings.caps))

    async def _monitor(self, state: RunState, project: str, judge: MakeJudge) -> Monitor | None:
        # The library loads with the first run, not with looptop.
        from tui.monitoring import monitors

        make = monitors(self.store, self.home, self._env, self.settings.base_url, self.catalog)
        return await make(state, project, judge)

    async def _make_model(self, name: str, context: ModelContext) -> Model:
        def local() -> Model:
            from runtime.models.local.model import LocalModel

            return LocalModel(context)

        return make_model(
            name, self._env, self.settings.base_url, silence_s=self.settings.transport.silence_s, make_local=local
        )

    async def take(self, run: str, command: Command) -> CommandAccepted | CommandRefused:
        """Give a run a command that came from outside of this process; its answer is in the record before it is told.

        Raises UsageError where this process doesn't host the run.
        """
        handle = self.runs.get(run)
        if handle is None:
            raise UsageError(f"Run {run} isn't executed by this looptop.")
        answer = handle.send(command)
        with contextlib.suppress(RecordBlocked):
            await self.store.record.flush()
        return answer

    async def close(self, sender: str = "looptop") -> None:
        """Abort what still runs and wait for its end; the work is kept."""
        live = [handle for handle in self.runs.values() if not handle.done.done()]
        for handle in live:
            handle.send(Abort(sender=sender, reason="looptop was closed"))
        if live:
            await asyncio.wait([handle.done for handle in live])


async def check_request(
    request: RunRequest, host: HostSettings, env: Mapping[str, str]
) -> tuple[Repository, tuple[VerifySpec, ...], Endpoint]:
    """What a request comes to: its repository, verify steps and model. Makes nothing. Raises LooptopError in one sentence."""
    await git_version()
    repository = await open_repository(request.repo)
    verify = request.verify if request.verify is not None else tuple(d.spec for d in detect_steps(repository.root))
    _check_verify(repository, verify)
    settings = request.settings
    how, _, branch = (settings.deliver or "").partition(":")
    if how == "branch":
        await check_new_branch(repository, branch)
    check_router(settings.recovery)
    if settings.cap is not None:
        check_cap(settings.cap, "--cap")
    if settings.failure_analysis:
        endpoint_for(settings.failure_analysis, env, host.base_url)
    return repository, verify, endpoint_for(settings.model, env, host.base_url)


def _check_verify(repository: Repository, verify: tuple[VerifySpec, ...]) -> None:
    if not verify:
        raise UsageError(
            f"No verify command is known for {repository.root}.", 'Give one: --verify "python -m pytest -q".'
        )
    for spec in verify:
        if not spec.command.strip():
            raise UsageError("A verify command is empty.", "Leave it out, or say what it runs.")
        hazards = status_hazards(spec.command)
        if hazards:
            raise UsageError(
                f"The verify command `{one_line(spec.command, 120)}` can't be trusted: {hazards[0]}.",
                "Change it so that it fails when its checks fail.",
            )


async def detected_verify(repo: Path) -> list[Detected]:
    """Verify steps that a repository shows. Raises LooptopError where it isn't one."""
    return detect_steps((await open_repository(repo)).root)


@asynccontextmanager
async def open_cockpit(
    home: Path, settings: HostSettings | None = None, env: Mapping[str, str] | None = None
) -> AsyncIterator[Cockpit]:
    """Open store and runtime; on leaving, what still runs is aborted and everything is written. Raises StoreError."""
    async with open_store(home) as store:
        cockpit = Cockpit(home, store, settings or HostSettings(), env if env is not None else os.environ)
        await recover_lost(store)
        server = CommandServer(home, cockpit.take)
        try:
            await server.open()
        except EnvironmentFault as error:
            # Runs don't depend on it: they can't be sent commands from outside then.
            log.warning("no commands are taken from other processes: %s", error)
        try:
            yield cockpit
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await cockpit.close()
            await server.close()
