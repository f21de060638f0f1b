"""`looptop stoploss calibrate`: choose on one part of the runs, calibrate on another, keep what came out."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from runtime.errors import UsageError
from runtime.stoploss.evaluate.held_out import Workbench
from runtime.stoploss.evaluate.policies import MAX_FALSE_ABORT, Decision, decide
from runtime.stoploss.evaluate.ranking import RESAMPLES
from runtime.stoploss.scorers.base import Scorer
from runtime.stoploss.splits import Split, marks, refuse_overlap, split
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.threshold import Calibration, Success, calibrate, least_successes
from runtime.stoploss.window import windows
from store.calibrations import STOPLOSS
from store.store import Store
from tui.cli import echo_json
from tui.commands.stoploss_runs import runs_of, scorer_of, trained_on
from tui.commands.stoploss_tables import calibration_text
from tui.commands.stoploss_work import measured
from tui.commands.store_access import with_store

POLICIES = ("step-limit", "embedded", "step-limit+embedded")
"""What is chosen from where no scorer is named."""


def calibrate_threshold(
    source: dict[str, Any], name: str | None, target: float, base_url: str | None, as_json: bool
) -> None:
    """Choose a scorer on one part of the runs, calibrate it on another, and keep the calibration."""
    runs = [run for run in runs_of(source).runs if run.succeeded is not None]
    executor, project = _only(runs, "executor", "--executor"), _only(runs, "project", "one project's runs")
    made = asyncio.run(_calibrate(runs, name, target, base_url, executor, project))

    async def keep(store: Store, _: Path) -> None:
        await store.calibrations.add(
            STOPLOSS, made.to_json(), made.successes, project=project, model=executor, scorer=made.scorer
        )

    with_store(keep)
    if as_json:
        echo_json(made.to_json())
    else:
        click.echo(calibration_text(made))


def _only(runs: Sequence[Trajectory], what: str, hint: str) -> str:
    found = sorted({str(getattr(run, what)) for run in runs})
    if len(found) > 1:
        raise UsageError(
            f"The runs have {len(found)} {what}s ({', '.join(found[:4])}): a calibration is valid for one.",
            f"Give {hint}.",
        )
    if not found:
        raise UsageError("None of the runs has a verdict.", "Give a results file with --results.")
    return found[0]


async def _calibrate(
    runs: Sequence[Trajectory], name: str | None, target: float, base_url: str | None, executor: str, project: str
) -> Calibration:
    every = {name: scorer_of(name, base_url) for name in ([name] if name else POLICIES)}
    scorers = every
    try:
        if name is None and not _enough(runs, scorers, target):
            # What these runs trained can't be calibrated on them; the step limit wasn't trained on anything.
            scorers = {name: scorer for name, scorer in every.items() if not trained_on(scorer)}
        parts = _parts(runs, scorers, target)
        decision = await _choose(parts.choose, list(scorers), target, base_url)
        chosen = scorers.get(decision.policy) or next(iter(scorers.values()))
        refuse_overlap("calibrate", marks(parts.calibrate), "choose by", marks(parts.choose))
        refuse_overlap("calibrate", marks(parts.calibrate), "train it", trained_on(chosen))
        made = calibrate(
            [Success(len(run.steps), await _maximum(chosen, run)) for run in parts.calibrate if run.succeeded],
            scorer=chosen.name,
            by_steps=chosen.by_steps,
            executor=executor,
            project=project,
            target=target,
            tasks=marks(parts.calibrate),
            made_at=datetime.now(UTC).isoformat(),
        )
        chosen_by = marks(parts.choose)
        return dataclasses.replace(made, abort=decision.verdict, abort_why=decision.why, chosen_by=chosen_by)
    finally:
        for scorer in every.values():
            await scorer.close()


def _enough(runs: Sequence[Trajectory], scorers: Mapping[str, Scorer], target: float) -> bool:
    try:
        _parts(runs, scorers, target)
    except UsageError:
        return False
    return True


def _parts(runs: Sequence[Trajectory], scorers: Mapping[str, Scorer], target: float) -> Split:
    """The runs that no scorer was trained on, in two parts. Raises UsageError where too few successes are left."""
    seen = {mark for scorer in scorers.values() for mark in trained_on(scorer)}
    parts = split(runs, seen)
    left, least = sum(run.succeeded is True for run in parts.calibrate), least_successes(target)
    if left >= least:
        return parts
    taught = len(seen & set(marks(runs)))
    gone = f" ({taught} tasks were used to train the scorer and can't be used again)" if taught else ""
    raise UsageError(
        f"{left} successful runs are left to calibrate on{gone}: at least {least} are needed to bound false aborts at {target:.0%}.",
        "Collect more in watch mode.",
    )


async def _choose(runs: Sequence[Trajectory], names: Sequence[str], target: float, base_url: str | None) -> Decision:
    """Which policy is in force by the runs that are kept for choosing; where they can't tell, none was measured."""
    if len({run.succeeded for run in runs}) < 2:
        return decide({})
    found = await measured(Workbench(runs, target), names, base_url, MAX_FALSE_ABORT, RESAMPLES, quiet=True)
    return found.decision


async def _maximum(scorer: Scorer, run: Trajectory) -> float:
    return max([(await scorer.score(window)).p_abort for window in windows(run)], default=-math.inf)
