"""How well scores rank failed above successful runs: per checkpoint, and over pairs within a checkpoint (tier AUC)."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 1_000
SEED = 20_261


@dataclass(frozen=True, slots=True)
class Point:
    """One window: the run that it is of, its checkpoint, its score, and whether the run failed."""

    run: int
    step: int
    score: float
    failed: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95% interval; None where it can't be known."""

    value: float | None
    low: float | None = None
    high: float | None = None


def auc(failed: Sequence[float], succeeded: Sequence[float]) -> float | None:
    """The share of pairs in which the failed run scores higher, ties counted half; None without pairs."""
    if not failed or not succeeded:
        return None
    ordered = sorted(succeeded)
    wins = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in failed)
    return wins / 2 / (len(failed) * len(ordered))


def auc_by_step(points: Sequence[Point]) -> dict[int, float | None]:
    """The ordinary AUC at each checkpoint."""
    return {
        step: auc(
            [p.score for p in points if p.step == step and p.failed],
            [p.score for p in points if p.step == step and not p.failed],
        )
        for step in sorted({p.step for p in points})
    }


def tier_auc(points: Sequence[Point]) -> float | None:
    """Pairs of a failed and a successful run, compared only at the same checkpoint, all pairs counted alike."""
    wins, pairs = _sums(_tiers(points), None)
    return wins / pairs if pairs else None


def with_interval(points: Sequence[Point], resamples: int = RESAMPLES) -> Estimate:
    """Tier AUC with a percentile interval from resampling whole runs; of one checkpoint's points it is the ordinary AUC."""
    value = tier_auc(points)
    if value is None:
        return Estimate(None)
    tiers = _tiers(points)
    runs = sorted({p.run for p in points})
    rng = random.Random(SEED)
    drawn: list[float] = []
    for _ in range(resamples):
        weight = dict.fromkeys(runs, 0)
        for run in rng.choices(runs, k=len(runs)):
            weight[run] += 1
        wins, pairs = _sums(tiers, weight)
        if pairs:
            drawn.append(wins / pairs)
    return Estimate(value, *percentiles(drawn))


def percentiles(values: Sequence[float], outside: float = 0.05) -> tuple[float | None, float | None]:
    """The values that leave half of `outside` below, and half above."""
    if not values:
        return None, None
    ordered = sorted(values)
    cut = int(outside / 2 * len(ordered))
    return ordered[cut], ordered[len(ordered) - 1 - cut]


Tier = list[list[Point]]
"""A checkpoint's points in groups of equal score, rising."""


def _tiers(points: Sequence[Point]) -> list[Tier]:
    by_step: dict[int, list[Point]] = {}
    for point in points:
        by_step.setdefault(point.step, []).append(point)
    made: list[Tier] = []
    for _, members in sorted(by_step.items()):
        tier: Tier = []
        for point in sorted(members, key=lambda p: p.score):
            if tier and tier[-1][0].score == point.score:
                tier[-1].append(point)
            else:
                tier.append([point])
        made.append(tier)
    return made


def _sums(tiers: Sequence[Tier], weight: dict[int, int] | None) -> tuple[float, float]:
    """Pairs won and pairs altogether; a run that was drawn several times counts so often."""
    wins = pairs = 0.0
    for tier in tiers:
        below = failed = 0.0
        for ties in tier:
            bad = good = 0.0
            for point in ties:
                times = 1 if weight is None else weight[point.run]
                if point.failed:
                    bad += times
                else:
                    good += times
            wins += bad * (below + good / 2)
            below += good
            failed += bad
        pairs += failed * below
    return wins, pairs


@dataclass(frozen=True, slots=True)
class Bin:
    """Windows whose scores lie together: how many, their mean score, and the share that belongs to failed runs."""

    low: float
    high: float
    windows: int
    mean_score: float
    failed_share: float


def reliability(points: Sequence[Point], bins: int = 10) -> list[Bin]:
    """Bins of about equal size by score, for the reliability curve. Equal scores are never parted: they say the same."""
    ordered = sorted(points, key=lambda p: p.score)
    made: list[Bin] = []
    start = 0
    for n in range(1, bins + 1):
        end = max(start, n * len(ordered) // bins)
        while 0 < end < len(ordered) and ordered[end].score == ordered[end - 1].score:
            end += 1
        part, start = ordered[start:end], end
        if part:
            mean = sum(p.score for p in part) / len(part)
            made.append(Bin(part[0].score, part[-1].score, len(part), mean, sum(p.failed for p in part) / len(part)))
    return made
