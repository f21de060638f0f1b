"""The three labels of a window, for training."""

from __future__ import annotations

from enum import StrEnum

LAST_WINDOWS = 2
"""How many windows at the end of a successful run are Deliver."""


class Label(StrEnum):
    """What should happen at a window; the words are the candidate tokens of served scorers."""

    CONTINUE = "Continue"
    DELIVER = "Deliver"
    ABORT = "Abort"


LABELS = tuple(Label)


def label(step: int, steps: int, succeeded: bool) -> Label:
    """The label of the window at tool step `step` of a run that made `steps`: Abort throughout a failed run, Deliver at
    the last two tool steps of a successful one, else Continue."""
    if not 1 <= step <= steps:
        raise ValueError(f"a run of {steps} steps has no window at step {step}")
    if not succeeded:
        return Label.ABORT
    return Label.DELIVER if step > steps - LAST_WINDOWS else Label.CONTINUE
