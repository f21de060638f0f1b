"""Which mode is in force at a checkpoint: a calibration does not transfer, and where it doesn't hold `abort` becomes `ask`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runtime.stoploss.threshold import Calibration


class Mode(StrEnum):
    """What happens when a score lies above the threshold."""

    OFF = "off"
    WATCH = "watch"
    ASK = "ask"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Situation:
    """Where and how a run is being monitored, at one checkpoint."""

    executor: str
    project: str
    scorer: str
    step: int
    changes: tuple[str, ...] = ()
    """What a supervisor or an escalation changed since the run began, in words: "the retry cap was set to 6"."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The mode in force, and why it isn't the one that was asked for; "" where it is."""

    mode: Mode
    why: str = ""


def doubt(calibration: Calibration, now: Situation) -> str:
    """Why a calibration doesn't hold for a situation, in words; "" where it does."""
    if calibration.scorer != now.scorer:
        return f"the threshold was calibrated for the scorer {calibration.scorer}, not for {now.scorer}"
    if calibration.executor != now.executor:
        return f"the threshold was calibrated on runs of {calibration.executor}, not of {now.executor}"
    if calibration.project != now.project:
        return f"the threshold was calibrated on {calibration.project}, not on {now.project}"
    if now.changes:
        return f"{now.changes[-1]}, and the threshold was calibrated on runs without that"
    # A step limit says the same at every step; whatever else scores was never seen so far out.
    if not calibration.by_steps and (calibration.last_checkpoint is None or now.step > calibration.last_checkpoint):
        reached = "none" if calibration.last_checkpoint is None else f"step {calibration.last_checkpoint}"
        return f"step {now.step} lies beyond the last checkpoint that 95% of the calibration's successes reached ({reached})"
    return ""


def ruling(asked: Mode, calibration: Calibration | None, now: Situation, *, explicit: bool = False) -> Ruling:
    """The mode in force. `explicit` says that a supervisor chose `abort`: that is honoured as long as nothing measured speaks
    against it, while as a default `abort` needs a measurement in its favour."""
    if asked in (Mode.OFF, Mode.WATCH):
        return Ruling(asked)
    if calibration is None:
        return Ruling(Mode.WATCH, "there is no calibration yet")
    if asked is Mode.ASK:
        return Ruling(Mode.ASK, doubt(calibration, now))
    if words := doubt(calibration, now):
        return Ruling(Mode.ASK, words)
    if calibration.abort == "refused":
        return Ruling(Mode.ASK, calibration.abort_why or "on held-out runs stopping did not qualify")
    if calibration.abort == "unmeasured" and not explicit:
        return Ruling(Mode.ASK, calibration.abort_why or "what stopping saves has not been measured on own runs")
    return Ruling(Mode.ABORT)
