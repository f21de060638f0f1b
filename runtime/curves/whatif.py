"""Finished runs under other caps and budgets, without a model call: what would have been lost, saved and handed on, and what can't be told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime.curves.legs import Attempt, Ended, Leg


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps and budgets that are tried; None leaves out what isn't tried. Money in micro-dollars."""

    cap: int | None = None
    micros: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would have come of all legs. Where history can't tell there are two bounds."""

    limits: Limits
    legs: int
    fixed_before: int
    """How many really passed."""
    fixed_low: int
    fixed_high: int
    lost: int
    """Fixes that would surely not have been made."""
    saved_micros: int
    """What wouldn't have been spent; `saved_complete` is false where a part of it isn't known."""
    saved_complete: bool
    vain_micros: int
    """Spent in legs that stay without a fix."""
    vain_complete: bool
    handed_low: int
    """Legs that would have met the cap without a fix: hand-offs to a stronger model."""
    handed_high: int
    untold: int
    """Legs that ended before these limits, so that nothing is known of what would have followed."""


@dataclass(frozen=True, slots=True)
class _Replayed:
    fixed: bool
    made: int
    """Attempts that would have been made, of those that were."""
    met_cap: bool
    untold: bool


def whatif(legs: Iterable[Leg], limits: Limits) -> Outcome:
    """Replay legs under limits."""
    found = list(legs)
    replayed = [(leg, _replay(leg, limits)) for leg in found]
    saved = [cost for leg, one in replayed for cost in _costs(leg, one.made, None)]
    vain = [cost for leg, one in replayed if not one.fixed for cost in _costs(leg, 0, one.made)]
    fixed = sum(one.fixed for _, one in replayed)
    untold = sum(one.untold for _, one in replayed)
    handed = sum(one.met_cap and not one.fixed for _, one in replayed)
    before = sum(leg.passed_at is not None for leg in found)
    return Outcome(
        limits=limits,
        legs=len(found),
        fixed_before=before,
        fixed_low=fixed,
        fixed_high=fixed + untold,
        lost=sum(leg.passed_at is not None and not one.fixed and not one.untold for leg, one in replayed),
        saved_micros=sum(cost for cost in saved if cost is not None),
        saved_complete=None not in saved,
        vain_micros=sum(cost for cost in vain if cost is not None),
        vain_complete=None not in vain,
        handed_low=handed,
        handed_high=handed + untold,
        untold=untold,
    )


def _costs(leg: Leg, start: int, end: int | None) -> list[int | None]:
    return [attempt.cost for attempt in leg.attempts[start:end]]


class _Purse:
    """What the tried budgets leave, over all legs of a run."""

    def __init__(self, limits: Limits) -> None:
        self._left = (limits.micros, limits.tokens)

    def pays(self, attempt: Attempt) -> bool | None:
        """Whether an attempt is paid for whole; None where what it took isn't known."""
        left = []
        for have, took in zip(self._left, (attempt.cost, attempt.tokens), strict=True):
            if have is not None and took is None:
                return None
            left.append(None if have is None else have - (took or 0))
        self._left = (left[0], left[1])
        return all(have is None or have >= 0 for have in left)


def _replay(leg: Leg, limits: Limits) -> _Replayed:
    """How far a leg would have come. An attempt that a budget doesn't pay for whole isn't finished."""
    purse = _Purse(limits)
    for earlier in leg.before:
        for attempt in earlier[: limits.cap]:
            if not (paid := purse.pays(attempt)):
                return _Replayed(False, 0, False, paid is None)
    for number, attempt in enumerate(leg.attempts, 1):
        if limits.cap is not None and number > limits.cap:
            return _Replayed(False, number - 1, True, False)
        if not (paid := purse.pays(attempt)):
            return _Replayed(False, number - 1, False, paid is None)
        if attempt.passed:
            return _Replayed(True, number, False, False)
    met = leg.ended is Ended.CAP if limits.cap is None else len(leg.attempts) >= limits.cap
    return _Replayed(False, len(leg.attempts), met, not met and _would_go_on(leg, limits))


def _would_go_on(leg: Leg, limits: Limits) -> bool:
    """Whether limits that leave room might have let an unfixed leg go on: where its own cap or budget may have ended it."""
    if leg.ended is Ended.BUDGET:
        return limits.micros is not None or limits.tokens is not None
    # What neither ended would have ended so again.
    return limits.cap is not None and leg.ended in (Ended.CAP, Ended.HANDED)


def whatifs(
    legs: Sequence[Leg], caps: Sequence[int], micros: int | None = None, tokens: int | None = None
) -> list[Outcome]:
    """One outcome for each cap (none: the caps as they were), each under the same budgets."""
    tried = [Limits(cap, micros, tokens) for cap in caps] or [Limits(None, micros, tokens)]
    return [whatif(legs, limits) for limits in tried]
