"""Interrupted runs in the dashboard: offered, quoted, resumed by key, palette and the `:` line."""

from __future__ import annotations

import pytest

from runtime.events.loop import RunFinished
from runtime.events.values import StopReason
from runtime.loop.quoting import ResumeQuote, ago
from support.fake_backend import FakeBackend
from support.sample_runs import fleet, main_run
from support.screens import Opener, fleet_of, screen_text, settle, type_text
from tui.dialogs.form import FormDialog
from tui.dialogs.resuming import resume

DEAD = "d1e01"


@pytest.fixture
def backend() -> FakeBackend:
    """The sample runs, and one whose process died."""
    events = main_run(DEAD).events[:40]
    last = events[-1]
    end = RunFinished(reason=StopReason.INTERRUPTED, attempts=1, rounds=3, usage={})
    return FakeBackend({**fleet(), DEAD: [*events, end.stamped(DEAD, last.seq + 1, last.at, last.mono_ms)]})


async def test_the_fleet_offers_it_and_the_dialog_quotes_before_anything_happens(
    opened: Opener, backend: FakeBackend
) -> None:
    async with opened() as pilot:
        grid = fleet_of(pilot).grid
        while grid.cursor_key != DEAD:
            await pilot.press("down")
        text = screen_text(pilot)
        assert "interrupted" in text
        assert "u goes on with it" in text
        await pilot.press("u")
        await settle(pilot)
        assert isinstance(pilot.app.screen, FormDialog)
        text = screen_text(pilot)
        assert "interrupted 1 h ago" in text
        assert "41,200" in text
        assert "$0.1545" in text
        assert "the cache is cold" in text
        await pilot.press("escape")
        await settle(pilot)
        assert backend.resumed == []
        await pilot.press("u")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert backend.resumed == [DEAD]
        assert f"{DEAD} goes on" in screen_text(pilot)


@pytest.mark.parametrize("line", [f"resume {DEAD}", "resume"])
async def test_the_command_line_resumes(opened: Opener, backend: FakeBackend, line: str) -> None:
    async with opened(DEAD) as pilot:
        await pilot.press("colon")
        await type_text(pilot, line)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(pilot.app.screen, FormDialog)
        await pilot.press("enter")
        await settle(pilot)
    assert backend.resumed == [DEAD]
    assert backend.sent == []


async def test_a_run_that_ended_otherwise_is_not_resumed(opened: Opener, backend: FakeBackend) -> None:
    async with opened("p0a11") as pilot:
        await pilot.press("u")
        await settle(pilot)
        assert not isinstance(pilot.app.screen, FormDialog)
        assert "only an interrupted run can be resumed" in screen_text(pilot)
        await pilot.press("colon")
        await type_text(pilot, "resume p0a11")
        await pilot.press("enter")
        await settle(pilot)
        assert "has ended: passed" in screen_text(pilot)
    assert backend.resumed == []


def test_what_is_not_known_is_said_so() -> None:
    quote = ResumeQuote("r1", "", "some-model", "verifies attempt 2 again", 90.0, 1_200, True, None, 1, 2)
    text = " ".join(line for line, _ in resume(quote).lines)
    assert "no price is known" in text
    assert "$0" not in text
    assert "worst case" in text
    assert "answered as interrupted" in text
    assert "no price is known" in quote.words
    warm = ResumeQuote("r1", "", "m", "goes on with the next attempt", 30.0, 1_200, False, 4_500)
    assert "may still be warm" in warm.words
    assert "$0.0045" in warm.words
    local = ResumeQuote("r1", "", "local", "goes on with the next attempt", 30.0, 1_200, True, None)
    assert "cost nothing" in local.words
    assert [ago(s) for s in (5, 90, 7_200, 200_000)] == ["5 s", "2 min", "2 h", "2 d"]
