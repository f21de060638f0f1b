"""What curves are made of: the verified attempts of a leg, what each cost, and how the leg ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from runtime.catalog.caps import DEFAULT_CAPS, bare_name

_LETTERS = re.compile(r"[a-z]+")


class Ended(StrEnum):
    """How a leg ended, as far as other caps and budgets could have changed it."""

    PASSED = "passed"
    CAP = "cap"
    HANDED = "handed"
    """Another model took over. Whether it was the cap that bound isn't kept."""
    BUDGET = "budget"
    """Tokens or dollars."""
    OTHER = "other"
    """Aborted, given up, interrupted, stopped by StopLoss: nothing is known of the attempts that it didn't make."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One verified attempt. Tokens and micro-dollars of its calls, and of its verify where that has a price; None is unknown."""

    passed: bool
    tokens: int | None = None
    micros: int | None = None
    verify_micros: int | None = None

    @property
    def cost(self) -> int | None:
        """Calls and verify together; None where the calls' part isn't known."""
        return None if self.micros is None else self.micros + (self.verify_micros or 0)


@dataclass(frozen=True, slots=True)
class Leg:
    """The verified attempts that a finished run made with one model, in order."""

    run: str
    model: str
    attempts: tuple[Attempt, ...]
    ended: Ended
    category: str | None = None
    tenant: str | None = None
    before: tuple[tuple[Attempt, ...], ...] = ()
    """The attempts of the run's earlier legs, leg by leg: budgets span them."""

    @property
    def passed_at(self) -> int | None:
        """The attempt that passed, counted from 1; None where none did."""
        return next((n for n, attempt in enumerate(self.attempts, 1) if attempt.passed), None)


def family_of(model: str, defaults: Mapping[str, int] | None = None) -> str:
    """The family that a model's cap is set by: the longest known prefix of its bare name, else the letters that it begins with."""
    name = bare_name(model)
    known = [prefix.lower() for prefix in (*(defaults or {}), *DEFAULT_CAPS) if name.startswith(prefix.lower())]
    if known:
        return max(known, key=len)
    letters = _LETTERS.match(name)
    return letters[0] if letters else name
