"""The promises on real recorded runs; skipped where LOOPTOP_DATA doesn't name their folder."""

from __future__ import annotations

import asyncio
import math
import random
import statistics
from dataclasses import dataclass, replace

import pytest

from runtime.stoploss.evaluate.held_out import Candidate, HeldOut, Workbench, trained_candidate
from runtime.stoploss.evaluate.ranking import auc_by_step, tier_auc
from runtime.stoploss.linear import to_json
from runtime.stoploss.scorers.embedded import SHIPPED, embedded
from runtime.stoploss.scorers.step_limit import StepLimit
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.threshold import Success, calibrate, threshold_of
from runtime.stoploss.training import train
from runtime.stoploss.trajectories.load import load_file
from runtime.stoploss.transfer import Mode, Situation, ruling
from runtime.stoploss.window import checkpoints, windows
from support.stoploss_runs import real_file

GEMINI = "traj_swebv_mini_gemini3pro"
SONNET = "traj_termbench_mini_sonnet4"


@dataclass(frozen=True)
class Measured:
    """Real runs, and the embedded scorer's out-of-fold scores on them."""

    runs: list[Trajectory]
    trained: HeldOut
    limit: HeldOut


@pytest.fixture(scope="module")
def measured() -> Measured:
    bench = Workbench(load_file(real_file(GEMINI)))
    trained, limit = trained_candidate("trained", "full"), Candidate("step-limit", StepLimit())
    return Measured(bench.runs, asyncio.run(bench.measure(trained)), asyncio.run(bench.measure(limit)))


def test_windows_are_counted_as_published() -> None:
    counted = {}
    for name in (GEMINI, SONNET, "traj_swebjava_sweagent_4models", "traj_usaco_codex_o4mini"):
        counted[name] = sum(len(checkpoints(len(run.steps))) for run in load_file(real_file(name)))
    assert list(counted.values()) == [3876, 442, 1652, 42]


def test_the_embedded_scorer_ranks_unseen_repositories(measured: Measured) -> None:
    tier = tier_auc(measured.trained.points)
    first = auc_by_step(measured.trained.points)[5]
    assert tier is not None
    assert first is not None
    assert tier >= 0.596 - 0.01
    assert first >= 0.564 - 0.01
    assert tier_auc(measured.limit.points) == 0.5


@pytest.mark.parametrize("n", [19, 39, 99])
def test_calibration_keeps_its_promise_over_a_thousand_splits(measured: Measured, n: int) -> None:
    rates = split_rates(measured, n, corrected=True)
    assert statistics.fmean(rates) <= 0.05 + 3 * statistics.stdev(rates) / math.sqrt(len(rates))


def test_without_the_correction_nineteen_successes_break_it(measured: Measured) -> None:
    rates = split_rates(measured, 19, corrected=False)
    assert statistics.fmean(rates) > 0.05 + 3 * statistics.stdev(rates) / math.sqrt(len(rates))


def split_rates(measured: Measured, n: int, *, corrected: bool) -> list[float]:
    """False-abort rates of 1,000 calibrations on n random successes, each on all the others."""
    maxima = success_maxima(measured)
    rng = random.Random(n)
    rates = []
    for _ in range(1_000):
        rng.shuffle(maxima)
        threshold = (
            threshold_of(maxima[:n]) if corrected else sorted(maxima[:n], reverse=True)[math.floor(0.05 * (n + 1))]
        )
        rates.append(sum(value > threshold for value in maxima[n:]) / (len(maxima) - n))
    return rates


def success_maxima(measured: Measured) -> list[float]:
    """The largest out-of-fold score of every successful run."""
    best = {n: -math.inf for n, run in enumerate(measured.runs) if run.succeeded}
    for point in measured.trained.points:
        if point.run in best:
            best[point.run] = max(best[point.run], point.score)
    return list(best.values())


async def test_a_calibration_of_one_executor_only_asks_on_another() -> None:
    gemini, sonnet = load_file(real_file(GEMINI)), load_file(real_file(SONNET))
    scorer = StepLimit()
    successes = [run for run in gemini if run.succeeded]
    made = calibrate(
        [Success(len(run.steps), max([(await scorer.score(w)).p_abort for w in windows(run)])) for run in successes],
        scorer=scorer.name,
        by_steps=True,
        executor=gemini[0].executor,
        project=gemini[0].project,
    )
    now = Situation(sonnet[0].executor, sonnet[0].project, scorer.name, 8)
    found = ruling(Mode.ABORT, replace(made, abort="allowed"), now, explicit=True)
    assert found.mode is Mode.ASK
    assert "gemini-3-pro-preview, not of claude-sonnet-4" in found.why


def test_the_shipped_weights_come_out_of_training_byte_for_byte() -> None:
    assert to_json(train(load_file(real_file(GEMINI)))) == SHIPPED.read_text()
    assert embedded().model.trained["runs"] == 347
