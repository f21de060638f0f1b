"""Scores and outcomes on runs that neither training nor calibration saw: leave one group out, for any number of scorers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

from runtime.errors import UsageError
from runtime.stoploss.evaluate.ledger import Outcome
from runtime.stoploss.evaluate.ranking import Point
from runtime.stoploss.features import FAMILIES
from runtime.stoploss.scorers.base import Scorer
from runtime.stoploss.scorers.embedded import Embedded
from runtime.stoploss.scorers.ensemble import Ensemble
from runtime.stoploss.splits import marks, refuse_overlap, task_mark
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.threshold import TARGET, threshold_of
from runtime.stoploss.training import Example, examples, train_on
from runtime.stoploss.window import Window

MOST_FOLDS = 12
FOLDS = 10
AT_ONCE = 8
"""Checks in flight: a served scorer answers several at a time."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scorer to measure: one that is ready, or a family of features to train anew for every held-out group."""

    name: str
    scorer: Scorer | None = None
    family: str = ""
    trained: tuple[str, ...] = ()
    """Marks of the tasks that a ready scorer was trained on."""
    beside: tuple[Scorer, ...] = ()
    """Ready scorers that make an ensemble with the one that is trained anew."""


def trained_candidate(name: str, family: str, beside: Sequence[Scorer] = (), trained: Sequence[str] = ()) -> Candidate:
    """A candidate that is trained on the runs outside each held-out group; with others beside it, an ensemble."""
    assert family in FAMILIES
    return Candidate(name, family=family, beside=tuple(beside), trained=tuple(trained))


@dataclass(frozen=True, slots=True)
class Checked:
    """One scored window. `micros` is None where a check's cost isn't known."""

    run: int
    step: int
    score: float
    micros: int | None


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A candidate on held-out runs."""

    points: tuple[Point, ...]
    """Scores for ranking; a trained candidate saw all other groups."""
    outcomes: tuple[Outcome, ...]
    unit: Literal["dollars", "steps"]
    thresholds: tuple[float | None, ...]
    """By fold; None where too few successes were left to calibrate on, and nothing was stopped."""


def judged(runs: Sequence[Trajectory]) -> list[Trajectory]:
    """The runs that have a verdict. Raises UsageError without both kinds."""
    kept = [run for run in runs if run.succeeded is not None]
    good = sum(run.succeeded is True for run in kept)
    if good in (0, len(kept)):
        raise UsageError(
            f"{len(kept)} runs with a verdict were given, {good} of them successful: both kinds are needed.",
            "Give more runs, or a results file with --results.",
        )
    return kept


def folds(runs: Sequence[Trajectory]) -> list[list[int]]:
    """Indices by held-out part: a group each; of too many groups several together, of a single group its tasks in ten parts."""
    keys = [run.group for run in runs]
    if len(set(keys)) == 1:
        keys = [task_mark(run) for run in runs]
    names = sorted(set(keys))
    if len(names) > MOST_FOLDS:
        by_name = {name: n % FOLDS for n, name in enumerate(sorted(names, key=lambda name: (_mixed(name), name)))}
    else:
        by_name = {name: n for n, name in enumerate(names)}
    parts: list[list[int]] = [[] for _ in range(max(by_name.values()) + 1)]
    for index, key in enumerate(keys):
        parts[by_name[key]].append(index)
    return parts


def _mixed(name: str) -> int:
    return crc32(name.encode("utf-8", "replace"))


class Workbench:
    """Runs with their windows, made once for all candidates."""

    def __init__(self, runs: Sequence[Trajectory], target: float = TARGET) -> None:
        self.runs = judged(runs)
        self.target = target
        self.folds = folds(self.runs)
        self.examples = examples(self.runs)
        self.unit: Literal["dollars", "steps"] = "dollars" if all(map(_priced, self.runs)) else "steps"
        self._of_run: list[list[Window]] = [[] for _ in self.runs]
        for example in self.examples:
            self._of_run[example.run].append(example.window)

    async def measure(self, candidate: Candidate, progress: Callable[[str], None] = lambda _: None) -> HeldOut:
        """Score and calibrate a candidate, fold by fold. Raises UsageError and ScorerError."""
        points: list[Point] = []
        outcomes: list[Outcome] = []
        thresholds: list[float | None] = []
        fixed = None
        if candidate.trained:
            hint = "Use runs of other tasks, or measure `trained`, which is trained anew for every group."
            refuse_overlap(f"measure {candidate.name} on", marks(self.runs), "train it", candidate.trained, hint)
        if candidate.scorer is not None:
            fixed = await self._score(candidate.scorer, range(len(self.runs)))
        for number, held in enumerate(self.folds):
            progress(f"{candidate.name}: group {number + 1} of {len(self.folds)}")
            rest = [n for n in range(len(self.runs)) if n not in set(held)]
            if fixed is not None:
                ranked = applied = {n: fixed[n] for n in held}
                calibration = {n: fixed[n] for n in rest}
            else:
                ranked, applied, calibration = await self._trained(candidate, held, rest)
            points += [Point(n, c.step, c.score, not self.runs[n].succeeded) for n in held for c in ranked[n]]
            threshold = self._threshold(calibration)
            thresholds.append(threshold)
            outcomes += [self._outcome(n, applied[n], threshold) for n in held]
        return HeldOut(tuple(points), tuple(outcomes), self.unit, tuple(thresholds))

    async def _trained(
        self, candidate: Candidate, held: Sequence[int], rest: Sequence[int]
    ) -> tuple[dict[int, list[Checked]], dict[int, list[Checked]], dict[int, list[Checked]]]:
        """Scores for ranking by a model of all the rest; for stopping by one of half of it, the other half to calibrate."""
        ranker = await self._model(rest, candidate)
        half = set(marks([self.runs[n] for n in rest])[::2])
        train = [n for n in rest if task_mark(self.runs[n]) in half]
        others = [n for n in rest if task_mark(self.runs[n]) not in half]
        stopper = await self._model(train, candidate)
        return await self._score(ranker, held), await self._score(stopper, held), await self._score(stopper, others)

    async def _model(self, chosen: Sequence[int], candidate: Candidate) -> Scorer:
        keep = set(chosen)
        made: list[Example] = [example for example in self.examples if example.run in keep]
        scorer = Embedded(await asyncio.to_thread(train_on, self.runs, made, candidate.family))
        return Ensemble([*candidate.beside, scorer]) if candidate.beside else scorer

    async def _score(self, scorer: Scorer, chosen: Sequence[int]) -> dict[int, list[Checked]]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(run: int) -> tuple[int, list[Checked]]:
            found = []
            async with gate:
                for window in self._of_run[run]:
                    score = await scorer.score(window)
                    found.append(Checked(run, window.step, score.p_abort, score.cost_micros))
            return run, found

        tasks = [asyncio.create_task(one(n), name=f"stoploss score {n}") for n in chosen]
        try:
            return dict(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    def _threshold(self, calibration: dict[int, list[Checked]]) -> float | None:
        maxima = [
            max((c.score for c in found), default=-math.inf)
            for n, found in calibration.items()
            if self.runs[n].succeeded
        ]
        try:
            return threshold_of(maxima, self.target)
        except UsageError:
            return None

    def _outcome(self, number: int, checks: Sequence[Checked], threshold: float | None) -> Outcome:
        run = self.runs[number]
        stop = next((n for n, c in enumerate(checks) if threshold is not None and c.score > threshold), None)
        made = checks if stop is None else checks[: stop + 1]
        stopped_at = None if stop is None else checks[stop].step
        full, spent = self._costs(run, stopped_at)
        costs = [c.micros for c in made if c.micros is not None]
        monitor: float | None = float(sum(costs)) / 1e6 if len(costs) == len(made) else None
        if self.unit == "steps" and monitor:
            monitor = None
        return Outcome(
            task_mark(run), bool(run.succeeded), full, full - spent if stopped_at else 0.0, monitor, stopped_at
        )

    def _costs(self, run: Trajectory, stopped_at: int | None) -> tuple[float, float]:
        """Cost of the full run and of its part up to a step."""
        costs = run.step_micros if self.unit == "dollars" else None
        if costs is None:
            return float(len(run.steps)), float(stopped_at or len(run.steps))
        full = max(run.cost_micros or 0, sum(costs)) / 1e6
        return full, sum(costs[:stopped_at]) / 1e6


def _priced(run: Trajectory) -> bool:
    return run.step_micros is not None and (run.cost_micros or sum(run.step_micros)) > 0
