"""The ledger of a stopping policy: what it saved, what watching cost, how many good runs it ended; the rule g > m + r."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.stoploss.evaluate.ranking import RESAMPLES, SEED, Estimate, percentiles

PRICES = (1, 2, 5, 10)
"""Multiples of the monitor's price at which the outcome is told."""


def cost_per_solve_change(g: float, m: float, r: float) -> float | None:
    """(1 - g + m) / (1 - r) - 1: how the cost of a solved task changes; None where nothing is solved any more.

    g is the avoided share and m the monitor's share of what the full runs cost, r the share of successes that were aborted.
    """
    return None if r >= 1 else (1 - g + m) / (1 - r) - 1


def margin(g: float, m: float, r: float) -> float:
    """g - (m + r): above 0, and stopping pays."""
    return g - (m + r)


def binomial_interval(hits: int, of: int, outside: float = 0.05) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson (1934) for a share; (0, 1) of nothing."""
    if of == 0:
        return 0.0, 1.0

    # By logarithms: the coefficients of a few thousand runs are beyond what a float holds.
    coefficients = [math.lgamma(of + 1) - math.lgamma(i + 1) - math.lgamma(of - i + 1) for i in range(of + 1)]

    def at_most(k: int, p: float) -> float:
        log_p, log_q = math.log(p), math.log1p(-p)
        return math.fsum(math.exp(coefficients[i] + i * log_p + (of - i) * log_q) for i in range(k + 1))

    def solve(k: int, level: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_most(k, middle) > level else (low, middle)
        return (low + high) / 2

    low = 0.0 if hits == 0 else solve(hits - 1, 1 - outside / 2)
    high = 1.0 if hits == of else solve(hits, outside / 2)
    return low, high


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy did to one run. Costs in the ledger's unit; `monitor` is None where a check's cost isn't known."""

    task: str
    succeeded: bool
    cost: float
    """Of the full run."""
    avoided: float
    """What was left of it when it was stopped; 0 where it wasn't."""
    monitor: float | None
    stopped_at: int | None = None


@dataclass(frozen=True, slots=True)
class PriceRow:
    """The ledger at a multiple of the monitor's price."""

    times: int
    m: float | None
    margin: float | None
    change: float | None


@dataclass(frozen=True, slots=True)
class Ledger:
    """A policy on held-out runs. Shares are between 0 and 1; None means unknown, never zero."""

    unit: Literal["dollars", "steps"]
    """What cost is counted in: tool steps where dollars aren't known for every run."""
    runs: int
    successes: int
    stopped: int
    false_aborts: int
    g: Estimate
    m: Estimate
    r: Estimate
    margin: Estimate
    change: Estimate
    failed_stopped: Estimate
    kept: float | None
    median_left: float | None
    """Median share of its cost that was left when a failed run was stopped."""
    top_three: float | None
    """Share of the three largest in all that was avoided."""
    by_price: tuple[PriceRow, ...]
    cost_per_solve: float | None
    """In the unit; without stopping."""
    cost_per_solve_with: float | None


def ledger_of(outcomes: Sequence[Outcome], unit: Literal["dollars", "steps"], resamples: int = RESAMPLES) -> Ledger:
    """The ledger of some runs, with 95% intervals: exact for shares of runs, by resampling tasks for sums of money."""
    good = [o for o in outcomes if o.succeeded]
    bad = [o for o in outcomes if not o.succeeded]
    false = sum(o.stopped_at is not None for o in good)
    right = [o for o in bad if o.stopped_at is not None]
    avoided = sorted((o.avoided for o in outcomes if o.stopped_at is not None), reverse=True)
    shares = _shares(outcomes)
    intervals = _intervals(outcomes, resamples)
    total = math.fsum(o.cost for o in outcomes)
    monitored = [o.monitor for o in outcomes if o.monitor is not None]
    spent = total - math.fsum(avoided) + math.fsum(monitored) if len(monitored) == len(outcomes) else None
    kept = len(good) - false
    g, m, r = shares.g, shares.m, shares.r
    return Ledger(
        unit=unit,
        runs=len(outcomes),
        successes=len(good),
        stopped=false + len(right),
        false_aborts=false,
        g=Estimate(g, *intervals["g"]),
        m=Estimate(m, *intervals["m"]),
        r=Estimate(r, *(binomial_interval(false, len(good)) if good else (None, None))),
        margin=Estimate(shares.margin, *intervals["margin"]),
        change=Estimate(shares.change, *intervals["change"]),
        failed_stopped=Estimate(len(right) / len(bad), *binomial_interval(len(right), len(bad)))
        if bad
        else Estimate(None),
        kept=kept / len(good) if good else None,
        median_left=statistics.median(o.avoided / o.cost for o in right if o.cost > 0) if right else None,
        top_three=math.fsum(avoided[:3]) / math.fsum(avoided) if avoided and avoided[0] > 0 else None,
        by_price=tuple(_at_price(g, m, r, times) for times in PRICES),
        cost_per_solve=total / len(good) if good else None,
        cost_per_solve_with=spent / kept if spent is not None and kept else None,
    )


def _at_price(g: float | None, m: float | None, r: float | None, times: int) -> PriceRow:
    if g is None or m is None or r is None:
        return PriceRow(times, None if m is None else m * times, None, None)
    return PriceRow(times, m * times, margin(g, m * times, r), cost_per_solve_change(g, m * times, r))


@dataclass(frozen=True, slots=True)
class _Shares:
    g: float | None
    m: float | None
    r: float | None
    margin: float | None
    change: float | None


def _shares(outcomes: Sequence[Outcome]) -> _Shares:
    total = math.fsum(o.cost for o in outcomes)
    good = [o for o in outcomes if o.succeeded]
    known = [o.monitor for o in outcomes if o.monitor is not None]
    g = math.fsum(o.avoided for o in outcomes) / total if total > 0 else None
    m = math.fsum(known) / total if total > 0 and len(known) == len(outcomes) else None
    r = sum(o.stopped_at is not None for o in good) / len(good) if good else None
    if g is None or m is None or r is None:
        return _Shares(g, m, r, None, None)
    return _Shares(g, m, r, margin(g, m, r), cost_per_solve_change(g, m, r))


def _intervals(outcomes: Sequence[Outcome], resamples: int) -> dict[str, tuple[float | None, float | None]]:
    """Percentile intervals from resampling whole tasks; of figures that are unknown, none."""
    by_task: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_task.setdefault(outcome.task, []).append(outcome)
    tasks = sorted(by_task)
    rng = random.Random(SEED)
    names = ("g", "m", "margin", "change")
    drawn: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(resamples if tasks else 0):
        sample = [outcome for task in rng.choices(tasks, k=len(tasks)) for outcome in by_task[task]]
        shares = _shares(sample)
        for name in names:
            if (value := getattr(shares, name)) is not None:
                drawn[name].append(value)
    return {name: percentiles(values) for name, values in drawn.items()}
