"""The embedded scorer's model: two small linear heads over a window's features, and its weights file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.errors import UsageError
from runtime.stoploss.counters import Tally
from runtime.stoploss.features import FAMILIES, FEATURES_VERSION, named_features, word_buckets
from runtime.stoploss.fitting import Row, sigmoid
from runtime.stoploss.window import Window
from runtime.stoploss.words import BUCKETS

FORMAT = "looptop-stoploss-weights"
WEIGHTS_VERSION = 1
DENSE_SCALE = 0.05
"""Factor of the standardised numbers against words of unit length: it divides the penalty between the two."""
_EMPTY = Tally()
LIMIT = 4.0
"""A number further than this many standard deviations from the training's mean counts as that far."""


@dataclass(frozen=True, slots=True)
class Head:
    """Log-odds of one question: bias, a weight by feature name, and weights by word bucket (none where it reads no words)."""

    bias: float
    dense: tuple[float, ...]
    words: tuple[float, ...] = ()

    def log_odds(self, row: Row) -> float:
        """Of one example."""
        z = self.bias + sum(w * x for w, x in zip(self.dense, row.dense, strict=True))
        if self.words:
            words = self.words
            z += row.factors[0] * sum(words[n] for n in row.words if n < BUCKETS)
            z += row.factors[1] * sum(words[n] for n in row.words if n >= BUCKETS)
        return z


@dataclass(frozen=True, slots=True)
class Linear:
    """P(Abort) from one head; what is left is divided between Deliver and Continue by the other."""

    family: str
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    abort: Head
    deliver: Head
    trained: Mapping[str, Any]
    """On what, by which options: sources, licences, runs, tasks."""

    def row(self, window: Window) -> Row:
        """The window as the heads read it."""
        return scaled_row(window, self.family, self.mean, self.deviation)

    def probabilities(self, window: Window) -> tuple[float, float, float]:
        """P(Continue), P(Deliver), P(Abort); they sum to 1."""
        row = self.row(window)
        p_abort = sigmoid(self.abort.log_odds(row))
        p_deliver = (1 - p_abort) * sigmoid(self.deliver.log_odds(row))
        return 1 - p_abort - p_deliver, p_deliver, p_abort


def scaled_row(window: Window, family: str, mean: Sequence[float], deviation: Sequence[float]) -> Row:
    """Standardise, bound and scale the numbers; give words of actions and of observations unit length each."""
    dense = tuple(
        DENSE_SCALE * max(-LIMIT, min(LIMIT, (value - m) / d))
        for (_, value), m, d in zip(named_features(window, family), mean, deviation, strict=True)
    )
    actions, observations = word_buckets(window, family)
    factors = tuple(1 / math.sqrt(len(words)) if words else 0.0 for words in (actions, observations))
    return Row(dense, actions + observations, (factors[0], factors[1]))


def to_json(model: Linear) -> str:
    """The weights as readable JSON: numbers by feature name, words as one line of a head."""
    names = [name for name, _ in named_features(Window(0, (), _EMPTY), model.family)]

    def head(part: Head) -> dict[str, Any]:
        out: dict[str, Any] = {
            "bias": _short(part.bias),
            "features": dict(zip(names, map(_short, part.dense), strict=True)),
        }
        return out | ({"words": [_short(w) for w in part.words]} if part.words else {})

    data = {
        "format": FORMAT,
        "version": WEIGHTS_VERSION,
        "features_version": FEATURES_VERSION,
        "family": model.family,
        "trained": model.trained,
        "mean": dict(zip(names, map(_short, model.mean), strict=True)),
        "deviation": dict(zip(names, map(_short, model.deviation), strict=True)),
        "heads": {"abort": head(model.abort), "deliver": head(model.deliver)},
    }
    text = json.dumps(data, indent=1)
    return _folded(text) + "\n"


def _folded(text: str) -> str:
    """Lists of plain numbers on one line."""
    parts = text.split("[")
    return "[".join([parts[0], *(_fold_first(part) for part in parts[1:])])


def _fold_first(part: str) -> str:
    inner, bracket, rest = part.partition("]")
    return " ".join(inner.split()) + bracket + rest


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def load_weights(path: Path) -> Linear:
    """Read a weights file. Raises UsageError, with what to do, for one that is missing, damaged or of another version."""
    hint = "Make a new one with `looptop stoploss train`."
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"There is no weights file {path}.", hint) from error
    except OSError as error:
        raise UsageError(f"The weights file {path} can't be read ({error.strerror}).", hint) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not a whole weights file: it isn't JSON.", hint) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{path} is not a weights file of StopLoss.", hint)
    found = (data.get("version"), data.get("features_version"))
    if found != (WEIGHTS_VERSION, FEATURES_VERSION):
        raise UsageError(
            f"The weights file {path} has version {found[0]} with features {found[1]}; "
            f"this looptop reads version {WEIGHTS_VERSION} with features {FEATURES_VERSION}.",
            hint,
        )
    try:
        return _parsed(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"The weights file {path} is damaged ({error}).", hint) from error


def _parsed(data: dict[str, Any]) -> Linear:
    family = data["family"]
    if family not in FAMILIES:
        raise ValueError(f"no features are called {family!r}")
    names = [name for name, _ in named_features(Window(0, (), _EMPTY), family)]

    def column(values: dict[str, Any]) -> tuple[float, ...]:
        found = tuple(float(values[name]) for name in names)
        if not all(map(math.isfinite, found)):
            raise ValueError("a weight is not a number")
        return found

    def head(part: dict[str, Any]) -> Head:
        words = tuple(float(w) for w in part.get("words", ()))
        if len(words) not in (0, 2 * BUCKETS) or not all(map(math.isfinite, words)):
            raise ValueError(f"{len(words)} word weights where {2 * BUCKETS} belong")
        return Head(float(part["bias"]), column(part["features"]), words)

    deviation = column(data["deviation"])
    if min(deviation) <= 0:
        raise ValueError("a deviation is not above 0")
    heads = data["heads"]
    return Linear(
        family, column(data["mean"]), deviation, head(heads["abort"]), head(heads["deliver"]), data["trained"]
    )
