"""Any two attempts compared: findings in Verify, the difference between their trees in Diff."""

from __future__ import annotations

from dataclasses import replace

from runtime.events.values import Comparison
from runtime.view import fold_all
from support.fake_backend import FakeBackend
from support.sample_runs import main_run, passed_run
from support.screens import Opener, run_of, screen_text, settle
from tui.command_line import run_line
from tui.paint.compare import compare_lines, findings_of

PLACE = "tests/test_parser.py::"


def text_of(base: int, other: int) -> str:
    view = fold_all(passed_run().events)
    return "\n".join("".join(text for text, _ in line) for line in compare_lines(view, base, other, 78))


def test_what_became_of_each_finding_between_two_attempts() -> None:
    first = text_of(0, 1)
    assert "3 fixed  1 new  4 still  of 8 findings" in first
    assert f"✗ new     {PLACE}test_regression" in first
    assert f"✓ fixed   {PLACE}test_empty" in first
    assert "5 fixed  0 new  0 still" in text_of(1, 2)
    # The other way round everything is turned about.
    assert "0 fixed  5 new  0 still" in text_of(2, 1)


def test_an_attempt_compared_with_itself_has_changed_nothing() -> None:
    assert "0 fixed  0 new  5 still" in text_of(1, 1)


def test_what_is_not_known_is_not_compared() -> None:
    view = fold_all(main_run().events)
    assert findings_of(view, 2) is None
    assert "isn't known" in "".join(text for line in compare_lines(view, 1, 2, 78) for text, _ in line)
    rows = tuple(replace(row, findings_total=900) if row.attempt == 0 else row for row in view.verifies)
    assert findings_of(replace(view, verifies=rows), 0) is None
    attempts = (replace(view.attempts[0], comparison=Comparison()),)
    assert findings_of(replace(view, attempts=attempts), 1) == frozenset()


async def test_the_key_compares_with_the_attempt_shown_and_brackets_choose_the_other(
    opened: Opener, backend: FakeBackend
) -> None:
    backend.push(*passed_run("cmp1").events)
    async with opened("cmp1") as pilot:
        await pilot.press("3", "left_square_bracket", "c", "right_square_bracket")
        await settle(pilot)
        assert (run_of(pilot).panes.base, run_of(pilot).panes.shown_attempt) == (1, 2)
        assert "attempt 2 against attempt 1" in screen_text(pilot)
        await pilot.press("4")
        await settle(pilot)
        assert backend.diffs[-1] == (2, 1)
        assert "attempt 2 against attempt 1" in screen_text(pilot)
        await pilot.press("c")
        await settle(pilot)
        assert backend.diffs[-1:] == [(2, None)]


async def test_the_command_names_both(opened: Opener, backend: FakeBackend) -> None:
    backend.push(*passed_run("cmp2").events)
    async with opened("cmp2") as pilot:
        await run_line(run_of(pilot), "compare 0 1")
        await settle(pilot)
        assert "attempt 1 against baseline" in screen_text(pilot)
        await run_line(run_of(pilot), "compare 0 7")
        await run_line(run_of(pilot), "compare one two")
        await settle(pilot)
        assert (run_of(pilot).panes.base, run_of(pilot).panes.shown_attempt) == (0, 1)
