"""What is on the screen of an app under a pilot, as text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from textual.pilot import Pilot

from support.fake_backend import FakeBackend
from tui.screens.fleet import FleetScreen
from tui.screens.run import RunScreen
from tui.widgets.stream import StreamView

Opener = Callable[..., AbstractAsyncContextManager[Pilot[int]]]
"""The `opened` fixture: opens the dashboard, at a run if one is named."""
C = TypeVar("C")

GROUPS = {
    *("connect", "open", "diff", "events", "older", "older-events", "tab", "usage", "output", "close"),
    *("stoploss", "compare", "curves", "projects"),
}


async def settle(pilot: Pilot[Any]) -> None:
    """Let workers end, frames come and everything be drawn."""
    for _ in range(3):
        busy = [worker for worker in pilot.app.workers if worker.group in GROUPS]
        if busy:  # an empty list would mean every worker, dialogs that wait for an answer among them
            await pilot.app.workers.wait_for_complete(busy)
        await pilot.pause()
        await pilot.pause()


def screen_text(pilot: Pilot[Any]) -> str:
    """Every line of the screen as it is drawn."""
    app = pilot.app
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip)[: width * 2] for strip in lines[:height])


async def type_text(pilot: Pilot[Any], text: str) -> None:
    """Press the keys of a text."""
    names = {
        " ": "space",
        "!": "exclamation_mark",
        "~": "tilde",
        ".": "full_stop",
        "$": "dollar_sign",
        "_": "underscore",
        "/": "slash",
    }
    for letter in text:
        await pilot.press(names.get(letter, letter))
    await pilot.pause()


def fleet_of(pilot: Pilot[Any]) -> FleetScreen:
    """The screen on top, which must be the Fleet."""
    screen = pilot.app.screen
    assert isinstance(screen, FleetScreen)
    return screen


def run_of(pilot: Pilot[Any]) -> RunScreen:
    """The screen on top, which must be a run's."""
    screen = pilot.app.screen
    assert isinstance(screen, RunScreen)
    return screen


def stream_of(pilot: Pilot[Any]) -> StreamView:
    """The stream of the run on screen."""
    stream = run_of(pilot).panes.stream
    assert stream is not None
    return stream


def only_sent(backend: FakeBackend, kind: type[C]) -> C:
    """The one command that was sent."""
    ((_, command),) = backend.sent
    assert isinstance(command, kind)
    return command
