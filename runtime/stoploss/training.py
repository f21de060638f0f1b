"""Trains the embedded scorer on recorded runs; the same runs and options give the same weights, byte for byte."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.errors import UsageError
from runtime.stoploss.features import named_features
from runtime.stoploss.fitting import Fit, Row, fit
from runtime.stoploss.labels import Label, label
from runtime.stoploss.linear import Head, Linear, scaled_row
from runtime.stoploss.splits import marks
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.window import Window, windows
from runtime.stoploss.words import BUCKETS

STRENGTH = 0.015
MOST_WEIGHT = 5.0
"""No window counts more than so many ordinary ones, however rare its kind is at its step."""


@dataclass(frozen=True, slots=True)
class Example:
    """One window with its label."""

    run: int
    window: Window
    label: Label


def examples(runs: Sequence[Trajectory]) -> list[Example]:
    """The windows of all runs with a verdict, at their checkpoints, in order."""
    return [
        Example(index, window, label(window.step, len(run.steps), run.succeeded))
        for index, run in enumerate(runs)
        if run.succeeded is not None
        for window in windows(run)
    ]


def train(runs: Sequence[Trajectory], family: str = "full", trained_on: Sequence[str] = ()) -> Linear:
    """Train on recorded runs. Raises UsageError where there is nothing to tell failed from successful runs by."""
    return train_on(runs, examples(runs), family, trained_on)


def train_on(
    runs: Sequence[Trajectory], made: Sequence[Example], family: str = "full", trained_on: Sequence[str] = ()
) -> Linear:
    """As `train`, with windows that were made before; their `run` counts from 0 in `runs`."""
    failed = [example.label is Label.ABORT for example in made]
    if not any(failed) or all(failed):
        kind = "failed" if not any(failed) else "successful"
        raise UsageError(
            f"There are {len(made)} windows to train on, and none of a {kind} run that reached step 5.",
            "Give more runs, of both kinds.",
        )
    columns = list(zip(*([v for _, v in named_features(e.window, family)] for e in made), strict=True))
    mean = tuple(statistics.fmean(column) for column in columns)
    deviation = tuple(max(statistics.pstdev(column), 1e-6) for column in columns)
    rows = [scaled_row(example.window, family, mean, deviation) for example in made]
    words = 0 if family == "step" else 2 * BUCKETS
    abort = fit(rows, failed, _weights(made, failed), border=words // 2, buckets=words, strength=STRENGTH)
    deliver = _deliver(rows, made)
    note = {
        "runs": len({example.run for example in made}),
        "failed": len({example.run for example in made if example.label is Label.ABORT}),
        "windows": len(made),
        "sources": list(trained_on) or sorted({run.source for run in runs if run.source}),
        "executors": sorted({run.executor for run in runs}),
        "strength": STRENGTH,
        "tasks": list(marks([runs[index] for index in sorted({example.run for example in made})])),
    }
    return Linear(family, mean, deviation, _head(abort), deliver, note)


def _head(found: Fit) -> Head:
    return Head(found.bias, found.dense, found.words)


def _deliver(rows: Sequence[Row], made: Sequence[Example]) -> Head:
    """Deliver against Continue, from the numbers of successful runs' windows alone."""
    chosen = [(row, e.label is Label.DELIVER) for row, e in zip(rows, made, strict=True) if e.label is not Label.ABORT]
    targets = [target for _, target in chosen]
    if len(set(targets)) < 2:
        # Successful runs that are all ending, or none: the share itself is all that is known.
        return Head(4.0 if targets[0] else -4.0, (0.0,) * len(rows[0].dense))
    return _head(fit([Row(row.dense) for row, _ in chosen], targets, [1.0] * len(chosen), strength=10.0))


def _weights(made: Sequence[Example], failed: Sequence[bool]) -> list[float]:
    """Failed and successful windows count alike at every checkpoint, and altogether.

    The score then ranks runs within a checkpoint, instead of repeating how many of them fail; thresholds are calibrated anyway.
    """
    at_step = Counter(example.window.step for example in made)
    of_kind = Counter((example.window.step, bad) for example, bad in zip(made, failed, strict=True))
    raw = [
        min(MOST_WEIGHT, at_step[e.window.step] / of_kind[e.window.step, bad] / 2)
        for e, bad in zip(made, failed, strict=True)
    ]
    sums = {kind: sum(w for w, bad in zip(raw, failed, strict=True) if bad is kind) for kind in (True, False)}
    return [w * len(made) / 2 / sums[bad] for w, bad in zip(raw, failed, strict=True)]
