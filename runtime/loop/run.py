"""One run from queued to finished: prepare, then attempts until something ends it. This file is the whole loop on a screen."""

from __future__ import annotations

from runtime.events.loop import AttemptFinished, AttemptStarted, PhaseEnded
from runtime.events.values import Cause, HoldReason, StopReason
from runtime.loop.fixing import Ended, Fixer, PhaseEnd
from runtime.loop.interruptions import RunEnds
from runtime.loop.legs import Leg, start_leg
from runtime.loop.readback import Stage
from runtime.loop.recovering import decide, feedback
from runtime.loop.resuming import GoingOn, close_open, resume_leg
from runtime.loop.retaken import WORKED_ON, handover_of, judged_of, phase_of
from runtime.loop.setup import Parts
from runtime.loop.verifying import Checked
from runtime.models.base import Message


class Loop:
    """Drives the attempts of a prepared run."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._state = parts.state
        self._control = parts.control
        self._emit = parts.control.emitter.emit
        self._leg: Leg | None = None
        self._unchanged = False

    async def attempts(self, opening: str, going_on: GoingOn | None = None) -> RunEnds:
        """Fix and verify until the run ends; returns the one reason. An interrupted run goes on where it stood."""
        handover = handover_of(opening, going_on)
        leg = self._leg = await self._first_leg(opening, handover, going_on)
        try:
            judged = await self._go_on(leg, going_on) if going_on is not None else None
            while True:
                if judged is None:
                    await self._room_for_attempt()
                    if self._control.next_model is not None:
                        leg = self._leg = await start_leg(self._parts, handover, after=leg)
                        continue
                    self._begin_attempt(leg)
                    leg.open()
                    leg.fixer.deliver_next()
                    judged = await self._attempt(leg.fixer)
                (checked, ended), judged = judged, None
                if checked.passed and await self._accepted(checked):
                    return RunEnds(StopReason.PASSED)
                self._stuck(checked, ended)
                words = feedback(checked, self._state.counters.attempt)
                handover = f"{opening}\n\n{WORKED_ON}\n\n{words}"
                await self._room_for_attempt()
                if self._control.next_model is None:
                    decide(self._state, self._control, checked)
                    leg.fixer.say("feedback", words)
        finally:
            await leg.close()

    async def _first_leg(self, opening: str, handover: str, going_on: GoingOn | None) -> Leg:
        if going_on is None or going_on.back.leg is None:
            return await start_leg(self._parts, opening)
        closed = close_open(self._state, self._control, going_on)
        return await resume_leg(self._parts, going_on, handover if going_on.back.leg.leg > 1 else opening, closed)

    async def _go_on(self, leg: Leg, going_on: GoingOn) -> tuple[Checked, Ended] | None:
        """Bring the interrupted attempt to its verdict; None where the next attempt is due."""
        back, standing = going_on.back, self._state.standing
        if back.stage is Stage.JUDGED:
            checked, ended = judged_of(back, self._state.verify, self._parts.services.masker.mask)
            standing.excerpt = checked.excerpt
            before = back.judged_before.tree if back.judged_before is not None else back.base_tree
            self._unchanged = checked.tree == before
            return checked, ended
        if back.stage is Stage.VERIFYING:
            return await self._attempt(leg.fixer, going_on)
        if back.stage is not Stage.FIXING or back.attempt is None:
            return None
        counters = self._state.counters
        self._emit(
            AttemptStarted(
                attempt=counters.attempt,
                leg=counters.leg,
                attempt_of_leg=counters.attempt_of_leg,
                model=self._state.model,
            )
        )
        leg.open()
        if not back.rounds_made:
            leg.fixer.deliver_next()
        return await self._attempt(leg.fixer, going_on)

    def last_message(self) -> Message | None:
        """The last thing that the present leg's model said."""
        if self._leg is None:
            return None
        messages = self._leg.fixer.conversation.transcript.messages
        return next((message for message in reversed(messages) if message.role == "assistant"), None)

    def _begin_attempt(self, leg: Leg) -> None:
        counters = self._state.counters
        counters.attempt += 1
        counters.attempt_of_leg += 1
        leg.fixer.rounds_made = 0
        self._emit(
            AttemptStarted(
                attempt=counters.attempt,
                leg=counters.leg,
                attempt_of_leg=counters.attempt_of_leg,
                model=self._state.model,
            )
        )

    async def _attempt(self, fixer: Fixer, going_on: GoingOn | None = None) -> tuple[Checked, Ended]:
        """One fix phase and the verify phase after it; of an interrupted attempt what is left of them."""
        attempt = self._state.counters.attempt
        before = self._state.standing.verified_tree
        ended, reply, empty = phase_of(going_on.back) if going_on is not None else (None, None, 0)
        while True:
            if ended is None:
                ended = await fixer.phase(reply, empty)
                self._emit(PhaseEnded(attempt=attempt, how=ended.how.value, why=ended.why))
            checked = await self._parts.verifier.phase(attempt)
            if ended.how is PhaseEnd.VERIFY_NOW and not checked.passed:
                fixer.say("feedback", f"Verify was run at the supervisor's wish.\n\n{checked.excerpt}")
                ended, reply, empty = None, None, 0
                continue
            break
        self._emit(
            AttemptFinished(
                attempt=attempt,
                passed=checked.passed and checked.cause is None,
                phase_end=ended.why,
                comparison=checked.comparison,
                cause=checked.cause,
                first_failure=checked.first_failure,
                diff=checked.diff,
                tree=checked.tree,
                verify_wall_ms=checked.wall_ms,
                verify_cpu_ms=checked.cpu_ms,
                verify_micros=self._parts.verifier.charged_micros,
                edited_tests=checked.edited,
            )
        )
        self._unchanged = checked.tree == before
        self._state.standing.before = checked.findings
        return checked, ended

    async def _accepted(self, checked: Checked) -> bool:
        """Whether a pass counts: one in which tests were edited is the supervisor's to accept where somebody can be asked."""
        if checked.cause is not Cause.TESTS_EDITED or not self._state.settings.hold_on_cap:
            return True
        names = ", ".join(checked.edited[:8])
        ended_by = await self._control.hold(
            HoldReason.TESTS_EDITED,
            f"all steps pass, but tests or verify settings were edited: {names}. Accept the change?",
            ("approve", "deny"),
            lambda: False,
        )
        return ended_by == "approve"

    def _stuck(self, checked: Checked, ended: Ended) -> None:
        """End the run where the phase gave up, or reached its limit without having changed anything, unless another model takes over."""
        if self._control.next_model is not None:
            return
        if ended.how is PhaseEnd.GAVE_UP:
            raise RunEnds(StopReason.GAVE_UP, ended.why)
        if not self._unchanged:
            return
        if ended.how is PhaseEnd.ROUNDS:
            raise RunEnds(StopReason.ROUND_LIMIT, f"{ended.why}, and nothing changed since the last verify")
        if ended.how in (PhaseEnd.REPETITION, PhaseEnd.EMPTY):
            raise RunEnds(StopReason.GAVE_UP, f"{ended.why}, and nothing changed since the last verify")

    async def _room_for_attempt(self) -> None:
        """Return when the cap leaves another attempt and the run isn't paused; hold, or raise RunEnds, at the cap."""
        counters, limits = self._state.counters, self._state.limits
        while True:
            await self._control.gate()
            if counters.attempt_of_leg < limits.cap or self._control.next_model is not None:
                return
            text = f"retry cap reached: {counters.attempt_of_leg} of {limits.cap} attempts made ({limits.cap_source})"
            if not self._state.settings.hold_on_cap or limits.cap == 1:
                raise RunEnds(StopReason.CAP_REACHED, text)
            ended_by = await self._control.hold(
                HoldReason.CAP,
                text,
                ("set_cap", "switch_model", "end_attempt"),
                lambda: counters.attempt_of_leg < limits.cap or self._control.next_model is not None,
            )
            if ended_by == "end_attempt":
                raise RunEnds(StopReason.CAP_REACHED, text)
