"""Calibrations, evaluations and scores as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.stoploss.evaluate.ranking import Estimate
from runtime.stoploss.evaluate.report import Evaluation, Measured
from runtime.stoploss.scorers.base import Score
from runtime.stoploss.scorers.step_limit import StepLimit, steps_of
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.threshold import Calibration
from runtime.stoploss.window import Window
from tui.commands.table import table

MODES = {"allowed": "abort is allowed", "refused": "abort is not allowed", "unmeasured": "abort is not measured"}


def share(value: float | None, signed: bool = False) -> str:
    """A share in percent; ? where it isn't known."""
    return "?" if value is None else f"{value * 100:{'+' if signed else ''}.1f}%"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.3f}"


def _ranged(found: Estimate, signed: bool = False) -> str:
    if found.low is None or found.high is None:
        return share(found.value, signed)
    return f"{share(found.value, signed)} ({share(found.low, signed)} to {share(found.high, signed)})"


def _auc(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return _number(found.value)
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def threshold_words(made: Calibration) -> str:
    """A threshold in words: a step limit as steps, one below every score as what it means."""
    if not math.isfinite(made.threshold):
        return "every run that reaches step 5 (no success did)"
    if made.scorer == StepLimit.name:
        return f"more than {steps_of(made.threshold):.0f} tool steps"
    return f"above {made.threshold:.4f}"


def calibration_text(made: Calibration) -> str:
    """A calibration in four lines."""
    reached = "none" if made.last_checkpoint is None else f"step {made.last_checkpoint}"
    return "\n".join(
        [
            f"{made.scorer}: {threshold_words(made)}, from {made.successes} successful runs, false aborts at most {made.target:.0%}",
            f"valid for {made.executor} on {made.project or 'runs without a project'}",
            f"last checkpoint that 95% of them reached: {reached}",
            f"{MODES[made.abort]}: {made.abort_why}",
        ]
    )


def evaluation_text(found: Evaluation) -> str:
    """All candidates side by side: ranking, money, sensitivity, and what follows."""
    head = (
        f"{found.runs} runs, {found.successes} successful, in {found.groups} groups; held out group by group; "
        f"target {found.target:.0%}; 95% intervals in brackets"
    )
    ranking = table(
        ("scorer", "tier AUC", "AUC at step 5"), [(m.name, _auc(m.tier), _auc(m.at_first)) for m in found.measured]
    )
    unit = found.measured[0].ledger.unit
    money = table(
        ("scorer", "g", "m", "r", "g-(m+r)", "cost per solve", "stopped of failed", "kept"),
        [_money(m) for m in found.measured],
    )
    more = table(
        ("scorer", "left at right aborts", "top three", "x1", "x2", "x5", "x10", f"{unit}/solve", "with"),
        [_more(m) for m in found.measured],
        ".>>>>>>>>",
    )
    steps = _by_step(found.measured)
    verdicts = [f"{m.name}: {MODES[m.qualification.verdict]}: {m.qualification.why}{_folds(m)}" for m in found.measured]
    last = f"in force: {found.decision.policy}, {found.decision.mode}: {found.decision.why}"
    if len(found.executors) > 1 or len(found.projects) > 1:
        mixed = f"{len(found.executors)} models on {len(found.projects)} projects are mixed"
        head += f"\n{mixed}: a threshold holds for one of each; see --executor"
    return "\n\n".join([head, ranking, money, more, steps, "\n".join([*verdicts, last])])


def _folds(m: Measured) -> str:
    if not m.uncalibrated_folds:
        return ""
    return f" ({m.uncalibrated_folds} of {m.folds} groups had too few successes beside them for a threshold)"


def _money(m: Measured) -> tuple[str, ...]:
    ledger = m.ledger
    return (
        m.name,
        share(ledger.g.value),
        share(ledger.m.value),
        _ranged(ledger.r),
        _ranged(ledger.margin, signed=True),
        _ranged(ledger.change, signed=True),
        _ranged(ledger.failed_stopped),
        share(ledger.kept),
    )


def _more(m: Measured) -> tuple[str, ...]:
    ledger = m.ledger
    costs = [("?" if v is None else f"{v:.3f}") for v in (ledger.cost_per_solve, ledger.cost_per_solve_with)]
    prices = [share(row.change, signed=True) for row in ledger.by_price]
    return (m.name, share(ledger.median_left), share(ledger.top_three), *prices, *costs)


def _by_step(measured: Sequence[Measured]) -> str:
    """AUC at the first ten checkpoints, a column each."""
    steps = sorted({step for m in measured for step in m.by_step})[:10]
    rows = [(m.name, *(_number(m.by_step.get(step)) for step in steps)) for m in measured]
    return table(("AUC at step", *map(str, steps)), rows, "." + ">" * len(steps))


def score_text(run: Trajectory, checks: Sequence[tuple[Window, Score]], calibration: Calibration | None) -> str:
    """A run's scores, a line for each checkpoint."""
    verdict = {None: "no verdict", True: "succeeded", False: "failed"}[run.succeeded]
    head = f"{run.id}: {len(run.steps)} tool steps, {verdict}"
    if not checks:
        return f"{head}; no checkpoint was reached (the first is step 5)"
    rows = [_check(window, score, calibration) for window, score in checks]
    return f"{head}\n{table(('step', 'continue', 'deliver', 'abort', '', 'cost'), rows, '>>>>.>')}"


def _check(window: Window, score: Score, calibration: Calibration | None) -> tuple[str, ...]:
    above = "above" if calibration is not None and score.p_abort > calibration.threshold else ""
    cost = "?" if score.cost_micros is None else f"${score.cost_micros / 1e6:.6f}"
    values = (f"{value:.3f}" for value in (score.p_continue, score.p_deliver, score.p_abort))
    return (str(window.step), *values, above, cost)
