"""Caps and budgets: what is left, the words when nothing is, and the hold in which a supervisor may raise them."""

from __future__ import annotations

from dataclasses import replace

from runtime.events.values import HoldReason, StopReason
from runtime.loop.control import Control
from runtime.loop.interruptions import RunEnds
from runtime.loop.keeping import wait_for_disk
from runtime.loop.services import Services
from runtime.loop.state import Limits, RunState
from runtime.models.base import Model
from runtime.ports import Limit, RecordBlocked, Refusal
from runtime.usage import MICROS_PER_DOLLAR

ADVICE = "Split the task into smaller ones, or ask whoever sets the limit to raise it."


def token_message(used: int, need: int, limit: int) -> str:
    """What the supervisor reads when the token budget is reached."""
    return f"stopped at the token budget: {used:,} used, the next call may need {need:,}, limit {limit:,}. {ADVICE}"


def dollars(micros: int) -> str:
    """Micro-dollars with as many places as a small sum needs."""
    value = micros / MICROS_PER_DOLLAR
    return f"${value:,.2f}" if value >= 1 else f"${value:,.4f}"


WHOSE = {"run": "", "project": "the project's ", "tenant": "the tenant's ", "day": "the day's "}


def cost_message(refusal: Refusal) -> str:
    """What the supervisor reads when a dollar budget is reached."""
    spent = dollars(refusal.used) + ("" if refusal.complete else " and calls without a price")
    flight = f", calls in flight may take {dollars(refusal.reserved)}" if refusal.reserved else ""
    whose = WHOSE[refusal.limit.of] or "the "
    return (
        f"stopped at {whose}dollar budget: {spent} used{flight}, the next call may cost {dollars(refusal.needed)}, "
        f"limit {dollars(refusal.limit.limit)}. {ADVICE}"
    )


def time_message(used_s: float, limit_s: float) -> str:
    """What the supervisor reads when the time budget is reached."""
    return f"stopped at the time budget: {used_s / 60:.1f} min used, limit {limit_s / 60:.1f} min. {ADVICE}"


def seconds_left(state: RunState, control: Control) -> float | None:
    """What is left of the time budget; None where it is off."""
    limit = state.limits.seconds
    return None if limit is None else limit - control.active_s(state.active_before_s)


def limits_of(state: RunState, services: Services) -> list[Limit]:
    """Every budget that a call of the run must fit into: its own, and those of project, tenant and day."""
    own = state.limits
    limits = [Limit("run", "tokens", own.tokens)] if own.tokens is not None else []
    if own.micros is not None:
        limits.append(Limit("run", "micros", own.micros))
    return [*limits, *(limit for limit in services.limits if limit.of != "tenant" or state.settings.tenant)]


class Gate:
    """Asked before every model call whether it may be made."""

    def __init__(self, state: RunState, control: Control, services: Services) -> None:
        self._state = state
        self._control = control
        self._services = services

    async def open_for(self, call_id: str, model: Model, prompt_tokens: int, output_tokens: int) -> None:
        """Reserve a call's worst case and return when it fits all budgets and the run isn't paused.

        A budget that is reached holds the run where the settings say so, until it is raised; else, and when the supervisor
        chooses to end, raises RunEnds with the reason.
        """
        free = model.provider == "local"
        tokens = 0 if free else prompt_tokens + output_tokens
        micros = self._services.prices.worst_case(
            model.provider, model.name, prompt_tokens, output_tokens, self._state.settings.ttl
        )
        while True:
            await self._control.gate()
            await self.check_time()
            limits = limits_of(self._state, self._services)
            try:
                refusal = await self._services.ledger.try_reserve(
                    call_id,
                    self._state.run,
                    tokens,
                    micros,
                    limits,
                    provider=model.provider,
                    model=model.name,
                    output_tokens=0 if free else output_tokens,
                )
            except RecordBlocked as blocked:
                await wait_for_disk(self._control, blocked)
                continue
            self._control.end_hold()
            if refusal is not None:
                await self._refused(refusal)
            elif self._control.paused or limits != limits_of(self._state, self._services):
                # Something was decided while the reservation was written.
                await self._services.ledger.settle(call_id)
            else:
                return

    async def _refused(self, refusal: Refusal) -> None:
        if refusal.limit.unit == "tokens":
            text = token_message(refusal.used + refusal.reserved, refusal.needed, refusal.limit.limit)
            await self.decide(StopReason.TOKEN_BUDGET, text)
        else:
            await self.decide(StopReason.COST_BUDGET, cost_message(refusal))

    async def decide(self, reason: StopReason, text: str) -> None:
        """Hold until the budgets change, or raise RunEnds."""
        if not self._state.settings.hold_on_budget:
            raise RunEnds(reason, text)
        before = replace(self._state.limits)
        ended_by = await self._control.hold(
            HoldReason.BUDGET, text, ("set_budget", "end_attempt"), lambda: _budgets_differ(before, self._state.limits)
        )
        if ended_by == "end_attempt":
            raise RunEnds(reason, text)

    async def check_time(self) -> None:
        """Raise RunEnds, or hold, when the time budget is used up."""
        while (text := self._time_reached()) is not None:
            await self.decide(StopReason.TIME_BUDGET, text)

    def _time_reached(self) -> str | None:
        limit = self._state.limits.seconds
        used = self._control.active_s(self._state.active_before_s)
        return time_message(used, limit) if limit is not None and used >= limit else None


def _budgets_differ(a: Limits, b: Limits) -> bool:
    return (a.tokens, a.micros, a.seconds) != (b.tokens, b.micros, b.seconds)
