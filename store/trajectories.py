"""looptop's own history as trajectories, for training, calibrating and evaluating StopLoss."""

from __future__ import annotations

import sqlite3

from runtime.errors import StoreError, UsageError
from runtime.events.base import Event
from runtime.events.checks import StoplossSet
from runtime.events.codec import event_from_json
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.trajectories.own import own
from store.database import Database

TYPES = ("run_queued", "run_prepared", "leg_started", "tool_called", "tool_finished", "round_finished", "run_finished")
"""The events that make a trajectory; the many others, deltas above all, aren't read."""


async def trajectory(database: Database, run: str) -> Trajectory:
    """One run, finished or not. Raises UsageError where its events are gone, StoreError where one can't be read."""
    made = own(await database.read(lambda connection: _events(connection, run)))
    if made is None:
        raise UsageError(f"The events of run {run} are no longer there.", "Retention removed them.")
    return made


async def stoploss_set(database: Database, run: str) -> StoplossSet | None:
    """What a supervisor set StopLoss of a run to last; None where nobody did."""
    rows = await database.rows(
        "SELECT body FROM events WHERE run = ? AND type = 'stoploss_set' ORDER BY seq DESC LIMIT 1", (run,)
    )
    event = event_from_json(rows[0]["body"]) if rows else None
    return event if isinstance(event, StoplossSet) else None


async def own_trajectories(database: Database, project: str | None = None) -> list[Trajectory]:
    """Finished runs, oldest first, of one project or of all; runs whose events were removed are left out."""
    rows = await database.rows(
        f"""SELECT id FROM runs WHERE reason IS NOT NULL AND pruned_at IS NULL
            {"AND project = ?" if project is not None else ""} ORDER BY queued_at, id""",
        () if project is None else (project,),
    )
    found = []
    for row in rows:
        run = str(row["id"])
        made = own(await database.read(lambda connection, run=run: _events(connection, run)))  # type: ignore[misc]
        if made is not None:
            found.append(made)
    return found


def _events(connection: sqlite3.Connection, run: str) -> list[Event]:
    marks = ", ".join("?" * len(TYPES))
    rows = connection.execute(
        f"SELECT seq, body FROM events WHERE run = ? AND type IN ({marks}) ORDER BY seq", (run, *TYPES)
    )
    events = []
    for seq, body in rows:
        try:
            events.append(event_from_json(body))
        except ValueError as error:
            raise StoreError(f"Event {seq} of run {run} can't be read: {error}.") from error
    return events
