"""What is on the screen of an app under a pilot, as text."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

GROUPS = {"connect", "open", "diff", "events", "older", "older-events", "tab", "usage", "output", "close"}


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
