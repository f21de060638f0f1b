"""What StopLoss is worth on recorded runs: ranking, the calibration's promise, transfer, money, and what a check costs.

    python tests/benchmarks/stoploss_figures.py --data FOLDER [--set traj_swebv_mini_gemini3pro] [--resamples 1000]

Reads `<set>.jsonl.gz` from the folder that --data or LOOPTOP_DATA names. Every scorer is measured out of fold by repository; the
embedded one stands beside the step count alone, the window alone, an ensemble (`both`: step count and embedded), and a quick
prototype's figures.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from runtime.stoploss.evaluate.held_out import Candidate, HeldOut, Workbench, trained_candidate
from runtime.stoploss.evaluate.ledger import cost_per_solve_change, ledger_of
from runtime.stoploss.evaluate.policies import qualify
from runtime.stoploss.evaluate.ranking import Estimate, with_interval
from runtime.stoploss.scorers.base import Scorer
from runtime.stoploss.scorers.embedded import embedded
from runtime.stoploss.scorers.step_limit import StepLimit
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.threshold import threshold_of
from runtime.stoploss.trajectories.load import load_file
from runtime.stoploss.window import Windower, is_checkpoint, windows

PROTOTYPE = {"tier AUC": 0.596, "AUC at step 5": 0.564}
ELSEWHERE = "traj_termbench_mini_sonnet4"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("LOOPTOP_DATA"), help="folder of the recorded runs")
    parser.add_argument("--set", default="traj_swebv_mini_gemini3pro", help="which file of it")
    parser.add_argument("--resamples", type=int, default=1_000)
    options = parser.parse_args()
    path = Path(options.data or "") / f"{options.set}.jsonl.gz"
    if options.data is None or not path.exists():
        print(f"there is no {path}: give the folder of recorded runs with --data or LOOPTOP_DATA; nothing is measured")
        return
    asyncio.run(measure(path, options.resamples))


async def measure(path: Path, resamples: int) -> None:
    """All figures of one set of runs."""
    bench = Workbench(load_file(path))
    good = sum(run.succeeded is True for run in bench.runs)
    print(f"{path.name}: {len(bench.runs)} runs, {good} successful, {len(bench.folds)} held-out groups\n")
    candidates = [
        Candidate("step count", StepLimit()),
        trained_candidate("window only", "window"),
        trained_candidate("embedded", "full"),
        trained_candidate("both", "full", [StepLimit()]),
    ]
    held = {candidate.name: await bench.measure(candidate) for candidate in candidates}
    print(f"{'out of fold':12}  {'tier AUC':24}  AUC at step 5")
    for name, found in held.items():
        first = [point for point in found.points if point.step == 5]
        print(f"{name:12}  {told(with_interval(found.points, resamples)):24}  {told(with_interval(first, resamples))}")
    print(
        f"{'prototype':12}  {PROTOTYPE['tier AUC']:.3f}{'':19}  {PROTOTYPE['AUC at step 5']:.3f}  (bar: 0.01 below)\n"
    )
    money(held, resamples)
    promise(maxima_of(bench.runs, held["embedded"]))
    thresholds = [(name, threshold_of(maxima_of(bench.runs, held[name]))) for name in ("step count", "embedded")]
    await transfer(thresholds, path.parent / f"{ELSEWHERE}.jsonl.gz")
    published()
    await cost(bench.runs)


def told(found: Estimate) -> str:
    """A figure with its interval."""
    if found.value is None or found.low is None or found.high is None:
        return "?"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def money(held: dict[str, HeldOut], resamples: int) -> None:
    """The ledger of every policy at a target of 5%, calibrated and applied out of fold."""
    print("at a target of 5% false aborts")
    for name, found in held.items():
        ledger = ledger_of(found.outcomes, found.unit, resamples)
        assert ledger.g.value is not None
        assert ledger.r.value is not None
        assert ledger.margin.value is not None
        print(
            f"{name:12}  g {ledger.g.value:6.1%}  r {ledger.r.value:5.1%} (at most {ledger.r.high or 0:.1%})  "
            f"g-(m+r) {ledger.margin.value:+.1%} (at worst {ledger.margin.low or 0:+.1%})  "
            f"failed runs stopped {ledger.failed_stopped.value or 0:.1%}  {qualify(ledger).verdict}"
        )
    print()


def maxima_of(runs: Sequence[Trajectory], found: HeldOut) -> list[float]:
    """The largest out-of-fold score of every successful run."""
    best = {n: -math.inf for n, run in enumerate(runs) if run.succeeded}
    for point in found.points:
        if point.run in best:
            best[point.run] = max(best[point.run], point.score)
    return list(best.values())


def promise(maxima: list[float]) -> None:
    """Mean false-abort rate of 1,000 random calibrations, with and without the correction."""
    print("mean false-abort rate over 1,000 random calibrations (limit 5% + 3 standard errors)")
    for n in (19, 39, 99):
        rng = random.Random(n)
        rates: dict[str, list[float]] = {"corrected": [], "not": []}
        for _ in range(1_000):
            rng.shuffle(maxima)
            bare = sorted(maxima[:n], reverse=True)[math.floor(0.05 * (n + 1))]
            for kind, threshold in (("corrected", threshold_of(maxima[:n])), ("not", bare)):
                rates[kind].append(sum(value > threshold for value in maxima[n:]) / (len(maxima) - n))
        means = {kind: statistics.fmean(values) for kind, values in rates.items()}
        error = statistics.stdev(rates["corrected"]) / math.sqrt(1_000)
        print(
            f"  n = {n:2}: {means['corrected']:.2%} (limit {0.05 + 3 * error:.2%}); without the +1: {means['not']:.2%}"
        )
    print()


async def transfer(thresholds: Sequence[tuple[str, float]], elsewhere: Path) -> None:
    """Thresholds of this executor on another one: what would be aborted if they were believed to transfer."""
    if not elsewhere.exists():
        return
    good = [run for run in load_file(elsewhere) if run.succeeded]
    scorers: dict[str, Scorer] = {"step count": StepLimit(), "embedded": embedded()}
    for name, threshold in thresholds:
        top = [max([(await scorers[name].score(w)).p_abort for w in windows(run)], default=-math.inf) for run in good]
        rate = sum(value > threshold for value in top) / len(top)
        print(
            f"{name}: its threshold on {len(top)} successes of {good[0].executor} aborts {rate:.1%}: there it only asks"
        )
    print()


def published() -> None:
    """The published ledger: g 7.0%, m 1.56%, r 1.0%."""
    changes = [cost_per_solve_change(0.07, 0.0156 * times, 0.01) or 0.0 for times in (1, 2, 5)]
    print(
        "published ledger at x1, x2, x5: "
        + ", ".join(f"{change:+.1%}" for change in changes)
        + " (-4.5%, -2.9%, +1.8%)\n"
    )


async def cost(runs: Sequence[Trajectory]) -> None:
    """CPU time of one check: counting three steps and scoring the window."""
    scorer = embedded()
    spent, checks = 0.0, []
    for run in runs[:80]:
        windower = Windower()
        for step in run.steps:
            began = time.process_time()
            windower.add(step)
            if is_checkpoint(windower.step):
                await scorer.score(windower.window())
                checks.append((spent + time.process_time() - began) * 1_000)
                spent = 0.0
            else:
                spent += time.process_time() - began
    heavy = sorted({"torch", "numpy", "sklearn", "transformers"} & set(sys.modules))
    print(
        f"one embedded check, CPU time: median {statistics.median(checks):.2f} ms, 95th percentile "
        f"{sorted(checks)[int(0.95 * len(checks))]:.2f} ms (limit 2 ms); heavy modules loaded: {heavy or 'none'}"
    )


if __name__ == "__main__":
    main()
