"""JSON lines of recorded benchmark runs: one run a line, with `steps`, `resolved`, `repo`, `executor_model`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime.stoploss.steps import Step, Trajectory
from runtime.stoploss.trajectories.reading import bad, flag, json_lines, micros, named, whole, words

NEEDED = ("id", "steps", "resolved", "executor_model")


def recorded(path: Path, text: str) -> Iterator[Trajectory]:
    """The runs of a file. Raises UsageError at the first line that isn't one."""
    for number, row in json_lines(path, text):
        missing = [name for name in NEEDED if name not in row]
        if missing or not isinstance(row["steps"], list):
            raise bad(
                path, f"not a recorded run: {', '.join(missing) or 'steps'} is missing or of the wrong kind", number
            )
        if not all(isinstance(step, dict) for step in row["steps"]):
            raise bad(path, "a step is not an object", number)
        task = named(row.get("task_id"), row["id"])
        yield Trajectory(
            id=named(row["id"]) or f"line {number}",
            steps=tuple(map(_step, row["steps"])),
            succeeded=flag(row["resolved"]),
            task=task,
            group=named(row.get("repo"), task),
            executor=named(row["executor_model"]),
            project=named(row.get("benchmark")),
            source=named(row.get("source"), path.name),
            cost_micros=micros(row.get("cost_usd")),
        )


def _step(raw: dict[str, Any]) -> Step:
    code = raw.get("returncode")
    tokens = whole(raw.get("tokens"))
    if tokens is None and (parts := [whole(raw.get("tokens_in")), whole(raw.get("tokens_out"))]) != [None, None]:
        tokens = sum(part or 0 for part in parts)
    return Step(
        words(raw.get("action")),
        words(raw.get("observation")),
        failed=code != 0 if isinstance(code, int) else None,
        cost_micros=micros(raw.get("cost_usd")),
        tokens=tokens,
    )
