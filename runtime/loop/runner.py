"""One run as a task: from its queued event to its finished one, whatever happens in between."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass

from runtime.commands import Abort, Command
from runtime.emitter import Emitter
from runtime.errors import LooptopError
from runtime.events.base import Event
from runtime.events.checks import WindowTaken
from runtime.events.loop import RunFinished, RunQueued
from runtime.events.supervision import CommandAccepted, CommandRefused, RunResumed
from runtime.events.values import RunSettings, StopReason, VerifySpec
from runtime.loop.analysis import analyse
from runtime.loop.control import Control
from runtime.loop.finishing import finish
from runtime.loop.interruptions import Aborted, Cut, RunEnds
from runtime.loop.keeping import durable
from runtime.loop.mailbox import Mailbox
from runtime.loop.readback import Stage
from runtime.loop.resuming import GoingOn, clear_beginnings, end_orphans, reopen, restore_control, restore_state
from runtime.loop.run import Loop
from runtime.loop.services import ModelContext, Services
from runtime.loop.setup import Parts, WorkspaceSettings, prepare
from runtime.loop.state import Limits, RunState
from runtime.loop.watching import Watcher
from runtime.models.base import Message, Text
from runtime.prompt.window import Turn, take_window
from runtime.scope import scope
from runtime.workspace.clone import Workspace
from runtime.workspace.repository import Repository

log = logging.getLogger(__name__)
OPENING_WITHOUT_TASK = "Make the project's verify commands pass."


def new_run_id() -> str:
    """A short random id: r and five hexadecimal digits, enough for a store; the caller checks that it is free."""
    return f"r{secrets.token_hex(3)[:5]}"


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a run is to do, checked by whoever hosts it."""

    run: str
    repository: Repository
    task: str
    verify: tuple[VerifySpec, ...]
    settings: RunSettings
    lent: WorkspaceSettings
    price_known: bool
    continues: str | None = None
    conversation: tuple[Turn, ...] = ()
    """What was said in this project before; the task comes after it."""


class RunTask:
    """A run being executed. `send` takes commands at any time; `done` is its end."""

    def __init__(self, order: RunOrder, services: Services, going_on: GoingOn | None = None) -> None:
        """`going_on` is the interrupted run that this process took over, to be resumed."""
        self._order = order
        self._services = services
        self._going_on = going_on
        seq, offset = (going_on.back.view.seq, going_on.back.view.last_ms) if going_on is not None else (0, 0)
        emitter = Emitter(order.run, services.record, self._publish, services.clock, seq + 1, offset)
        settings = order.settings
        limits = Limits(0, "", settings.budget_tokens, settings.budget_micros, settings.budget_seconds)
        self.state = RunState(order.run, order.task, settings, order.verify, limits, settings.model)
        self.state.price_known = order.price_known
        self._control = Control(emitter, services.clock, active_budget_s=settings.budget_seconds)
        self._watcher = Watcher(self.state, self._control, services)
        if going_on is not None:
            restore_state(self.state, going_on.back)
            restore_control(self._control, going_on.back)
        self._mailbox = Mailbox(self.state, self._control, going_on.back.answers if going_on is not None else None)
        self._orphans_ended = False
        self._workspace: Workspace | None = None
        self._loop: Loop | None = None
        self._context: ModelContext | None = None
        self._task: asyncio.Task[RunFinished] | None = None

    @property
    def run(self) -> str:
        """The run's id."""
        return self._order.run

    def _publish(self, event: Event) -> None:
        self._services.bus.publish(event)
        self._watcher.take(event)

    def send(self, command: Command) -> CommandAccepted | CommandRefused:
        """Give the run a command; the answer is in the record too."""
        return self._mailbox.send(command)

    def start(self) -> asyncio.Task[RunFinished]:
        """Begin, or go on. The task ends with the run's finished event and raises only when the process itself is to end."""
        if self._going_on is not None:
            self._control.emitter.emit(RunResumed(sender=self._going_on.sender, resumed=True))
        self._task = asyncio.create_task(self._main(), name=f"run-{self.run}")
        return self._task

    async def _main(self) -> RunFinished:
        order, settings = self._order, self._order.settings
        with scope(project=order.repository.project, tenant=settings.tenant, category=settings.category, run=order.run):
            if self._going_on is None:
                self._control.emitter.emit(
                    RunQueued(
                        task=order.task,
                        repo=str(order.repository.root),
                        project=order.repository.project,
                        verify=order.verify,
                        settings=settings,
                        continues=order.continues,
                        worker=self._services.worker,
                    )
                )
            end = await self._worked()
            self._mailbox.closed = True
            await self._watcher.close()
            return await self._finish(end)

    async def _worked(self) -> RunEnds:
        """Do the run's work and sum a bad end up; returns the one reason for which it ended."""
        end: RunEnds | None = None
        try:
            await durable(self._services, self._control)
            try:
                end = await self._work()
            except RunEnds as reason:
                end = reason
            aborted = self._control.abort
            if aborted is not None and not isinstance(end, Aborted):
                # It was accepted when there was nothing left to cut.
                end = Aborted(aborted.sender, aborted.reason)
            elif self._context is not None:
                await analyse(self.state, self._control, self._services, self._context, end)
        except Aborted as abort:
            end = abort
        except asyncio.CancelledError:
            # The process is going down: what was done is kept and said before it does.
            if end is None:
                self._mailbox.send(Abort(sender="looptop", reason="the process was ended"))
                end = RunEnds(StopReason.ABORTED, "the process was ended")
        return end

    async def _work(self) -> RunEnds:
        try:
            parts = await self._prepared()
            self._context = parts.model_context
            await self._watcher.begin(self._services.make_monitor, self._order.repository.project, self._context)
            if self._going_on is not None:
                self._watcher.restore(self._going_on.back.watched)
            self._loop = Loop(parts)
            said = self._going_on.back.opening if self._going_on is not None else ""
            return await self._loop.attempts(said or self._opening(), self._going_on)
        except Cut:
            return RunEnds(StopReason.UNRECOVERABLE, "cut before anything was begun")
        except LooptopError as error:
            return RunEnds(StopReason.UNRECOVERABLE, self._services.masker.mask(str(error)))
        except (RunEnds, asyncio.CancelledError):
            raise
        except Exception as error:
            log.exception("run %s failed", self.run)
            text = f"looptop itself failed: {type(error).__name__}: {error}; the log has the details"
            return RunEnds(StopReason.UNRECOVERABLE, self._services.masker.mask(text))

    def _opening(self) -> str:
        """The first user text: the task, after as much of the conversation before it as the window holds."""
        task = self._order.task or OPENING_WITHOUT_TASK
        if not self._order.conversation:
            return task
        turns = (*self._order.conversation, Turn("supervisor", task))
        window = take_window(turns)
        self._control.emitter.emit(
            WindowTaken(
                turns=window.kept,
                turns_total=window.kept + window.cut,
                characters=window.characters,
                characters_total=sum(len(turn.text) for turn in turns),
            )
        )
        return window.text

    async def _prepared(self) -> Parts:
        """Prepare, however often a supervisor says something that cuts what is under way."""
        while True:
            try:
                return await self._prepare()
            except Cut:
                await self._control.gate()
                resumed = self._going_on is not None and self._going_on.back.stage is not Stage.PREPARING
                if self._workspace is not None and not resumed:
                    self._workspace = None
                    await clear_beginnings(self._order.repository, self._services, self.run)

    async def _prepare(self) -> Parts:
        def made(workspace: Workspace) -> None:
            self._workspace = workspace

        order, state, control, services = self._order, self.state, self._control, self._services
        if self._going_on is not None:
            if not self._orphans_ended:
                await end_orphans(order.run, control, self._going_on.words)
                self._orphans_ended = True
            back = self._going_on.back
            if back.stage is not Stage.PREPARING:
                return await reopen(state, control, services, order.repository, order.lent, back, made)
            await clear_beginnings(order.repository, services, order.run)
        return await prepare(state, control, services, order.repository, order.lent, made)

    async def _finish(self, end: RunEnds) -> RunFinished:
        settled = asyncio.ensure_future(
            finish(self.state, self._control, self._services, self._workspace, end, self._last_words())
        )
        while not settled.done():
            try:
                await asyncio.shield(settled)
            except asyncio.CancelledError:
                if settled.cancelled():
                    raise
        return settled.result()

    def _last_words(self) -> str:
        """The model's closing text, where it had one."""
        message: Message | None = self._loop.last_message() if self._loop is not None else None
        if message is None:
            return ""
        text = "\n".join(block.text for block in message.blocks if isinstance(block, Text))
        return self._services.masker.mask(text.strip())
