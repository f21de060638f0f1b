"""Caps and budgets: what is left, the words when nothing is, and the hold in which a supervisor may raise them."""

from __future__ import annotations

from dataclasses import replace

from runtime.events.values import HoldReason, StopReason
from runtime.loop.control import Control
from runtime.loop.interruptions import RunEnds
from runtime.loop.services import Services
from runtime.loop.state import Limits, RunState
from runtime.ports import RunTotals
from runtime.usage import MICROS_PER_DOLLAR

ADVICE = "Split the task into smaller ones, or ask whoever sets the limit to raise it."


def token_message(used: int, need: int, limit: int) -> str:
    """What the supervisor reads when the token budget is reached."""
    return f"stopped at the token budget: {used:,} used, the next call may need {need:,}, limit {limit:,}. {ADVICE}"


def dollars(micros: int) -> str:
    """Micro-dollars with as many places as a small sum needs."""
    value = micros / MICROS_PER_DOLLAR
    return f"${value:,.2f}" if value >= 1 else f"${value:,.4f}"


def cost_message(used: int, need: int, limit: int, complete: bool) -> str:
    """What the supervisor reads when the dollar budget is reached."""
    spent = dollars(used) + ("" if complete else " and calls without a price")
    return (
        f"stopped at the dollar budget: {spent} used, the next call may cost {dollars(need)}, "
        f"limit {dollars(limit)}. {ADVICE}"
    )


def time_message(used_s: float, limit_s: float) -> str:
    """What the supervisor reads when the time budget is reached."""
    return f"stopped at the time budget: {used_s / 60:.1f} min used, limit {limit_s / 60:.1f} min. {ADVICE}"


class Gate:
    """Asked before every model call whether it may be made."""

    def __init__(self, state: RunState, control: Control, services: Services) -> None:
        self._state = state
        self._control = control
        self._services = services

    async def open_for(self, tokens: int, micros: int | None) -> None:
        """Return when a call of at most `tokens` and `micros` (None: no price) fits all budgets.

        A budget that is reached holds the run where the settings say so, until it is raised; else, and when the supervisor
        chooses to end, raises RunEnds with the reason.
        """
        while True:
            totals = await self._services.ledger.run_totals(self._state.run)
            reached = self._reached(totals, tokens, micros)
            if reached is None:
                return
            reason, text = reached
            await self.decide(reason, text)

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

    def _reached(self, totals: RunTotals, tokens: int, micros: int | None) -> tuple[StopReason, str] | None:
        limits = self._state.limits
        if limits.tokens is not None and totals.tokens + tokens > limits.tokens:
            return StopReason.TOKEN_BUDGET, token_message(totals.tokens, tokens, limits.tokens)
        if limits.micros is not None and micros is not None and totals.money.micros + micros > limits.micros:
            text = cost_message(totals.money.micros, micros, limits.micros, totals.money.complete)
            return StopReason.COST_BUDGET, text
        text_or_none = self._time_reached()
        return None if text_or_none is None else (StopReason.TIME_BUDGET, text_or_none)


def _budgets_differ(a: Limits, b: Limits) -> bool:
    return (a.tokens, a.micros, a.seconds) != (b.tokens, b.micros, b.seconds)
