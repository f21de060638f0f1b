"""What every scorer gives: three probabilities, what the check cost, and how long it took."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from runtime.errors import EnvironmentFault
from runtime.stoploss.labels import Label
from runtime.stoploss.window import Window
from runtime.usage import Usage


class ScorerError(EnvironmentFault):
    """A check gave no score; the run goes on unmonitored, and the sentence says so."""


@dataclass(frozen=True, slots=True)
class Score:
    """One check. Cost in micro-dollars, None where it isn't known; `calls` are what it asked of models, for the ledger."""

    p_continue: float
    p_deliver: float
    p_abort: float
    cost_micros: int | None = 0
    latency_ms: float = 0.0
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A model call that a check made."""

    provider: str
    model: str
    usage: Usage
    cost_micros: int | None
    latency_ms: float
    request_id: str | None = None
    price_version: str | None = None


class Scorer(Protocol):
    """Scores windows. `name` identifies it, with its version, in calibrations: another name is another scorer."""

    @property
    def name(self) -> str:
        """Name and version, as `embedded-1`."""
        ...

    @property
    def by_steps(self) -> bool:
        """Whether the score is nothing but the step count, so that it means the same beyond any checkpoint seen."""
        ...

    async def score(self, window: Window) -> Score:
        """One check. Raises ScorerError; nothing else but cancellation."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def softmax(logits: Mapping[Label, float], what: str) -> tuple[float, float, float]:
    """P(Continue), P(Deliver), P(Abort) from the candidates' logits or log-probabilities; a missing one is minus infinity.

    Raises ScorerError where none is there.
    """
    values = [logits.get(name, -math.inf) for name in (Label.CONTINUE, Label.DELIVER, Label.ABORT)]
    top = max(values)
    if not math.isfinite(top):
        raise ScorerError(f"{what} named none of the labels {', '.join(Label)}.", "Check the model and its labels.")
    parts = [math.exp(value - top) for value in values]
    total = sum(parts)
    return parts[0] / total, parts[1] / total, parts[2] / total
