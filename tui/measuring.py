"""StopLoss measured on own history for the screen: off the event loop, since a long history takes seconds."""

from __future__ import annotations

import asyncio

from runtime.errors import LooptopError
from runtime.stoploss.evaluate.held_out import Workbench
from runtime.stoploss.evaluate.report import Evaluation, evaluate
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.threshold import calibration_from
from store.calibrations import STOPLOSS
from store.store import Store
from store.trajectories import own_trajectories
from tui.backend import StoplossReport
from tui.commands.stoploss_runs import candidate_of

SCORERS = ("step-limit", "embedded")
TOO_FEW = "There are no finished runs of this project with both verdicts yet: StopLoss has nothing to be measured by."


async def measured(store: Store, project: str) -> StoplossReport:
    """What is known of a project, the one with most runs where none is named. Raises LooptopError."""
    rows = await store.database.rows(
        "SELECT project, count(*) AS n FROM runs GROUP BY project ORDER BY n DESC, project"
    )
    projects = tuple(str(row["project"]) for row in rows)
    chosen = project if project in projects else (projects[0] if projects else "")
    row = await store.calibrations.latest(STOPLOSS, project=chosen) if chosen else None
    calibration = calibration_from(row.body) if row is not None else None
    runs = await own_trajectories(store.database, chosen) if chosen else []
    judged = [run for run in runs if run.succeeded is not None]
    if len({run.succeeded for run in judged}) < 2:
        return StoplossReport(chosen, projects, calibration=calibration, missing=TOO_FEW)
    try:
        found = await asyncio.to_thread(_evaluated, judged)
    except LooptopError as error:
        return StoplossReport(chosen, projects, calibration=calibration, missing=str(error))
    return StoplossReport(chosen, projects, found, calibration)


def _evaluated(runs: list[Trajectory]) -> Evaluation:
    return asyncio.run(_evaluate(runs))


async def _evaluate(runs: list[Trajectory]) -> Evaluation:
    candidates = [candidate_of(name, None) for name in SCORERS]
    try:
        return await evaluate(Workbench(runs), candidates)
    finally:
        for candidate in candidates:
            if candidate.scorer is not None:
                await candidate.scorer.close()
