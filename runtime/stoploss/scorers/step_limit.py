"""The baseline: no model, a conformal limit on tool steps."""

from __future__ import annotations

from runtime.stoploss.scorers.base import Score
from runtime.stoploss.window import Window

HALF = 20
"""Tool steps at which the score is one half; any number gives the same policy, for the threshold is calibrated."""


def score_of(step: int) -> float:
    """The step count on the scale of scores, strictly increasing: n / (n + 20)."""
    return step / (step + HALF)


def steps_of(score: float) -> float:
    """The step count that has this score."""
    return HALF * score / (1 - score)


class StepLimit:
    """Scores by the step count alone."""

    name = "step-limit"
    by_steps = True

    async def score(self, window: Window) -> Score:
        """n / (n + 20) as P(Abort), the rest as P(Continue)."""
        p_abort = score_of(window.step)
        return Score(1 - p_abort, 0.0, p_abort)

    async def close(self) -> None:
        """Nothing to let go."""
