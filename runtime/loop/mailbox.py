"""Takes a supervisor's commands and answers each with an event: accepted with the old and the new value, or refused with why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime import commands as c
from runtime.events.supervision import (
    ApprovalGiven,
    BudgetChanged,
    CapChanged,
    CommandAccepted,
    CommandRefused,
    SteerQueued,
)
from runtime.events.values import Action
from runtime.loop.control import Control
from runtime.loop.state import RunState
from runtime.process.tree import find_marked


class Refused(Exception):
    """The command has no effect; the message says why."""


Answer = tuple[str | None, str | None, str]
"""Old value, new value, effect in words."""


class Mailbox:
    """One per run. `send` may be called at any time from the run's event loop; it never waits."""

    def __init__(
        self, state: RunState, control: Control, answers: Mapping[str, CommandAccepted | CommandRefused] | None = None
    ) -> None:
        """`answers` are those that an earlier process of this run gave, by command id."""
        self._state = state
        self._control = control
        self._answers = dict(answers or {})
        self.closed = False
        self._handlers: dict[str, Callable[[Any], Answer]] = {
            "abort": self._abort,
            "pause": self._pause,
            "resume": self._resume,
            "set_cap": self._set_cap,
            "set_budget": self._set_budget,
            "steer": self._steer,
            "choose_recovery": self._choose_recovery,
            "approve": self._approve,
            "deny": self._deny,
            "switch_model": self._switch_model,
            "set_stoploss": self._set_stoploss,
            "verify_now": self._verify_now,
            "end_attempt": self._end_attempt,
        }

    def send(self, command: c.Command) -> CommandAccepted | CommandRefused:
        """Take a command. The same id again gets the first answer and acts no second time."""
        if command.id in self._answers:
            return self._answers[command.id]
        emit = self._control.emitter.emit
        try:
            if self.closed:
                raise Refused("the run has ended")
            old, new, effect = self._handlers[command.command](command)
        except Refused as refusal:
            answer: CommandAccepted | CommandRefused = emit(
                CommandRefused(
                    command_id=command.id,
                    command=command.command,
                    sender=command.sender,
                    reason=command.reason,
                    why=str(refusal),
                )
            )
        else:
            answer = emit(
                CommandAccepted(
                    command_id=command.id,
                    command=command.command,
                    sender=command.sender,
                    reason=command.reason,
                    old=old,
                    new=new,
                    effect=effect,
                )
            )
            self._after(command)
        self._answers[command.id] = answer
        return answer

    def _after(self, command: c.Command) -> None:
        """Do what must follow the answer, so that the answer stands first in the record."""
        control = self._control
        match command:
            case c.Abort():
                control.poke(cut=True)
            case c.Pause():
                control.set_paused(True, command.sender, command.reason, command.now)
            case c.Resume() if control.paused:
                control.set_paused(False, command.sender, command.reason)
            case c.Steer(when="now") | c.EndAttempt() | c.SwitchModel():
                control.poke(cut=True)
            case _:
                control.poke()

    def _abort(self, command: c.Abort) -> Answer:
        if self._control.abort is not None:
            raise Refused("an abort is under way already")
        self._control.abort = command
        self._control.processes_at_abort = len(find_marked(self._state.run))
        return None, None, "ending the run; the work is kept"

    def _pause(self, command: c.Pause) -> Answer:
        if self._control.paused:
            raise Refused("the run is paused already")
        return None, None, "the call in flight is cut" if command.now else "no further model call until resume"

    def _resume(self, _: c.Resume) -> Answer:
        waiting = self._control.waiting
        if self._control.paused:
            return None, None, "going on"
        if waiting is None:
            raise Refused("the run is neither paused nor held")
        if "resume" not in waiting.ends_with:
            raise Refused(
                f"the run is held for {waiting.why.value}; one of these ends it: {', '.join(waiting.ends_with)}"
            )
        waiting.ended_by = "resume"
        return None, None, "going on"

    def _set_cap(self, command: c.SetCap) -> Answer:
        limits, made = self._state.limits, self._state.counters.attempt_of_leg
        if command.cap < made:
            raise Refused(f"{made} attempts of this leg are made already; the cap can't be lower")
        old, limits.cap, limits.cap_source = limits.cap, command.cap, f"set by {command.sender}"
        self._control.emitter.emit(CapChanged(old=old, new=command.cap, source=limits.cap_source))
        return str(old), str(command.cap), ""

    def _set_budget(self, command: c.SetBudget) -> Answer:
        limits = self._state.limits
        value = command.value or None
        if command.kind == "seconds":
            old: float | None = limits.seconds
            limits.seconds = value
            self._control.active_budget_s = value
        elif command.kind == "tokens":
            old, limits.tokens = limits.tokens, int(value) if value else None
        else:
            if value and not self._state.price_known:
                raise Refused("this model has no known price, so a dollar budget can't bind; set a token budget")
            old, limits.micros = limits.micros, int(value) if value else None
        self._control.emitter.emit(BudgetChanged(kind=command.kind, old=old, new=value))
        return _budget(command.kind, old), _budget(command.kind, value), ""

    def _steer(self, command: c.Steer) -> Answer:
        queue = self._control.steers_now if command.when == "now" else self._control.steers_next
        queue.append(command)
        self._control.emitter.emit(
            SteerQueued(command_id=command.id, sender=command.sender, text=command.text, when=command.when)
        )
        return None, None, "queued for the present round" if command.when == "now" else "queued for the next attempt"

    def _choose_recovery(self, command: c.ChooseRecovery) -> Answer:
        if command.action is not Action.REFLECT:
            raise Refused(f"{command.action.value} is not in this version")
        self._control.chosen = command.action
        if self._control.waiting and "choose_recovery" in self._control.waiting.ends_with:
            self._control.waiting.ended_by = "choose_recovery"
        return None, command.action.value, "taken at the next decision"

    def _decide(self, step: int | None, approved: bool, command: c.Approve | c.Deny) -> Answer:
        control, waiting = self._control, self._control.waiting
        word, done = ("approve", "approved") if approved else ("deny", "denied")
        if not control.undecided and step is None and waiting is not None and word in waiting.ends_with:
            waiting.ended_by = word
            return None, None, done
        if not control.undecided:
            raise Refused("nothing waits for an approval")
        if step is not None and step not in control.undecided:
            raise Refused(f"step {step} doesn't wait for an approval; waiting: {_steps(control.undecided)}")
        steps = control.undecided.copy() if step is None else {step}
        control.undecided -= steps
        for one in sorted(steps):
            control.verdicts[one] = (approved, command.sender, command.reason)
            control.emitter.emit(
                ApprovalGiven(step=one, approved=approved, sender=command.sender, reason=command.reason)
            )
        return None, None, f"{done}: {_steps(steps)}"

    def _approve(self, command: c.Approve) -> Answer:
        return self._decide(command.step, True, command)

    def _deny(self, command: c.Deny) -> Answer:
        return self._decide(command.step, False, command)

    def _switch_model(self, command: c.SwitchModel) -> Answer:
        if command.model == self._state.model:
            raise Refused(f"{command.model} is the model already")
        self._control.next_model = command.model
        if self._control.waiting and "switch_model" in self._control.waiting.ends_with:
            self._control.waiting.ended_by = "switch_model"
        return self._state.model, command.model, "a new leg begins"

    def _set_stoploss(self, command: c.SetStoploss) -> Answer:
        if command.mode is None and command.threshold is None:
            raise Refused("it says neither a mode nor a threshold")
        if self._control.watch is None:
            raise Refused("no StopLoss monitor runs yet")
        try:
            old, new = self._control.watch.set_stoploss(command)
        except ValueError as error:
            raise Refused(str(error)) from error
        return old, new, ""

    def _verify_now(self, _: c.VerifyNow) -> Answer:
        if self._control.waiting is not None:
            raise Refused("the run is held; decide that first")
        self._control.verify_now = True
        return None, None, "verifying after the present round"

    def _end_attempt(self, _: c.EndAttempt) -> Answer:
        waiting = self._control.waiting
        if waiting is not None:
            if "end_attempt" not in waiting.ends_with:
                raise Refused(f"the run is held for {waiting.why.value}")
            waiting.ended_by = "end_attempt"
            return None, None, "the run ends here"
        self._control.end_attempt = True
        return None, None, "the fix phase ends; verify follows"


def _steps(steps: set[int]) -> str:
    return f"step{'s' if len(steps) > 1 else ''} {', '.join(map(str, sorted(steps)))}"


def _budget(kind: str, value: float | None) -> str:
    """A budget in words, with its unit."""
    if value is None:
        return "off"
    if kind == "micros":
        return f"${value / 1_000_000:,.2f}"
    return f"{value:,.0f} s" if kind == "seconds" else f"{value:,.0f} tokens"
