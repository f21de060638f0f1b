"""The threshold: split-conformal, from successful runs only, with the finite-sample correction; and what it is valid for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from runtime.errors import UsageError
from runtime.stoploss.window import checkpoints

TARGET = 0.05
REACHED = Fraction(95, 100)
Verdict = Literal["allowed", "refused", "unmeasured"]


def least_successes(target: float = TARGET) -> int:
    """The fewest successes for which a threshold exists: 19 at 5%."""
    return math.ceil(1 / Fraction(str(target))) - 1


def threshold_of(maxima: Sequence[float], target: float = TARGET) -> float:
    """The smallest threshold at which a further success, exchangeable with these, is aborted with probability at most `target`.

    `maxima` are the successes' largest scores over their checkpoints, minus infinity for one without any. A score aborts where
    it is strictly above. Split-conformal (Vovk et al. 2005): of n + 1 exchangeable maxima, the new one included, at most
    floor(target * (n + 1)) may lie above, and the new one is one of them. Raises UsageError where n is too small.
    """
    if not 0 < target < 1:
        raise UsageError(f"The target rate is {target}; it lies between 0 and 1.")
    if any(math.isnan(value) for value in maxima):
        raise UsageError("A score that is not a number can't be calibrated on.")
    n = len(maxima)
    above = math.floor(Fraction(str(target)) * (n + 1)) - 1
    if above < 0:
        raise UsageError(
            f"{n} successful runs are too few to calibrate: at least {least_successes(target)} are needed to bound "
            f"false aborts at {target:.0%}.",
            "Collect more in watch mode.",
        )
    return sorted(maxima, reverse=True)[above]


def last_checkpoint(steps: Sequence[int]) -> int | None:
    """The last checkpoint that 95% of the runs reached; None where the first one wasn't."""
    found = None
    for step in checkpoints(max(steps, default=0)):
        if Fraction(sum(n >= step for n in steps), len(steps)) < REACHED:
            break
        found = step
    return found


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold and all that it is valid for. It is data: nothing in it is looked up again."""

    threshold: float
    target: float
    scorer: str
    by_steps: bool
    """Whether the scorer is nothing but the step count."""
    executor: str
    project: str
    successes: int
    last_checkpoint: int | None
    tasks: tuple[str, ...] = ()
    """Marks of the tasks that it was made from."""
    chosen_by: tuple[str, ...] = ()
    """Marks of the tasks by which its scorer was chosen and `abort` was measured: other ones."""
    abort: Verdict = "unmeasured"
    """Whether stopping pays and is safe, as measured on held-out runs of other tasks."""
    abort_why: str = ""
    made_at: str = ""

    def to_json(self) -> dict[str, Any]:
        """As JSON data; minus infinity, which JSON lacks, is null."""
        return asdict(self) | {"threshold": self.threshold if math.isfinite(self.threshold) else None}


def calibration_from(data: Mapping[str, Any]) -> Calibration:
    """The calibration of JSON data. Raises UsageError where it isn't one."""
    try:
        fields = {**data, "tasks": tuple(data["tasks"]), "chosen_by": tuple(data.get("chosen_by", ()))}
        fields["threshold"] = -math.inf if data["threshold"] is None else float(data["threshold"])
        return Calibration(**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            "A stored calibration is damaged.", "Make a new one with `looptop stoploss calibrate`."
        ) from error


@dataclass(frozen=True, slots=True)
class Success:
    """What calibration needs of one successful run."""

    steps: int
    maximum: float


def calibrate(
    successes: Sequence[Success],
    *,
    scorer: str,
    by_steps: bool,
    executor: str,
    project: str,
    target: float = TARGET,
    tasks: Sequence[str] = (),
    made_at: str = "",
) -> Calibration:
    """Calibrate on successful runs of one executor and one project. Raises UsageError below the fewest that suffice."""
    return Calibration(
        threshold=threshold_of([success.maximum for success in successes], target),
        target=target,
        scorer=scorer,
        by_steps=by_steps,
        executor=executor,
        project=project,
        successes=len(successes),
        last_checkpoint=last_checkpoint([success.steps for success in successes]),
        tasks=tuple(tasks),
        made_at=made_at,
    )
