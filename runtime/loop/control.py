"""A supervisor's hand on a run: what was asked for, and the gates at which the loop listens.

Everything here runs in one event loop, so a command takes effect between two awaits and never in the middle of a step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from runtime.commands import Abort, SetStoploss, Steer
from runtime.emitter import Emitter
from runtime.events.supervision import RunHeld, RunPaused, RunResumed
from runtime.events.values import Action, HoldReason
from runtime.loop.interruptions import Aborted, Cut
from runtime.ports import Clock

T = TypeVar("T")


class Watch(Protocol):
    """StopLoss, as the gates and the mailbox see it."""

    async def decide(self) -> bool:
        """Act on checks that are done; whether the fix phase ends for a recovery. Raises RunEnds."""
        ...

    def set_stoploss(self, command: SetStoploss) -> tuple[str, str]:
        """Set mode or threshold; both before and after, in words. Raises ValueError where nothing monitors the run."""
        ...


@dataclass
class Waiting:
    """The hold that the run is in, and what was decided about it."""

    why: HoldReason
    ends_with: tuple[str, ...]
    ended_by: str = ""


@dataclass
class Control:
    """What supervisors asked of a run, and the waiting that follows from it."""

    emitter: Emitter
    clock: Clock
    abort: Abort | None = None
    paused: bool = False
    waiting: Waiting | None = None
    end_attempt: bool = False
    verify_now: bool = False
    chosen: Action | None = None
    next_model: str | None = None
    steers_now: list[Steer] = field(default_factory=list)
    steers_next: list[Steer] = field(default_factory=list)
    verdicts: dict[int, tuple[bool, str, str]] = field(default_factory=dict)
    """Approvals by tool step: approved or not, sender, reason."""
    undecided: set[int] = field(default_factory=set)
    """Tool steps that wait for an approval."""
    watch: Watch | None = None
    """StopLoss, where it monitors this run."""
    active_budget_s: float | None = None
    """The time budget, in seconds of activity; None is off."""
    processes_at_abort: int = 0
    call_cut: bool = False
    """Whether an abort cut a model call, and what that call is taken to have cost."""
    call_cut_micros: int | None = None

    def __post_init__(self) -> None:
        self._changed = asyncio.Event()
        self._operation: asyncio.Task[Any] | None = None
        self._cut = False
        self._started = self.clock.monotonic()
        self._waited_s = 0.0
        self._wait_began: float | None = None
        self._held_since = self._started

    # What time counts

    def active_s(self, before: float = 0.0) -> float:
        """Seconds since the start without held and paused time, plus `before` from earlier processes."""
        now = self.clock.monotonic()
        waiting = now - self._wait_began if self._wait_began is not None else 0.0
        return before + now - self._started - self._waited_s - waiting

    # Telling the loop that something changed

    def poke(self, cut: bool = False) -> None:
        """Wake the gates; with `cut`, end the operation in flight too."""
        self._changed.set()
        if cut and self._operation is not None and not self._operation.done():
            self._cut = True
            self._operation.cancel()

    async def guard(self, work: Coroutine[Any, Any, T], deadline_s: float | None = None) -> T:
        """Run one operation that an abort or a cut may end. Raises Aborted or Cut; cleans up by the operation's own cancellation.

        `deadline_s` is how long it may take before it is cut.
        """
        if self.abort is not None:
            work.close()
            raise Aborted(self.abort.sender, self.abort.reason)
        task = asyncio.ensure_future(work)
        self._operation, self._cut = task, False
        timer = None
        if deadline_s is not None:
            timer = asyncio.get_running_loop().call_later(max(0.0, deadline_s), self.poke, True)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            if self.abort is not None:
                raise Aborted(self.abort.sender, self.abort.reason) from None
            if self._cut:
                raise Cut from None
            raise
        finally:
            if timer is not None:
                timer.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            self._operation = None

    # Waiting

    async def gate(self) -> None:
        """A safe point: raises Aborted, and waits while a supervisor has paused the run."""
        if self.abort is not None:
            raise Aborted(self.abort.sender, self.abort.reason)
        while self.paused:
            await self._wait()

    async def hold(self, why: HoldReason, text: str, ends_with: tuple[str, ...], until: Callable[[], bool]) -> str:
        """Hold the run until `until` is true or a command of `ends_with` ended the hold; returns that command's name.

        `until` is asked after every command. Raises Aborted.
        """
        waiting = self.begin_hold(why, text, ends_with)
        try:
            while not waiting.ended_by and not until():
                await self._wait()
            return waiting.ended_by
        finally:
            self.end_hold()

    def begin_hold(self, why: HoldReason, text: str, ends_with: tuple[str, ...] = ()) -> Waiting:
        """Say that the run is held; its time doesn't count until `end_hold`."""
        self.waiting = Waiting(why, ends_with)
        self._start_waiting()
        self._held_since = self.clock.monotonic()
        self.emitter.emit(RunHeld(why=why, text=text, ends_with=(*ends_with, "abort")))
        return self.waiting

    def end_hold(self) -> None:
        """Say that the hold is over; does nothing when there is none."""
        if self.waiting is None:
            return
        self.waiting = None
        held_ms = int((self.clock.monotonic() - self._held_since) * 1000)
        self._stop_waiting()
        self.emitter.emit(RunResumed(from_hold=True, held_ms=held_ms))

    def _start_waiting(self) -> None:
        if self._wait_began is None:
            self._wait_began = self.clock.monotonic()

    def _stop_waiting(self) -> None:
        if self._wait_began is not None and self.waiting is None and not self.paused:
            self._waited_s += self.clock.monotonic() - self._wait_began
            self._wait_began = None

    async def _wait(self) -> None:
        self._start_waiting()
        try:
            self._changed.clear()
            await self._changed.wait()
        finally:
            self._stop_waiting()
        if self.abort is not None:
            raise Aborted(self.abort.sender, self.abort.reason)

    def set_paused(self, paused: bool, sender: str, reason: str, now: bool = False) -> None:
        """Pause or go on, and say so."""
        self.paused = paused
        if paused:
            self._start_waiting()
            self.emitter.emit(RunPaused(sender=sender, reason=reason, now=now))
        else:
            self._stop_waiting()
            self.emitter.emit(RunResumed(sender=sender))
        self.poke(cut=paused and now)
