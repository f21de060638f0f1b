"""The monitor of a live run: when it scores, what follows, and that nothing a scorer does ends a run."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace

import pytest

from runtime.stoploss.monitor import Check, Monitor
from runtime.stoploss.scorers.base import Score, ScorerError
from runtime.stoploss.scorers.step_limit import StepLimit, score_of
from runtime.stoploss.steps import Step
from runtime.stoploss.threshold import Calibration, Success, calibrate
from runtime.stoploss.transfer import Mode
from runtime.stoploss.window import Window


def step_limit(*steps: int) -> Calibration:
    """A step limit calibrated on successes of so many steps."""
    made = [Success(n, score_of(n - (n - 5) % 3) if n >= 5 else -math.inf) for n in steps]
    return calibrate(made, scorer="step-limit", by_steps=True, executor="m", project="p")


def monitor(mode: Mode, calibration: Calibration | None, explicit: bool = True) -> Monitor:
    return Monitor(StepLimit(), calibration, mode, executor="m", project="p", explicit=explicit)


async def run_steps(watched: Monitor, steps: int) -> list[Check]:
    """Feed steps and check every checkpoint."""
    checks = []
    for n in range(steps):
        window = watched.add(Step(f"try {n}", f"nothing {n}"))
        if window is not None:
            checks.append(await watched.check(window))
    return checks


@pytest.mark.parametrize(("mode", "action"), [(Mode.ASK, "ask"), (Mode.ABORT, "abort"), (Mode.WATCH, "none")])
async def test_after_forty_successes_of_five_steps_step_eight_is_one_too_many(mode: Mode, action: str) -> None:
    checks = await run_steps(monitor(mode, step_limit(*[5] * 40)), 8)
    assert [(check.step, check.action) for check in checks] == [(5, "none"), (8, action)]
    assert checks[1].score == score_of(8)
    assert checks[1].threshold == score_of(5)
    assert checks[1].next_step == 11
    assert checks[1].mode is mode


async def test_equal_to_the_threshold_is_not_above_it() -> None:
    checks = await run_steps(monitor(Mode.ABORT, step_limit(*[8] * 40)), 8)
    assert [check.action for check in checks] == ["none", "none"]


async def test_off_scores_nothing_and_watch_needs_no_calibration() -> None:
    assert await run_steps(monitor(Mode.OFF, step_limit(*[5] * 40)), 12) == []
    checks = await run_steps(monitor(Mode.ABORT, None), 12)
    assert [(check.mode, check.action, check.threshold) for check in checks] == [(Mode.WATCH, "none", None)] * 3
    assert checks[0].why == "there is no calibration yet"


async def test_as_a_default_abort_asks_until_it_was_measured() -> None:
    calibration = step_limit(*[5] * 40)
    checks = await run_steps(monitor(Mode.ABORT, calibration, explicit=False), 8)
    assert (checks[1].mode, checks[1].action) == (Mode.ASK, "ask")
    allowed = replace(calibration, abort="allowed")
    assert (await run_steps(monitor(Mode.ABORT, allowed, explicit=False), 8))[1].action == "abort"


async def test_a_changed_run_is_another_run() -> None:
    watched = monitor(Mode.ABORT, step_limit(*[5] * 40))
    watched.changed("the run escalated to m2", executor="m2")
    check = (await run_steps(watched, 8))[1]
    assert check.action == "ask"
    assert "not of m2" in check.why


async def test_a_raised_threshold_holds_and_a_lowered_one_only_asks() -> None:
    watched = monitor(Mode.ABORT, step_limit(*[5] * 40))
    assert watched.set_threshold(score_of(10)) == score_of(5)
    assert [check.action for check in await run_steps(watched, 11)] == ["none", "none", "abort"]
    watched = monitor(Mode.ABORT, step_limit(*[8] * 40))
    watched.set_threshold(0.0)
    assert [check.action for check in await run_steps(watched, 8)] == ["ask", "ask"]


async def test_a_supervisor_may_change_the_mode_midway() -> None:
    watched = monitor(Mode.WATCH, step_limit(*[5] * 40), explicit=False)
    await run_steps(watched, 8)
    assert watched.set_mode(Mode.ABORT) is Mode.WATCH
    assert [check.action for check in await run_steps(watched, 3)] == ["abort"]


@dataclass
class Failing:
    """A scorer that fails in one way."""

    error: Exception | None
    name: str = "failing"
    by_steps: bool = False
    asked: int = 0

    async def score(self, window: Window) -> Score:
        self.asked += 1
        if self.error is None:
            await asyncio.Event().wait()
        raise self.error or ScorerError("unreachable")

    async def close(self) -> None:
        """Nothing to let go."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, "took longer than 0.01 s"),
        (ScorerError("The endpoint gives no logprobs."), "gives no logprobs"),
        (ZeroDivisionError("oops"), "failed (ZeroDivisionError: oops)"),
    ],
)
async def test_whatever_a_scorer_does_the_run_goes_on_and_is_told_so(error: Exception | None, words: str) -> None:
    scorer = Failing(error)
    watched = Monitor(scorer, step_limit(*[5] * 40), Mode.ABORT, executor="m", project="p", timeout_s=0.01)
    checks = await run_steps(watched, 20)
    assert [(check.score, check.action, check.cost_micros) for check in checks] == [(None, "none", None)] * 3
    assert words in checks[0].error
    assert "goes on unmonitored" in checks[0].error
    assert scorer.asked == 3
    assert "isn't asked again" in checks[2].error
    assert checks[2].next_step is None
    assert watched.gave_up


async def test_cancelling_a_check_cancels_it() -> None:
    watched = Monitor(Failing(None), None, Mode.WATCH, executor="m", project="p")
    task = asyncio.create_task(run_steps(watched, 5))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
