"""The learned scorer that ships with looptop: a small linear model over window and running counters, on the CPU."""

from __future__ import annotations

import time
from functools import cache
from hashlib import sha256
from pathlib import Path

from runtime.stoploss.linear import Linear, load_weights, to_json
from runtime.stoploss.scorers.base import Score
from runtime.stoploss.window import Window

SHIPPED = Path(__file__).parents[1] / "weights" / "embedded.json"


class Embedded:
    """Scores with a weights file. Its name carries the weights' digest: other weights are another scorer."""

    by_steps = False

    def __init__(self, model: Linear) -> None:
        self._model = model
        self.name = f"embedded-{sha256(to_json(model).encode()).hexdigest()[:8]}"

    @property
    def model(self) -> Linear:
        """The weights."""
        return self._model

    async def score(self, window: Window) -> Score:
        """One check: about a millisecond, free."""
        began = time.perf_counter()
        p_continue, p_deliver, p_abort = self._model.probabilities(window)
        return Score(p_continue, p_deliver, p_abort, 0, (time.perf_counter() - began) * 1000)

    async def close(self) -> None:
        """Nothing to let go."""


@cache
def embedded(path: Path = SHIPPED) -> Embedded:
    """The scorer of a weights file, read once. Raises UsageError."""
    return Embedded(load_weights(path))
