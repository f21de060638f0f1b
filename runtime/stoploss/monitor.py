"""The monitor of one live run: takes its tool steps, scores its checkpoints, and says what follows. It changes nothing itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from runtime.stoploss.scorers.base import Call, Score, Scorer, ScorerError
from runtime.stoploss.steps import Step
from runtime.stoploss.threshold import Calibration
from runtime.stoploss.transfer import Mode, Situation, ruling
from runtime.stoploss.window import Window, Windower, is_checkpoint, next_checkpoint
from runtime.text import one_line

CHECK_TIMEOUT_S = 30.0
GIVE_UP_AFTER = 3
"""So many failures in a row, and the scorer isn't asked again in this run."""


@dataclass(frozen=True, slots=True)
class Check:
    """What came of one checkpoint. `score` is P(Abort), None where the scorer failed (`error` says how)."""

    step: int
    scorer: str
    score: float | None
    threshold: float | None
    """None without a calibration; minus infinity where every success had ended before the first checkpoint."""
    mode: Mode
    """The mode in force at this checkpoint."""
    why: str
    """Why it isn't the mode that was asked for, or why the threshold is in doubt; "" for neither."""
    action: Literal["none", "ask", "abort"]
    next_step: int | None
    """None where no further checkpoint will be scored."""
    cost_micros: int | None = 0
    latency_ms: float = 0.0
    calls: tuple[Call, ...] = ()
    error: str = ""
    full: Score | None = None


class Monitor:
    """Feed `add` with every tool step in order; `check` each window that it returns, beside the loop."""

    def __init__(
        self,
        scorer: Scorer,
        calibration: Calibration | None,
        mode: Mode,
        *,
        executor: str,
        project: str,
        explicit: bool = False,
        timeout_s: float = CHECK_TIMEOUT_S,
    ) -> None:
        self.scorer = scorer
        self.calibration = calibration
        self.mode = mode
        self._executor = executor
        self._project = project
        self._explicit = explicit
        self._timeout_s = timeout_s
        self._windower = Windower()
        self._changes: list[str] = []
        self._threshold: float | None = None
        self._failures = 0

    @property
    def step(self) -> int:
        """Tool steps taken so far."""
        return self._windower.step

    @property
    def threshold(self) -> float | None:
        """The threshold in force."""
        if self._threshold is not None:
            return self._threshold
        return None if self.calibration is None else self.calibration.threshold

    @property
    def gave_up(self) -> bool:
        """Whether the scorer failed too often to be asked again: the run goes on unmonitored."""
        return self._failures >= GIVE_UP_AFTER

    def add(self, step: Step) -> Window | None:
        """Take the next tool step, a resumed run's old ones too; the window where it is to be scored, else None."""
        self._windower.add(step)
        if self.mode is Mode.OFF or self.gave_up or not is_checkpoint(self._windower.step):
            return None
        return self._windower.window()

    def set_mode(self, mode: Mode) -> Mode:
        """A supervisor chose a mode; returns the one before."""
        before, self.mode, self._explicit = self.mode, mode, True
        return before

    def set_threshold(self, threshold: float) -> float | None:
        """A supervisor set the threshold for this run; returns the one before. Other than raised it is a threshold of theirs, not a
        calibrated one, and `abort` becomes `ask`."""
        before = self.threshold
        if before is None or threshold < before:
            self.changed(f"the threshold was set to {threshold:.2f} by hand")
        self._threshold = threshold
        return before

    def changed(self, what: str, executor: str | None = None) -> None:
        """Note that the cap was set, the model was switched or the run escalated, in words; with whoever acts from now on."""
        self._changes.append(what)
        self._executor = executor or self._executor

    async def check(self, window: Window) -> Check:
        """Score a window. Never raises but on cancellation: what fails is said in the check, and the run goes on."""
        situation = Situation(self._executor, self._project, self.scorer.name, window.step, tuple(self._changes))
        rule = ruling(self.mode, self.calibration, situation, explicit=self._explicit)
        try:
            async with asyncio.timeout(self._timeout_s):
                score = await self.scorer.score(window)
        except TimeoutError:
            return self._failed(
                window, rule.mode, f"the scorer {self.scorer.name} took longer than {self._timeout_s:g} s"
            )
        except ScorerError as error:
            return self._failed(window, rule.mode, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a scorer does wrong, the run goes on
            words = one_line(f"{type(error).__name__}: {error}", 200)
            return self._failed(window, rule.mode, f"the scorer {self.scorer.name} failed ({words})")
        self._failures = 0
        threshold = self.threshold
        above = threshold is not None and score.p_abort > threshold
        action: Literal["none", "ask", "abort"] = "none"
        if above and rule.mode is Mode.ABORT:
            action = "abort"
        elif above and rule.mode is Mode.ASK:
            action = "ask"
        return Check(
            step=window.step,
            scorer=self.scorer.name,
            score=score.p_abort,
            threshold=threshold,
            mode=rule.mode,
            why=rule.why,
            action=action,
            next_step=next_checkpoint(window.step),
            cost_micros=score.cost_micros,
            latency_ms=score.latency_ms,
            calls=score.calls,
            full=score,
        )

    def _failed(self, window: Window, mode: Mode, words: str) -> Check:
        self._failures += 1
        end = "" if not self.gave_up else f"; after {GIVE_UP_AFTER} failures in a row it isn't asked again"
        return Check(
            step=window.step,
            scorer=self.scorer.name,
            score=None,
            threshold=self.threshold,
            mode=mode,
            why="",
            action="none",
            next_step=None if self.gave_up else next_checkpoint(window.step),
            cost_micros=None,
            error=f"{words}; the run goes on unmonitored at this checkpoint{end}",
        )
