"""From events to pixels: drains what queued up, at most 20 times a second, and hands it on as one frame.

Only the run on screen gets its events; all others are summaries. Nothing here or behind it is polled: the backend wakes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from runtime.events.base import Event
    from runtime.view.model import RunView
    from tui.backend import Backend, RunSummary, Subscription, SummaryFeed

FRAME_S = 0.05
"""Least time between two frames, in seconds: 20 repaints a second."""
SLICE = 2_000
"""Most events folded in one frame (about 30 ms of work); what is left comes with the next one."""


class Frame(Message):
    """What changed since the last frame."""

    bubble = False

    def __init__(
        self, summaries: Sequence[RunSummary], view: RunView | None, events: Sequence[Event], late: int = 0
    ) -> None:
        super().__init__()
        self.summaries = summaries
        self.view = view
        """The picture of the run on screen after `events`; None where nothing happened in it."""
        self.events = events
        self.late = late
        """Events that wait for the next frame."""


@dataclass
class Watched:
    """The run on screen."""

    run: str
    feed: Subscription
    view: RunView
    waiting: list[Event]


class Bridge:
    """Subscribes to the backend on behalf of the screens and posts frames. Lives in the app's event loop."""

    def __init__(self, backend: Backend, post: Callable[[Frame], object], frame_s: float = FRAME_S) -> None:
        self._backend = backend
        self._post = post
        self._frame_s = frame_s
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._last = float("-inf")
        self._fleet: SummaryFeed | None = None
        self._watched: Watched | None = None
        self._opening: str | None = None
        self.frames = 0
        self.folded = 0

    def start(self) -> None:
        """Begin with the summaries of all runs."""
        self._fleet = self._backend.summaries(self._wake)
        self._wake()

    async def watch(self, run: str) -> RunView:
        """Put a run on screen: its picture now, and its events with every frame from here on, none missing and none twice."""
        self.unwatch()
        self._opening = run
        feed = self._backend.events(run, self._wake)
        try:
            view = await self._backend.load_view(run)
        except BaseException:
            feed.close()
            raise
        if self._opening != run:
            feed.close()
            return view
        self._watched = Watched(run, feed, view, [])
        self._wake()
        return view

    def unwatch(self) -> None:
        """Take the run off the screen."""
        self._opening = None
        if self._watched is not None:
            self._watched.feed.close()
            self._watched = None

    def close(self) -> None:
        """End every subscription."""
        self.unwatch()
        if self._fleet is not None:
            self._fleet.close()
            self._fleet = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        """Something queued up: a frame follows, not before the last one's time is over."""
        if self._timer is None:
            wait = max(0.0, self._last + self._frame_s - self._loop.time())
            self._timer = self._loop.call_later(wait, self._frame)

    def _frame(self) -> None:
        self._timer = None
        self._last = self._loop.time()
        summaries = self._fleet.drain() if self._fleet is not None else ()
        view, events, late = self._advance()
        if summaries or events:
            self.frames += 1
            self.folded += len(events)
            self._post(Frame(summaries, view, events, late))
        if late:
            self._wake()

    def _advance(self) -> tuple[RunView | None, Sequence[Event], int]:
        from runtime.view import fold  # the vocabulary is heavy: it loads after the first frame

        watched = self._watched
        if watched is None:
            return None, (), 0
        queue = watched.waiting + list(watched.feed.drain())
        batch = [event for event in queue[:SLICE] if event.seq > watched.view.seq]
        watched.waiting = queue[SLICE:]
        for event in batch:
            watched.view = fold(watched.view, event)
        return (watched.view if batch else None), batch, len(watched.waiting)
