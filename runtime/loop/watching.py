"""StopLoss in a live run: sees the tool steps as they are recorded, scores checkpoints beside the loop, and decides at its gates."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from runtime.commands import SetStoploss
from runtime.errors import LooptopError
from runtime.events.base import Event
from runtime.events.checks import StoplossScored, StoplossSet
from runtime.events.loop import LegStarted, ModelSwitched, ToolCalled, ToolFinished
from runtime.events.supervision import CapChanged, Notice
from runtime.events.values import HoldReason, StopReason
from runtime.loop.control import Control
from runtime.loop.interruptions import Cut, RunEnds
from runtime.loop.keeping import keep_row
from runtime.loop.limits import limits_of
from runtime.loop.services import MakeMonitor, ModelContext, Services
from runtime.loop.side_calls import SideCall, SideCaller
from runtime.loop.state import RunState
from runtime.models.base import Request
from runtime.ports import CallRow
from runtime.scope import scope
from runtime.stoploss.monitor import Check, Monitor
from runtime.stoploss.scorers.base import Call, ScorerError
from runtime.stoploss.scorers.judge import Answer, Judge
from runtime.stoploss.trajectories.own import executor_of, step_of
from runtime.stoploss.transfer import Mode
from runtime.stoploss.window import Window
from runtime.usage import FREE, Money, Usage, add_usage

PURPOSE = "stoploss"
ENDS_WITH = ("resume", "choose_recovery", "set_stoploss", "end_attempt")
WAITING = frozenset({Mode.ASK, Mode.ABORT})


class Watcher:
    """One per run. `take` gets every event of it, `decide` is awaited where the run may be stopped."""

    def __init__(self, state: RunState, control: Control, services: Services) -> None:
        self._state = state
        self._control = control
        self._services = services
        self._monitor: Monitor | None = None
        self._called: dict[int, ToolCalled] = {}
        self._models: list[str] = []
        self._task: asyncio.Task[None] | None = None
        self._windows: list[Window] = []
        self._checks: list[Check] = []
        self._side = SideCall()
        self._told = ""
        self._by_hand = False

    async def begin(self, make: MakeMonitor | None, project: str, context: ModelContext) -> None:
        """Get the run's monitor. One whose scorer can't be had is said, and the run goes on unmonitored."""
        if make is None:
            return
        try:
            self._monitor = await make(self._state, project, partial(self._judge, context))
        except LooptopError as error:
            text = f"StopLoss doesn't monitor this run: {self._services.masker.mask(str(error))}"
            self._control.emitter.emit(Notice(level="warning", text=text))
        self._control.watch = self

    def take(self, event: Event) -> None:
        """See an event."""
        monitor = self._monitor
        if isinstance(event, LegStarted):
            self._models.append(event.model)
        elif isinstance(event, ToolCalled):
            self._called[event.step] = event
        elif isinstance(event, ToolFinished) and event.step in self._called:
            step = step_of(self._called.pop(event.step), event)
            window = monitor.add(step) if monitor is not None else None
            if window is not None:
                self._windows.append(window)
                self._start()
        elif isinstance(event, CapChanged) and monitor is not None:
            monitor.changed(f"the retry cap was set to {event.new}")
        elif isinstance(event, ModelSwitched) and monitor is not None:
            monitor.changed(f"the model was switched to {event.new}", executor_of([*self._models, event.new]))

    def restore(self, events: Iterable[Event]) -> None:
        """See what earlier processes of the run recorded; whoever made the monitor has given it their tool steps already."""
        for event in events:
            if isinstance(event, ToolFinished):
                self._called.pop(event.step, None)
            else:
                self.take(event)

    # Scoring

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._score_all(), name=f"stoploss-{self._state.run}")

    async def _score_all(self) -> None:
        while self._windows:
            await self._score(self._windows.pop(0))

    async def _score(self, window: Window) -> None:
        monitor = self._monitor
        assert monitor is not None
        self._side = SideCall()
        check = await monitor.check(window)
        usage, money = (self._side.usage, self._side.money) if self._side.tries else (FREE, Money())
        counters = self._state.counters
        with scope(leg=counters.leg, attempt=counters.attempt, round=None, purpose=PURPOSE):
            for call in check.calls:
                usage, money = add_usage(usage, call.usage), money.plus(call.cost_micros)
                await keep_row(self._services, self._control, self._row(call))
        self._tell(check, usage, money)
        self._checks.append(check)

    def _tell(self, check: Check, usage: Usage, money: Money) -> None:
        emit = self._control.emitter.emit
        emit(
            StoplossScored(
                step=check.step,
                scorer=check.scorer,
                score=check.score,
                # Minus infinity, "every score is above", is below every score as 0 is.
                threshold=None if check.threshold is None else max(0.0, check.threshold),
                mode=check.mode.value,
                next_step=check.next_step,
                usage=usage,
                cost_micros=money.micros if money.complete else None,
                error=self._services.masker.mask(check.error),
                why=check.why,
            )
        )
        # That a default can't be in force yet is no news in every run.
        news = self._state.settings.stoploss_chosen or check.threshold is not None
        if news and check.why and check.why != self._told:
            self._told = check.why
            emit(Notice(text=f"StopLoss is on {check.mode.value}: {check.why}"))

    def _row(self, call: Call) -> CallRow:
        return CallRow(
            call_id=f"{self._state.run}-{PURPOSE}-{secrets.token_hex(4)}",
            provider=call.provider,
            model=call.model,
            usage=call.usage,
            cost_micros=call.cost_micros,
            price_version=call.price_version,
            started_at=self._services.clock.now() - timedelta(milliseconds=call.latency_ms),
            latency_ms=int(call.latency_ms),
            ttft_ms=None,
            request_id=call.request_id,
            outcome="ok",
        )

    def _judge(self, context: ModelContext, name: str) -> Judge:
        async def ask(request: Request) -> Answer:
            model = await self._services.make_model(name, context)
            try:
                keep = partial(keep_row, self._services, self._control)
                caller = SideCaller(self._services, limits_of(self._state, self._services), keep, self._state.run)
                asked = request.model_copy(update={"model": model.name})
                await caller.call(model, asked, PURPOSE, self._side)
            finally:
                await model.close()
            if self._side.failed:
                raise ScorerError(f"The judge {name} did not answer ({self._side.failed}).")
            return Answer(self._side.text, self._side.micros)

        return Judge(name, ask)

    # Deciding

    async def decide(self) -> bool:
        """Wait for checks whose outcome may stop the run, and act on them; returns whether the fix phase ends for a recovery.

        Raises RunEnds where StopLoss, or the supervisor whom it asked, ends the run; Aborted.
        """
        monitor = self._monitor
        if monitor is None:
            return False
        if monitor.mode in WAITING and monitor.calibration is not None and self._task is not None:
            try:
                await self._control.guard(_done(self._task))
            except Cut:
                return False
        while self._checks:
            check = self._checks.pop(0)
            if check.action == "abort":
                raise RunEnds(StopReason.STOPLOSS, _words(check))
            if check.action == "ask" and await self._asked(check, monitor):
                return True
        return False

    async def _asked(self, check: Check, monitor: Monitor) -> bool:
        """Hold for the supervisor's decision; returns whether the fix phase ends for a recovery."""
        if not self._state.settings.hold_on_stoploss:
            self._control.emitter.emit(Notice(level="warning", text=f"{_words(check)}; nobody is asked, so it goes on"))
            return False

        def settled() -> bool:
            threshold = monitor.threshold
            return monitor.mode not in WAITING or threshold is None or (check.score or 0.0) <= threshold

        text = f"{_words(check)}. Go on, choose a recovery, raise the threshold, or end the run."
        ended_by = await self._control.hold(HoldReason.STOPLOSS, text, ENDS_WITH, settled)
        if ended_by == "end_attempt":
            raise RunEnds(StopReason.STOPLOSS, f"{_words(check)}; the supervisor ended the run")
        return ended_by == "choose_recovery"

    def set_stoploss(self, command: SetStoploss) -> tuple[str, str]:
        """Set mode, threshold or both; returns both before and after, in words. Raises ValueError where nothing monitors the run."""
        monitor = self._monitor
        if monitor is None:
            raise ValueError("no StopLoss monitor runs in this run: it was started with it off")
        before = _standing(monitor)
        if command.mode is not None:
            monitor.set_mode(Mode(command.mode))
        if command.threshold is not None:
            monitor.set_threshold(command.threshold)
        self._by_hand = self._by_hand or command.threshold is not None
        threshold = None if monitor.threshold is None else max(0.0, monitor.threshold)
        self._control.emitter.emit(StoplossSet(mode=monitor.mode.value, threshold=threshold, by_hand=self._by_hand))
        return before, _standing(monitor)

    async def close(self) -> None:
        """Let a check that is under way end, at once, and close the scorer."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._monitor is not None:
            await self._monitor.scorer.close()


async def _done(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


def _words(check: Check) -> str:
    score, threshold = check.score or 0.0, max(0.0, check.threshold or 0.0)
    return f"StopLoss: {check.scorer} scores {score:.2f} at step {check.step}, above the threshold of {threshold:.2f}"


def _standing(monitor: Monitor) -> str:
    threshold = monitor.threshold
    return f"{monitor.mode.value}, threshold {'none' if threshold is None else f'{max(0.0, threshold):.2f}'}"
