"""The Run screen: what it shows of a run, live and afterwards."""

from __future__ import annotations

import pytest

from runtime.events.base import Event
from runtime.events.loop import TextDelta
from runtime.events.supervision import Notice
from runtime.view import fold_all
from support.fake_backend import FakeBackend
from support.sample_runs import main_run
from support.screens import Opener, run_of, screen_text, settle, stream_of, type_text
from tui.screens.run import RunScreen
from tui.screens.run_panes import TABS


def after(backend: FakeBackend, run: str, *events: Event) -> None:
    """Stamp events as the run's next ones and let them happen."""
    last = backend.log[run][-1]
    backend.push(
        *(event.stamped(run, last.seq + index, last.at, last.mono_ms + index) for index, event in enumerate(events, 1))
    )


async def test_ladder_gauges_and_stream_show_the_picture(opened: Opener) -> None:
    async with opened("r7f3a") as pilot:
        text = screen_text(pilot)
    for expected in (
        "parser: empty list raises IndexError",
        "7 failing  2 pre-existing",
        "3 fixed  1 new  2 still",
        "+14 -6",
        "2 of 3",
        "88.4k of 1.0M",
        "$0.088 of $0.50",
        "04:12 of 30 min",
        "0.31 of 0.72",
        "the cached prefix had expired",
        "running",
    ):
        assert expected in text


@pytest.mark.parametrize("number", range(1, len(TABS) + 1))
async def test_every_tab_has_its_content(opened: Opener, number: int) -> None:
    expected = {
        "Stream": "Nothing else reads it unguarded",
        "Rounds": "the cached",
        "Verify": "running",
        "Diff": "if not items or items[0] is None:",
        "StopLoss": "0.72",
        "Recovery": "fixed: always reflect",
        "Conversation": "14 of 20 turns",
        "Events": "verify_started",
    }
    async with opened("r7f3a") as pilot:
        await pilot.press(str(number))
        await settle(pilot)
        assert run_of(pilot).panes.active == TABS[number - 1]
        assert expected[TABS[number - 1]] in screen_text(pilot)


async def test_a_run_opened_in_the_middle_and_followed_equals_its_replay(opened: Opener, backend: FakeBackend) -> None:
    whole = main_run("late1").events
    backend.push(*whole[:20])
    async with opened("late1") as pilot:
        for at in range(20, len(whole), 7):
            backend.push(*whole[at : at + 7])
            await settle(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        assert screen.view == fold_all(whole)
        assert stream_of(pilot).transcript.last_seq == whole[-1].seq


async def test_scrolled_away_the_stream_stays_and_end_follows_again(opened: Opener, backend: FakeBackend) -> None:
    async with opened("r7f3a", size=(100, 24)) as pilot:
        stream = stream_of(pilot)
        await pilot.press("pageup", "pageup")
        await settle(pilot)
        at = stream.scroll_offset.y
        assert at < stream.max_scroll_y
        after(backend, "r7f3a", *(TextDelta(round=7, text=f"more {n}\n") for n in range(50)))
        await settle(pilot)
        assert stream.scroll_offset.y == at
        await pilot.press("end")
        await settle(pilot)
        assert stream.scroll_offset.y == stream.max_scroll_y
        assert "more 49" in screen_text(pilot)


async def test_older_events_come_from_the_record_on_scrolling_to_the_top(opened: Opener, backend: FakeBackend) -> None:
    script = main_run("long1")
    for n in range(2_500):
        script.add(Notice(text=f"notice {n}"), 1)
    backend.push(*script.events)
    async with opened("long1") as pilot:
        stream = stream_of(pilot)
        assert (stream.transcript.first_seq or 0) > 1
        for _ in range(3):
            stream.scroll_to(y=1, animate=False)
            await settle(pilot)
            stream.scroll_to(y=0, animate=False)
            await settle(pilot)
        assert stream.transcript.first_seq == 1


async def test_search_marks_and_finds(opened: Opener) -> None:
    async with opened("r7f3a") as pilot:
        await pilot.press("slash")
        await type_text(pilot, "IndexError")
        await pilot.press("enter")
        stream = stream_of(pilot)
        assert stream.needle == "indexerror"
        assert "IndexError" in screen_text(pilot)
        await pilot.press("escape")
        assert stream.needle == ""
        assert isinstance(pilot.app.screen, RunScreen)


async def test_enter_on_an_attempt_opens_its_diff_and_brackets_move(opened: Opener) -> None:
    async with opened("r7f3a") as pilot:
        pilot.app.screen.query_one("#ladder").focus()
        await pilot.press("up", "enter")
        await settle(pilot)
        assert run_of(pilot).panes.attempt == 1
        assert "attempt 1  2 files" in screen_text(pilot)
        await pilot.press("3", "left_square_bracket")
        await settle(pilot)
        assert "baseline" in screen_text(pilot)


async def test_full_output_reads_pieces_as_they_are_needed(opened: Opener, backend: FakeBackend) -> None:
    async with opened("p0a11") as pilot:
        await pilot.press("O")
        await settle(pilot)
        assert "line 0" in screen_text(pilot)
        await pilot.press("G")
        await settle(pilot)
        assert "line 19999" in screen_text(pilot)


async def test_an_unknown_run_is_one_sentence_and_back_to_the_fleet(opened: Opener) -> None:
    async with opened("nope") as pilot:
        await settle(pilot)
        assert not isinstance(pilot.app.screen, RunScreen)
        assert "There is no run nope" in screen_text(pilot)
