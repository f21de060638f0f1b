"""What the commands of `looptop stoploss` do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from runtime.errors import UsageError
from runtime.stoploss.evaluate.held_out import Workbench
from runtime.stoploss.evaluate.report import Evaluation, evaluate
from runtime.stoploss.linear import to_json
from runtime.stoploss.scorers.base import Score, Scorer
from runtime.stoploss.splits import share_of
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.threshold import Calibration
from runtime.stoploss.training import train
from runtime.stoploss.trajectories.load import load
from runtime.stoploss.window import Window, windows
from store.calibrations import STOPLOSS
from store.home import FILE_NAME, prepare_home
from store.store import Store
from tui.cli import echo_json
from tui.commands.stoploss_runs import candidate_of, runs_of, scorer_of, weights_path
from tui.commands.stoploss_tables import evaluation_text, score_text
from tui.commands.store_access import with_store
from tui.places import home_of

POLICIES = ("step-limit", "trained", "step-limit+trained", "trained:window")
"""What is measured where no scorer is named."""
OWN_SHARE = 0.5
"""Own tasks that training takes; the others are left to choose and to calibrate by."""


def train_weights(source: dict[str, Any], out: Path | None, share: float | None, family: str, as_json: bool) -> None:
    """Train and write the weights file."""
    found = runs_of(source)
    portion = share if share is not None else (OWN_SHARE if found.own else 1.0)
    chosen = share_of([run for run in found.runs if run.succeeded is not None], portion)
    model = train(chosen, family)
    path = out or weights_path()
    if out is None:
        prepare_home(home_of(os.environ), FILE_NAME)
    try:
        path.write_text(to_json(model), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"The weights can't be written to {path} ({error.strerror}).", "Name another --out."
        ) from error
    told = {name: value for name, value in model.trained.items() if name != "tasks"}
    if as_json:
        echo_json({"path": str(path), "family": family, "trained": told})
        return
    click.echo(
        f"{path}: trained on {told['runs']} runs ({told['failed']} failed), {told['windows']} windows, "
        f"of {', '.join(told['executors'])}"
    )


def evaluate_scorers(
    source: dict[str, Any],
    names: Sequence[str],
    target: float,
    max_false_abort: float,
    resamples: int,
    base_url: str | None,
    as_json: bool,
) -> None:
    """Measure scorers and tell."""
    bench = Workbench(runs_of(source).runs, target)
    chosen = names or POLICIES
    found = asyncio.run(measured(bench, chosen, base_url, max_false_abort, resamples))
    if as_json:
        echo_json(found.to_json())
    else:
        click.echo(evaluation_text(found))


async def measured(
    bench: Workbench, names: Sequence[str], base_url: str | None, limit: float, resamples: int, *, quiet: bool = False
) -> Evaluation:
    """Measure scorers by name, and close them."""
    candidates = [candidate_of(name, base_url) for name in names]

    def progress(words: str) -> None:
        if not quiet:
            click.echo(words, err=True)

    try:
        return await evaluate(bench, candidates, max_false_abort=limit, resamples=resamples, progress=progress)
    finally:
        for candidate in candidates:
            for scorer in (candidate.scorer, *candidate.beside):
                if scorer is not None:
                    await scorer.close()


def score_runs(what: str, name: str, base_url: str | None, as_json: bool) -> None:
    """Score a run of ours, or what a file holds."""
    path = Path(what)
    scorer = scorer_of(name, base_url)
    calibration: Calibration | None = None
    if path.exists() or os.sep in what or path.suffix:
        runs = load([path])
    else:
        run, calibration = with_store(lambda store, _: _own_run(store, what, scorer.name))
        runs = [run]
    scored = asyncio.run(_score(scorer, runs))
    if as_json:
        echo_json([_scored_json(run, checks, scorer.name, calibration) for run, checks in scored])
        return
    for run, checks in scored:
        click.echo(score_text(run, checks, calibration))


async def _own_run(store: Store, beginning: str, scorer: str) -> tuple[Trajectory, Calibration | None]:
    from runtime.stoploss.threshold import calibration_from
    from store.trajectories import trajectory

    run = await trajectory(store.database, await store.history.find(beginning))
    row = await store.calibrations.latest(STOPLOSS, project=run.project, model=run.executor, scorer=scorer)
    return run, None if row is None else calibration_from(row.body)


Checks = list[tuple[Window, Score]]


async def _score(scorer: Scorer, runs: Sequence[Trajectory]) -> list[tuple[Trajectory, Checks]]:
    try:
        return [(run, [(window, await scorer.score(window)) for window in windows(run)]) for run in runs]
    finally:
        await scorer.close()


def _scored_json(run: Trajectory, checks: Checks, scorer: str, calibration: Calibration | None) -> dict[str, Any]:
    threshold = None if calibration is None else calibration.to_json()["threshold"]
    return {
        "run": run.id,
        "scorer": scorer,
        "steps": len(run.steps),
        "succeeded": run.succeeded,
        "threshold": threshold,
        "checks": [
            {
                "step": window.step,
                "p_continue": score.p_continue,
                "p_deliver": score.p_deliver,
                "p_abort": score.p_abort,
                "above": None if calibration is None else score.p_abort > calibration.threshold,
                "cost_usd": None if score.cost_micros is None else score.cost_micros / 1_000_000,
                "latency_ms": round(score.latency_ms, 3),
            }
            for window, score in checks
        ],
    }
