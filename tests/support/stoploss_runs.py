"""Recorded runs for tests of StopLoss: made ones, and real ones where their folder is named by LOOPTOP_DATA."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from runtime.stoploss.steps import Step, Trajectory

GOOD = ("read_file src/a.py", "grep -rn name src", "sed -i s/x/y/ src/a.py", "python -m pytest -q")
BAD = ("cat everything.log", "ls -la", "cat everything.log", "python run.py")


def made_run(
    number: int, succeeded: bool, steps: int = 14, group: str = "", executor: str = "made-1", project: str = "made"
) -> Trajectory:
    """A run whose words tell how it ends: a failing one repeats itself and sees errors."""
    actions = GOOD if succeeded else BAD
    observation = "3 passed in 0.2s" if succeeded else "Traceback (most recent call last):\nValueError: nope"
    made = tuple(
        Step(
            f"{actions[n % 4]} # {number % 3}",
            observation if n % 4 == 3 else f"output {n}",
            n % 4 == 3 and not succeeded,
            1_000,
        )
        for n in range(steps)
    )
    return Trajectory(
        f"run{number}", made, succeeded, f"task{number}", group or f"group{number % 5}", executor, project, "made"
    )


def made_runs(good: int, bad: int, steps: int = 14) -> list[Trajectory]:
    """So many successful and failed runs, every one of a task of its own."""
    return [made_run(n, n < good, steps + n % 4) for n in range(good + bad)]


def recorded_line(run: Trajectory) -> str:
    """A run as a line of recorded runs."""
    return json.dumps(
        {
            "id": run.id,
            "source": run.source,
            "benchmark": run.project,
            "executor_model": run.executor,
            "task_id": run.task,
            "repo": run.group,
            "resolved": run.succeeded,
            "cost_usd": None if run.cost_micros is None else run.cost_micros / 1e6,
            "steps": [
                {
                    "action": step.action,
                    "observation": step.observation,
                    "returncode": None if step.failed is None else int(step.failed),
                    "cost_usd": None if step.cost_micros is None else step.cost_micros / 1e6,
                }
                for step in run.steps
            ],
        }
    )


def write_runs(path: Path, runs: list[Trajectory]) -> Path:
    """Write runs as JSON lines."""
    path.write_text("".join(recorded_line(run) + "\n" for run in runs))
    return path


def real_file(name: str) -> Path:
    """A file of real runs; skips the test where LOOPTOP_DATA doesn't name their folder."""
    folder = os.environ.get("LOOPTOP_DATA")
    if not folder:
        pytest.skip("set LOOPTOP_DATA to the folder of recorded runs to check this on real ones")
    path = Path(folder) / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return path


def write_packed(path: Path, text: str) -> Path:
    """Write a gzipped text."""
    with gzip.open(path, "wt") as out:
        out.write(text)
    return path
