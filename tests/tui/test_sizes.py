"""Every screen at every size, while a run streams: no exception, and below the stated size a line says so."""

from __future__ import annotations

import pytest

from support.fake_backend import FakeBackend
from support.sample_runs import fleet, hostile_run, main_run
from support.screens import Opener, screen_text, settle, stream_of
from tui.screens.run_panes import TABS

SIZES = [
    (120, 40),
    (1, 1),
    (2, 3),
    (5, 2),
    (20, 5),
    (40, 10),
    (40, 12),
    (60, 16),
    (60, 20),
    (79, 23),
    (80, 24),
    (109, 27),
    (110, 28),
    (170, 50),
    (250, 80),
]


@pytest.mark.parametrize("run", ["h0571", "u00q1", "b9d11"])
async def test_a_run_at_every_size_in_every_tab(opened: Opener, backend: FakeBackend, run: str) -> None:
    backend.push(*hostile_run().events)
    async with opened(run) as pilot:
        for number, size in enumerate(SIZES):
            await pilot.resize_terminal(*size)
            await pilot.press(str(number % len(TABS) + 1))
            await settle(pilot)
            if size[0] >= 30 and (size[0] < 60 or size[1] < 16):
                assert "looptop wants 60x16" in screen_text(pilot)


async def test_the_fleet_and_what_lies_over_it_at_every_size(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*hostile_run().events)
    async with opened() as pilot:
        for key in ("", "U", "C", "P", "?", "N", ":", "slash", "a"):
            if key:
                await pilot.press(key)
            for size in SIZES[:5] + SIZES[-1:]:
                await pilot.resize_terminal(*size)
                await pilot.pause()
            await pilot.press("escape")
            await pilot.pause()


async def test_scroll_and_focus_survive_resizing_while_a_run_streams(opened: Opener, backend: FakeBackend) -> None:
    whole = main_run("late1").events
    backend.push(*whole[:40])
    async with opened("late1", size=(100, 24)) as pilot:
        stream = stream_of(pilot)
        await pilot.press("pageup")
        await settle(pilot)
        top = stream.transcript.entries[stream.entry_index(stream.scroll_offset.y)]
        for index, size in enumerate([(80, 24), (40, 10), (120, 40), (1, 1), (100, 24)]):
            backend.push(*whole[40 + index * 5 : 45 + index * 5])
            await pilot.resize_terminal(*size)
            await settle(pilot)
        assert pilot.app.focused is stream
        assert not stream.following
        assert stream.transcript.entries[stream.entry_index(stream.scroll_offset.y)] is top


def test_the_sample_fleet_has_every_kind_of_state() -> None:
    assert {event.type for events in fleet().values() for event in events} >= {
        "run_held",
        "run_aborted",
        "run_finished",
        "approval_requested",
    }
