"""One tool step and one whole run in neutral form: what importers make, and what windows, training and evaluation read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One action-observation pair. `failed` is None where the source doesn't tell; money in micro-dollars."""

    action: str
    observation: str
    failed: bool | None = None
    cost_micros: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A run as it was recorded. `succeeded` is the verifier's verdict, None where there is none."""

    id: str
    steps: tuple[Step, ...]
    succeeded: bool | None
    task: str
    """What was to be done: runs of one task never stand on both sides of a split."""
    group: str
    """Repository or family of tasks, for leave-one-group-out."""
    executor: str
    """Model that acted; with `project` what a calibration is valid for."""
    project: str = ""
    """Project of ours, or the benchmark."""
    source: str = ""
    cost_micros: int | None = None
    """What the whole run cost, where the record tells; may be more than its steps' sum."""

    @property
    def step_micros(self) -> tuple[int, ...] | None:
        """Cost of every step; None where one isn't known."""
        known = tuple(step.cost_micros for step in self.steps if step.cost_micros is not None)
        return known if len(known) == len(self.steps) else None
