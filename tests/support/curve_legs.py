"""Synthetic legs of finished runs, drawn from known chances of passing, or made to an exact shape."""

from __future__ import annotations

import random
from collections.abc import Sequence

from runtime.curves.legs import Attempt, Ended, Leg

COST, TOKENS = 40_000, 30_000


def drawn(rng: random.Random, hazards: Sequence[float], runs: int, model: str = "claude-sonnet-5-5") -> list[Leg]:
    """Legs whose attempt k passes with chance `hazards[k - 1]` if it is made, up to as many attempts as there are chances."""
    passed, left = [], runs
    for chance in hazards:
        passed.append(sum(rng.random() < chance for _ in range(left)))
        left -= passed[-1]
    return shaped(model, passed, left, "r")


def shaped(model: str, passed: Sequence[int], never: int, prefix: str) -> list[Leg]:
    """Exactly `passed[k - 1]` legs that pass in attempt k, and `never` that make all attempts in vain."""
    made: list[Leg] = []
    for k, count in enumerate(passed, 1):
        attempts = (*(Attempt(False, TOKENS, COST),) * (k - 1), Attempt(True, TOKENS, COST))
        made += [Leg(f"{prefix}{k}", model, attempts, Ended.PASSED)] * count
    vain = (Attempt(False, TOKENS, COST),) * len(passed)
    return made + [Leg(prefix, model, vain, Ended.CAP)] * never


CLAUDE = shaped("claude-sonnet-5-5", (620, 210, 90, 3, 2, 1, 0), 74, "c")
"""Nearly everything that passes does so in attempts 1 to 3; history up to 7."""
QWEN = shaped("Qwen/Qwen3-Coder-30B", (300, 180, 120, 90, 60, 40, 6, 3), 201, "q")
"""Still rising at 5; history up to 8."""
