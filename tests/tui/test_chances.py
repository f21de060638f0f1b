"""Before another attempt is bought: its chance by own history with interval and number, what it may cost at worst, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.curves.curve import curves
from runtime.errors import StoreError
from runtime.view import fold_all
from runtime.view.model import RunView
from support.curve_legs import CLAUDE, QWEN
from support.fake_backend import FakeBackend
from support.sample_runs import main_run
from support.screens import Opener, screen_text, settle, type_text
from tui.backend import CurvesReport, FamilyCurve
from tui.dialogs.chances import chance, worst_case

REPORT = CurvesReport(tuple(FamilyCurve(one, 3, "default", ()) for one in curves([*CLAUDE, *QWEN])))


def view_at(attempts: int, model: str = "claude-sonnet-5-5") -> RunView:
    return replace(fold_all(main_run().events), models=(model,), attempts_of_leg=attempts)


def test_the_chance_of_the_next_attempt_is_that_of_the_runs_that_made_it() -> None:
    assert chance(REPORT, view_at(2)) == (
        "Of 170 runs of claude that made attempt 3, 53% passed in it (45% to 60%).",
        "text",
    )
    text, role = chance(REPORT, view_at(3))
    assert text.startswith("Of 80 runs of claude that made attempt 4, 4% passed in it")
    assert role == "warn"


def test_another_family_and_an_attempt_that_nobody_made() -> None:
    assert "runs of qwen that made attempt 6" in chance(REPORT, view_at(5, "Qwen/Qwen3-Coder-30B"))[0]
    assert chance(REPORT, view_at(7))[0] == (
        "The chance that attempt 8 helps isn't known: no finished run of claude has made it."
    )
    assert "of local has made it" in chance(CurvesReport(), view_at(1, "local"))[0]


def test_the_worst_case_is_what_the_budgets_leave() -> None:
    view = view_at(2)
    assert worst_case(view) == "At worst a further attempt takes what the budgets leave: $0.412 and 912k tokens."
    free = replace(view, budget_micros=None, budget_tokens=None)
    assert worst_case(free) == "No budget bounds what a further attempt costs: at worst 40 calls of this model."


async def test_the_cap_dialog_quotes_all_of_it_and_takes_a_reason(opened: Opener, backend: FakeBackend) -> None:
    backend.curves_report = REPORT
    async with opened("r7f3a", size=(100, 40)) as pilot:
        await pilot.press("plus")
        await settle(pilot)
        text = " ".join(screen_text(pilot).split())
        assert "53% passed in it" in text
        assert "what the budgets leave" in text
        await pilot.press("tab")
        await type_text(pilot, "nearly there")
        await pilot.press("ctrl+s")
        await settle(pilot)
        ((run, command),) = backend.sent
        assert (run, command.command, command.reason) == ("r7f3a", "set_cap", "nearly there")


async def test_history_that_can_not_be_read_is_said(
    opened: Opener, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreadable(_: Sequence[int] = ()) -> CurvesReport:
        raise StoreError("The store can't be read.")

    monkeypatch.setattr(backend, "curves", unreadable)
    async with opened("r7f3a", size=(100, 40)) as pilot:
        await pilot.press("plus")
        await settle(pilot)
        assert "helps isn't known: own history can't" in " ".join(screen_text(pilot).split())
