"""Calibrations and own trajectories in the store."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from runtime.errors import UsageError
from runtime.events.loop import RunQueued, TextDelta, ToolCalled, ToolFinished
from runtime.events.values import RunSettings, StepStatus, StopReason
from runtime.stoploss.threshold import Success, calibrate, calibration_from
from store.calibrations import STOPLOSS
from store.store import Store
from store.trajectories import own_trajectories, trajectory
from support.store_runs import AT, finished

MADE = calibrate([Success(5, 0.2)] * 20, scorer="step-limit", by_steps=True, executor="m", project="p")


async def keep(store: Store, run: str, project: str, reason: StopReason, steps: int = 2) -> None:
    """A run with so many tool steps, and a lot of text between."""
    events = [RunQueued(task=run, repo="/src", project=project, settings=RunSettings(model="m")).stamped(run, 1, AT, 0)]
    seq = 1
    made = []
    for n in range(1, steps + 1):
        made += [
            ToolCalled(attempt=1, round=n, step=n, call_id=f"c{n}", tool="shell", arguments={"command": f"do {n}"}),
            TextDelta(round=n, text="words"),
            ToolFinished(
                attempt=1, round=n, step=n, call_id=f"c{n}", tool="shell", status=StepStatus.OK, content=f"saw {n}"
            ),
        ]
    for event in (*events, *(e.stamped(run, seq := seq + 1, AT, seq) for e in made), finished(run, seq + 1, reason)):
        store.record.append(event)
    await store.record.flush()


async def test_the_newest_calibration_of_a_model_and_project_is_in_force(store: Store) -> None:
    assert await store.calibrations.latest(STOPLOSS) is None
    for threshold in (0.3, 0.4):
        made = replace(MADE, threshold=threshold)
        await store.calibrations.add(STOPLOSS, made.to_json(), 20, project="p", model="m", scorer="step-limit")
    await store.calibrations.add(STOPLOSS, MADE.to_json(), 20, project="other", model="m", scorer="step-limit")
    row = await store.calibrations.latest(STOPLOSS, project="p", model="m")
    assert row is not None
    assert calibration_from(row.body) == replace(MADE, threshold=0.4)
    assert (row.runs, row.scorer) == (20, "step-limit")
    assert await store.calibrations.latest(STOPLOSS, project="p", model="m2") is None
    assert len(await store.calibrations.all(STOPLOSS)) == 3


async def test_a_threshold_below_every_score_survives(store: Store) -> None:
    low = replace(MADE, threshold=-math.inf)
    await store.calibrations.add(STOPLOSS, low.to_json(), 20)
    row = await store.calibrations.latest(STOPLOSS)
    assert row is not None
    assert calibration_from(row.body) == low


async def test_own_history_becomes_trajectories(store: Store) -> None:
    await keep(store, "a1", "p", StopReason.PASSED)
    await keep(store, "b1", "p", StopReason.CAP_REACHED, steps=3)
    await keep(store, "c1", "q", StopReason.ABORTED)
    found = await own_trajectories(store.database, "p")
    assert [(run.id, run.succeeded, len(run.steps), run.project) for run in found] == [
        ("a1", True, 2, "p"),
        ("b1", False, 3, "p"),
    ]
    assert [step.action for step in found[1].steps] == ["do 1", "do 2", "do 3"]
    assert [run.succeeded for run in await own_trajectories(store.database)] == [True, False, None]
    assert (await trajectory(store.database, "a1")).steps == found[0].steps
    with pytest.raises(UsageError, match="no longer there"):
        await trajectory(store.database, "none")
