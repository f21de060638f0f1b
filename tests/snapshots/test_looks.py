"""The looks of the main screens, as pictures: `pytest --snapshot-update` after a wanted change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from support.fake_backend import FakeBackend
from support.sample_runs import NOW, fleet
from support.screens import settle
from tui.app import LooptopApp
from tui.backend import Backend

Compare = Callable[..., bool]
SIZES = [(80, 24), (120, 40), (200, 60)]


def app(run: str | None, theme: str = "harbor") -> LooptopApp:
    """The dashboard on sample runs."""

    async def connect() -> Backend:
        return FakeBackend(fleet())

    async def then(_: Backend) -> str | None:
        return run

    return LooptopApp(connect, then, now=lambda: NOW, frame_s=0.0, theme=theme)


def keys(*pressed: str) -> Callable[[Pilot[int]], Awaitable[None]]:
    """Let everything be drawn, then press keys."""

    async def before(pilot: Pilot[int]) -> None:
        await settle(pilot)
        for key in pressed:
            await pilot.press(key)
        await settle(pilot)
        cursorless = pilot.app.focused
        if cursorless is not None and hasattr(cursorless, "cursor_blink"):
            cursorless.cursor_blink = False
        await pilot.pause()

    return before


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_fleet(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app(None), terminal_size=size, run_before=keys())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_run(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app("r7f3a"), terminal_size=size, run_before=keys())


def test_held_run_in_the_light_theme(snap_compare: Compare) -> None:
    assert snap_compare(app("b9d11", "paper"), terminal_size=(80, 24), run_before=keys())


def test_rounds(snap_compare: Compare) -> None:
    assert snap_compare(app("r7f3a"), terminal_size=(120, 40), run_before=keys("2"))


def test_abort_dialog(snap_compare: Compare) -> None:
    assert snap_compare(app("r7f3a"), terminal_size=(80, 24), run_before=keys("a"))
