"""The StopLoss screen: measured figures of own runs, a curve, what is in force; and words where nothing can be measured."""

from __future__ import annotations

import pytest

from runtime.stoploss.evaluate.held_out import Candidate, Workbench
from runtime.stoploss.evaluate.ranking import Bin
from runtime.stoploss.evaluate.report import evaluate
from runtime.stoploss.scorers.step_limit import StepLimit
from runtime.stoploss.steps import Step, Trajectory
from runtime.stoploss.threshold import Success, calibrate
from support.fake_backend import FakeBackend
from support.screens import Opener, run_of, screen_text, settle, type_text
from tui.backend import StoplossReport
from tui.command_line import run_line
from tui.paint.spans import width_of
from tui.paint.stoploss import reliability_curve, stoploss_report


def runs() -> list[Trajectory]:
    """Sixty runs of three groups: successes end early, failures go on."""
    made = []
    for n in range(60):
        good = n % 3 != 0
        steps = tuple(Step(f"try {n} {k}", f"saw {k}", not good) for k in range(6 + n % 4 if good else 16 + n % 5))
        made.append(Trajectory(f"r{n}", steps, good, f"task {n}", f"group {n % 3}", "claude-sonnet-5-5", "parser"))
    return made


async def report() -> StoplossReport:
    found = await evaluate(Workbench(runs()), [Candidate("step-limit", StepLimit())], resamples=100)
    made = calibrate(
        [Success(8, 0.29)] * 40, scorer="step-limit", by_steps=True, executor="claude-sonnet-5-5", project="parser"
    )
    return StoplossReport("parser", ("parser", "billing"), found, made)


@pytest.mark.parametrize("width", [78, 118, 198])
async def test_figures_are_those_that_were_measured_and_fit(width: int) -> None:
    one = await report()
    assert one.evaluation is not None
    lines = stoploss_report(one, width)
    text = "\n".join("".join(part for part, _ in line) for line in lines)
    (measured,) = one.evaluation.measured
    assert "60 runs, 40 successful, 3 groups" in text
    assert "step-limit, above 0.29, from 40 successful runs of claude" in text
    assert measured.ledger.r.value is not None
    assert f"{measured.ledger.r.value * 100:.1f}%" in text
    assert f"{measured.tier.value:.2f}" in text
    assert one.evaluation.decision.policy in text
    assert all(width_of(line) <= width for line in lines)


def test_the_curve_marks_score_and_share() -> None:
    bins = (Bin(0.1, 0.2, 50, 0.15, 0.1), Bin(0.8, 0.9, 50, 0.85, 1.0))
    _, low, high, legend = reliability_curve(bins, 100)
    assert "".join(part for part, _ in low).split("  ")[-1].startswith("██████")
    assert "".join(part for part, _ in high).count("█") > 40
    assert "◆" in "".join(part for part, _ in legend)


async def test_it_opens_by_key_shows_and_goes_to_the_next_project(opened: Opener, backend: FakeBackend) -> None:
    backend.stoploss_reports = {
        "parser": await report(),
        "billing": StoplossReport("billing", ("parser", "billing"), missing="There are no finished runs of it yet."),
    }
    async with opened("r7f3a") as pilot:
        await pilot.press("L")
        await settle(pilot)
        assert "Reliability of step-limit" in screen_text(pilot)
        await pilot.press("p")
        await settle(pilot)
        assert "There are no finished runs of it yet." in screen_text(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert "LADDER" in screen_text(pilot).upper() or "parser: empty list" in screen_text(pilot)


async def test_mode_and_threshold_are_set_by_key_and_by_line(opened: Opener, backend: FakeBackend) -> None:
    async with opened("r7f3a") as pilot:
        await pilot.press("l")
        await settle(pilot)
        assert "0.31 at tool step 5, threshold 0.72" in screen_text(pilot)
        await type_text(pilot, "0.78")
        await pilot.press("ctrl+s")
        await settle(pilot)
        await run_line(run_of(pilot), "set_stoploss ask")
        await run_line(run_of(pilot), "set_stoploss abort 0.9")
        await run_line(run_of(pilot), "set_stoploss perhaps")
        await run_line(run_of(pilot), "set_stoploss 7")
        await settle(pilot)
        sent = [(command.command, command.mode, command.threshold) for _, command in backend.sent]  # type: ignore[union-attr]
        assert sent == [
            ("set_stoploss", None, 0.78),
            ("set_stoploss", "ask", None),
            ("set_stoploss", "abort", 0.9),
        ]
