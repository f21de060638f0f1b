"""L2-regularised logistic regression over a few dense numbers and many word buckets, in plain Python and deterministic.

Row and column sums go through `itemgetter`, which keeps the inner loops out of the interpreter: a fit takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter, mul
from typing import Any

MEMORY = 8
MAX_ROUNDS = 80
TOLERANCE = 1e-4


def sigmoid(z: float) -> float:
    """The logistic function, without overflow."""
    if z >= 0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(map(mul, a, b))


@dataclass(frozen=True, slots=True)
class Row:
    """One example: dense numbers (scaled already), and word buckets with the factor that gives them unit length."""

    dense: tuple[float, ...]
    words: tuple[int, ...] = ()
    factors: tuple[float, float] = (0.0, 0.0)
    """Of buckets below and from the border between actions and observations."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted linear model: the log-odds are bias + dense weights + word weights."""

    bias: float
    dense: tuple[float, ...]
    words: tuple[float, ...]


class _Problem:
    """Value and gradient of sum(weight * log-loss) + |w|^2 / (2 * strength), the bias free."""

    def __init__(
        self,
        rows: Sequence[Row],
        targets: Sequence[bool],
        weights: Sequence[float],
        border: int,
        buckets: int,
        c: float,
    ) -> None:
        self.size = 1 + len(rows[0].dense) + buckets
        self._targets, self._weights, self._c = targets, weights, c
        self._dense = [(1.0, *row.dense) for row in rows]
        self._columns = list(zip(*self._dense, strict=True))
        self._buckets = buckets
        self._parts: list[tuple[list[Any], list[float], list[Any], range]] = []
        for part, span in enumerate((range(border), range(border, buckets))):
            if not span:
                continue
            own = [tuple(n for n in row.words if n in span) for row in rows]
            by_bucket: dict[int, list[int]] = {n: [] for n in span}
            for index, words in enumerate(own):
                for n in words:
                    by_bucket[n].append(index)
            # The two extra places hold zeros: an itemgetter of one place wouldn't give a tuple.
            across = [itemgetter(*words, buckets, buckets) for words in own]
            down = [itemgetter(*by_bucket[n], len(rows), len(rows)) for n in span]
            self._parts.append((across, [row.factors[part] for row in rows], down, span))

    def __call__(self, w: list[float]) -> tuple[float, list[float]]:
        k = self.size - self._buckets
        head, words = w[:k], [*w[k:], 0.0]
        z = [_dot(head, row) for row in self._dense]
        for across, factors, _, _ in self._parts:
            z = [was + factor * sum(get(words)) for was, factor, get in zip(z, factors, across, strict=True)]
        value = 0.0
        pull: list[float] = []
        for at, target, weight in zip(z, self._targets, self._weights, strict=True):
            signed = -at if target else at
            value += weight * (signed + math.log1p(math.exp(-signed)) if signed > 0 else math.log1p(math.exp(signed)))
            pull.append(weight * (sigmoid(at) - target))
        gradient = [_dot(column, pull) for column in self._columns] + [0.0] * self._buckets
        for _, factors, down, span in self._parts:
            scaled = [*map(mul, pull, factors), 0.0]
            for n, get in zip(span, down, strict=True):
                gradient[k + n] = sum(get(scaled))
        penalty = [0.0, *w[1:]]
        value += _dot(penalty, penalty) / (2 * self._c)
        return value, [g + p / self._c for g, p in zip(gradient, penalty, strict=True)]


def fit(
    rows: Sequence[Row],
    targets: Sequence[bool],
    weights: Sequence[float],
    *,
    border: int = 0,
    buckets: int = 0,
    strength: float = 0.01,
) -> Fit:
    """Fit by L-BFGS (Nocedal 1980) with a backtracking line search. `strength` is the inverse of the penalty's factor.

    Raises ValueError where the targets are all alike.
    """
    if len(set(targets)) < 2:
        raise ValueError("a fit needs examples of both kinds")
    problem = _Problem(rows, targets, weights, border, buckets, strength)
    w = [0.0] * problem.size
    value, gradient = problem(w)
    first = math.sqrt(_dot(gradient, gradient)) or 1.0
    pairs: list[tuple[list[float], list[float], float]] = []
    for _ in range(MAX_ROUNDS):
        direction = _direction(gradient, pairs)
        slope = _dot(direction, gradient)
        step = 1.0 if pairs else min(1.0, 1.0 / first)
        while True:
            tried = [a + step * d for a, d in zip(w, direction, strict=True)]
            new_value, new_gradient = problem(tried)
            if new_value <= value + 1e-4 * step * slope or step < 1e-10:
                break
            step /= 2
        moved = [step * d for d in direction]
        change = [a - b for a, b in zip(new_gradient, gradient, strict=True)]
        curvature = _dot(moved, change)
        if curvature > 1e-12:
            pairs = [*pairs[-MEMORY + 1 :], (moved, change, 1.0 / curvature)]
        w, value, gradient = tried, new_value, new_gradient
        if math.sqrt(_dot(gradient, gradient)) < TOLERANCE * first:
            break
    k = 1 + len(rows[0].dense)
    return Fit(w[0], tuple(w[1:k]), tuple(w[k:]))


def _direction(gradient: list[float], pairs: list[tuple[list[float], list[float], float]]) -> list[float]:
    """The two-loop recursion."""
    q = [-g for g in gradient]
    alphas = []
    for moved, change, rho in reversed(pairs):
        alpha = rho * _dot(moved, q)
        alphas.append(alpha)
        q = [a - alpha * b for a, b in zip(q, change, strict=True)]
    if pairs:
        moved, change, rho = pairs[-1]
        scale = 1.0 / (rho * _dot(change, change))
        q = [scale * a for a in q]
    for (moved, change, rho), alpha in zip(pairs, reversed(alphas), strict=True):
        beta = rho * _dot(change, q)
        q = [a + (alpha - beta) * b for a, b in zip(q, moved, strict=True)]
    return q
