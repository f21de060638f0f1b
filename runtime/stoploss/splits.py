"""Which runs train, choose and calibrate: disjoint, split by task, the same on every machine; overlap is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from runtime.errors import UsageError
from runtime.stoploss.steps import Trajectory

LEAST_SUCCESSES = 19
"""Below it no finite-sample threshold at 5% exists."""


def task_mark(run: Trajectory) -> str:
    """A short digest of project and task, by which overlap is found without keeping the task's words."""
    return sha256(f"{run.project}\0{run.task}".encode("utf-8", "replace")).hexdigest()[:10]


def marks(runs: Iterable[Trajectory]) -> tuple[str, ...]:
    """The marks of some runs, sorted, each once."""
    return tuple(sorted({task_mark(run) for run in runs}))


def share_of(runs: Sequence[Trajectory], share: float) -> list[Trajectory]:
    """The runs of a share of all tasks, chosen by the tasks' digests."""
    ordered = marks(runs)
    kept = set(ordered[: math.ceil(share * len(ordered))])
    return [run for run in runs if task_mark(run) in kept]


@dataclass(frozen=True, slots=True)
class Split:
    """Runs to choose a policy by, and runs to calibrate the threshold on."""

    choose: tuple[Trajectory, ...]
    calibrate: tuple[Trajectory, ...]


def split(runs: Sequence[Trajectory], trained: Iterable[str] = ()) -> Split:
    """Split what training hasn't seen, by task: half of the successes, and at least 19 where there are so many, calibrate."""
    seen = set(trained)
    free = [run for run in runs if task_mark(run) not in seen]
    by_task: dict[str, list[Trajectory]] = {}
    for run in free:
        by_task.setdefault(task_mark(run), []).append(run)
    total = sum(run.succeeded is True for run in free)
    wanted = max(min(LEAST_SUCCESSES, total), total // 2)
    calibrate: list[Trajectory] = []
    choose: list[Trajectory] = []
    have = 0
    for mark in sorted(by_task):
        part = calibrate if have < wanted else choose
        part += by_task[mark]
        if part is calibrate:
            have += sum(run.succeeded is True for run in by_task[mark])
    return Split(tuple(choose), tuple(calibrate))


def refuse_overlap(
    what: str, first: Iterable[str], other: str, second: Iterable[str], hint: str = "Use runs of other tasks."
) -> None:
    """Raise UsageError where two parts that must be disjoint share tasks."""
    shared = set(first) & set(second)
    if shared:
        raise UsageError(
            f"{len(shared)} of the tasks to {what} were also used to {other}: a rate measured so would be too good.",
            hint,
        )
