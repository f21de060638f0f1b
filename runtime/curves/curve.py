"""The fix-rate curve of a family: of the runs still open at attempt k, how many pass in it, and up to which k that is worth it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime.catalog.caps import MAX_CAP
from runtime.curves.legs import Leg, family_of

Z = 1.959963984540054
"""Two-sided 95% of the normal distribution."""
MIN_GAIN = 0.05
ENOUGH_RUNS = 30


@dataclass(frozen=True, slots=True)
class Point:
    """Attempt k: legs that made it, how many of them passed in it, and its rate with its 95% interval. Means are None where unknown."""

    attempt: int
    at_risk: int
    passed: int
    rate: float
    low: float
    high: float
    tokens: float | None
    micros: float | None
    """Mean cost of its calls, in micro-dollars."""
    verify_micros: float | None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A cap, in words why; None where too few runs are known, or no attempt is surely worth it.

    `open_ended`: the last attempt ever made was still worth it.
    """

    cap: int | None
    why: str
    open_ended: bool = False

    @property
    def to_set(self) -> int | None:
        """What applying it sets: one more where the end wasn't seen yet."""
        if self.cap is None:
            return None
        return min(MAX_CAP, self.cap + 1) if self.open_ended else self.cap


@dataclass(frozen=True, slots=True)
class Curve:
    """All of one family. `after_useful_micros` is what attempts beyond the recommended cap cost; None where that isn't known."""

    family: str
    runs: int
    points: tuple[Point, ...]
    recommended: Recommendation
    after_useful_micros: int | None
    complete: bool
    """False where an attempt beyond the recommended cap has no known cost: the sum misses it."""


def wilson(passed: int, n: int, z: float = Z) -> tuple[float, float]:
    """The score interval of a share (Wilson 1927)."""
    if n == 0:
        return 0.0, 1.0
    share, spread = passed / n, z * z / n
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    # Rounding must not put the share itself outside.
    return max(0.0, min(share, (middle - half) / (1 + spread))), min(1.0, max(share, (middle + half) / (1 + spread)))


def curve(family: str, legs: Sequence[Leg], min_gain: float = MIN_GAIN) -> Curve:
    """The curve of legs that belong together. A leg that ended at attempt k for whatever reason isn't at risk at k + 1."""
    points = tuple(_points(legs))
    recommended = recommend(points, len(legs), min_gain)
    after: int | None = None
    complete = True
    if recommended.cap is not None:
        costs = [attempt.cost for leg in legs for attempt in leg.attempts[recommended.cap :]]
        known = [cost for cost in costs if cost is not None]
        after, complete = (sum(known) if known or not costs else None), len(known) == len(costs)
    return Curve(family, len(legs), points, recommended, after, complete)


def _points(legs: Sequence[Leg]) -> Iterable[Point]:
    for number in range(1, max((len(leg.attempts) for leg in legs), default=0) + 1):
        made = [leg.attempts[number - 1] for leg in legs if len(leg.attempts) >= number]
        passed = sum(attempt.passed for attempt in made)
        low, high = wilson(passed, len(made))
        yield Point(
            number,
            len(made),
            passed,
            passed / len(made),
            low,
            high,
            _mean([attempt.tokens for attempt in made]),
            _mean([attempt.micros for attempt in made]),
            _mean([attempt.verify_micros for attempt in made]),
        )


def _mean(values: Sequence[int | None]) -> float | None:
    """The mean; None where one of them isn't known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def recommend(points: Sequence[Point], runs: int, min_gain: float = MIN_GAIN) -> Recommendation:
    """The last attempt whose rate surely is above `min_gain`: its interval's lower bound lies above it."""
    if runs < ENOUGH_RUNS:
        return Recommendation(None, f"not enough runs yet, on trial with {runs}")
    worth = [point.attempt for point in points if point.low > min_gain]
    if not worth:
        return Recommendation(None, f"no attempt surely passes in more than {min_gain:.0%} of the runs that make it")
    last = worth[-1]
    if last == points[-1].attempt:
        return Recommendation(
            last, f"at least {last}, try {last + 1}: the last attempt ever made was still worth it", True
        )
    nxt = points[last]
    return Recommendation(
        last, f"attempt {last + 1} passes in {nxt.rate:.1%} of {nxt.at_risk} runs, not surely above {min_gain:.0%}"
    )


def curves(legs: Iterable[Leg], defaults: Mapping[str, int] | None = None, min_gain: float = MIN_GAIN) -> list[Curve]:
    """A curve for every family, the one with most runs first."""
    families: dict[str, list[Leg]] = {}
    for leg in legs:
        families.setdefault(family_of(leg.model, defaults), []).append(leg)
    made = [curve(family, found, min_gain) for family, found in families.items()]
    return sorted(made, key=lambda one: (-one.runs, one.family))
