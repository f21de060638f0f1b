"""All candidates side by side on the same held-out runs, as data for tables, JSON and screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runtime.stoploss.evaluate.held_out import Candidate, HeldOut, Workbench
from runtime.stoploss.evaluate.ledger import Ledger, ledger_of
from runtime.stoploss.evaluate.policies import MAX_FALSE_ABORT, Decision, Qualification, decide, qualify
from runtime.stoploss.evaluate.ranking import RESAMPLES, Bin, Estimate, auc_by_step, reliability, with_interval
from runtime.stoploss.window import FIRST_CHECKPOINT


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate: how it ranks, what stopping by it would have done, and whether that is allowed."""

    name: str
    tier: Estimate
    at_first: Estimate
    """AUC at step 5."""
    by_step: dict[int, float | None]
    ledger: Ledger
    qualification: Qualification
    reliability: tuple[Bin, ...]
    folds: int
    uncalibrated_folds: int
    """Held-out groups without a threshold: too few successes were left to calibrate on."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All candidates, and what follows from them."""

    runs: int
    successes: int
    groups: int
    executors: tuple[str, ...]
    projects: tuple[str, ...]
    target: float
    measured: tuple[Measured, ...]
    decision: Decision

    def to_json(self) -> dict[str, Any]:
        """As JSON data; what isn't known is null."""
        return asdict(self)


async def evaluate(
    bench: Workbench,
    candidates: Sequence[Candidate],
    *,
    max_false_abort: float = MAX_FALSE_ABORT,
    resamples: int = RESAMPLES,
    progress: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Measure all candidates. Raises UsageError for overlap and too few runs, ScorerError where a scorer fails."""
    measured = []
    for candidate in candidates:
        held = await bench.measure(candidate, progress)
        measured.append(_measured(candidate.name, held, max_false_abort, resamples))
    return Evaluation(
        runs=len(bench.runs),
        successes=sum(run.succeeded is True for run in bench.runs),
        groups=len({run.group for run in bench.runs}),
        executors=tuple(sorted({run.executor for run in bench.runs})),
        projects=tuple(sorted({run.project for run in bench.runs})),
        target=bench.target,
        measured=tuple(measured),
        decision=decide({one.name: one.ledger for one in measured}, max_false_abort),
    )


def _measured(name: str, held: HeldOut, max_false_abort: float, resamples: int) -> Measured:
    ledger = ledger_of(held.outcomes, held.unit, resamples)
    return Measured(
        name=name,
        tier=with_interval(held.points, resamples),
        at_first=with_interval([point for point in held.points if point.step == FIRST_CHECKPOINT], resamples),
        by_step=auc_by_step(held.points),
        ledger=ledger,
        qualification=qualify(ledger, max_false_abort),
        reliability=tuple(reliability(held.points)),
        folds=len(held.thresholds),
        uncalibrated_folds=sum(threshold is None for threshold in held.thresholds),
    )
