"""Finished runs under other caps and budgets: fixes lost, money saved, hand-offs, and bounds where history can't tell."""

from __future__ import annotations

import pytest

from runtime.curves.legs import Attempt, Ended, Leg
from runtime.curves.whatif import Limits, whatif, whatifs
from support.curve_legs import CLAUDE, COST, QWEN, TOKENS


def leg(*passed: bool, ended: Ended = Ended.CAP, micros: int | None = COST) -> Leg:
    return Leg("r", "m", tuple(Attempt(one, TOKENS, micros) for one in passed), ended)


def test_caps_over_both_families_show_the_waste_at_seven_and_the_hand_offs_at_three() -> None:
    claude = {one.limits.cap: one for one in whatifs(CLAUDE, (3, 5, 7))}
    qwen = {one.limits.cap: one for one in whatifs(QWEN, (3, 5, 7))}
    # Claude: the attempts from the fourth on bring 6 of 926 fixes, and cost what 74 runs spend in vain.
    assert [claude[cap].lost for cap in (3, 5, 7)] == [6, 1, 0]
    assert claude[3].handed_low == 74 + 6
    assert claude[7].vain_micros == 74 * 7 * COST
    assert claude[3].saved_micros == (74 * 4 + 3 * 1 + 2 * 2 + 1 * 3) * COST
    assert claude[7].vain_micros > 2 * claude[3].vain_micros
    # Qwen: at three attempts a cap hands on what would still have been fixed.
    assert [qwen[cap].lost for cap in (3, 5, 7)] == [90 + 60 + 40 + 6 + 3, 40 + 6 + 3, 3]
    assert qwen[3].handed_low == 201 + 199
    assert qwen[3].handed_low > 1.5 * qwen[7].handed_low


def test_a_leg_that_met_a_lower_cap_can_not_tell_what_would_have_followed() -> None:
    found = whatif([leg(False, False, ended=Ended.CAP), leg(False, True, ended=Ended.PASSED)], Limits(cap=5))
    assert (found.fixed_low, found.fixed_high, found.untold) == (1, 2, 1)
    assert (found.handed_low, found.handed_high) == (0, 1)
    assert found.lost == 0


def test_a_leg_that_ended_otherwise_ends_so_again() -> None:
    found = whatif([leg(False, ended=Ended.OTHER)], Limits(cap=5))
    assert (found.fixed_low, found.fixed_high, found.untold, found.handed_high) == (0, 0, 0, 0)


def test_what_a_budget_ended_might_have_gone_on_under_another_one_only() -> None:
    broke = [leg(False, ended=Ended.BUDGET)]
    assert [whatif(broke, Limits(micros=10 * COST)).untold, whatif(broke, Limits(tokens=10 * TOKENS)).untold] == [1, 1]
    assert whatif(broke, Limits(micros=10 * COST)).fixed_high == 1
    assert whatif(broke, Limits(cap=5)).fixed_high == 0
    assert whatif(broke, Limits(cap=1)).handed_low == 1


def test_a_leg_that_another_model_took_over_can_not_tell_whether_it_was_its_cap() -> None:
    handed = [leg(False, False, ended=Ended.HANDED)]
    assert [(one.untold, one.handed_low) for one in whatifs(handed, (1, 2, 3))] == [(0, 1), (0, 1), (1, 0)]
    assert whatif(handed, Limits(micros=10 * COST)).untold == 0


def test_under_a_budget_alone_the_caps_are_as_they_were() -> None:
    found = whatif([leg(False, False, ended=Ended.CAP)], Limits(micros=10 * COST))
    assert (found.untold, found.handed_low, found.handed_high) == (0, 1, 1)


@pytest.mark.parametrize(("micros", "fixed"), [(3 * COST, 1), (3 * COST - 1, 0), (COST, 0)])
def test_a_budget_spans_all_legs_of_a_run(micros: int, fixed: int) -> None:
    first = leg(False, False, ended=Ended.HANDED)
    second = Leg("r", "m", (Attempt(True, TOKENS, COST),), Ended.PASSED, before=(first.attempts,))
    found = whatif([first, second], Limits(micros=micros))
    assert (found.fixed_low, found.fixed_high, found.lost) == (fixed, fixed, 1 - fixed)
    # A lower cap leaves more of it to the leg that follows.
    assert whatif([second], Limits(cap=1, micros=2 * COST)).fixed_low == 1


def test_a_leg_after_one_of_unknown_cost_can_not_tell_what_a_budget_leaves() -> None:
    second = Leg("r", "m", (Attempt(True, TOKENS, COST),), Ended.PASSED, before=((Attempt(False, TOKENS, None),),))
    found = whatif([second], Limits(micros=10 * COST))
    assert (found.fixed_low, found.fixed_high, found.lost) == (0, 1, 0)


@pytest.mark.parametrize(("micros", "fixed", "saved"), [(3 * COST, 1, 0), (3 * COST - 1, 0, COST), (COST, 0, 2 * COST)])
def test_an_attempt_that_a_budget_does_not_pay_for_whole_is_not_made(micros: int, fixed: int, saved: int) -> None:
    found = whatif([leg(False, False, True, ended=Ended.PASSED)], Limits(micros=micros))
    assert (found.fixed_low, found.saved_micros, found.saved_complete) == (fixed, saved, True)
    assert found.lost == 1 - fixed


def test_tokens_bind_as_dollars_do() -> None:
    found = whatif([leg(False, True, ended=Ended.PASSED)], Limits(tokens=TOKENS))
    assert (found.lost, found.fixed_low) == (1, 0)


def test_what_has_no_price_is_told_and_not_guessed() -> None:
    legs = [leg(False, True, ended=Ended.PASSED, micros=None)]
    capped = whatif(legs, Limits(cap=1))
    assert (capped.lost, capped.saved_micros, capped.saved_complete) == (1, 0, False)
    budget = whatif(legs, Limits(micros=10**9))
    assert (budget.fixed_low, budget.fixed_high, budget.untold, budget.lost) == (0, 1, 1, 0)


def test_without_any_limit_everything_is_as_it_was() -> None:
    (found,) = whatifs([*CLAUDE, *QWEN], ())
    assert found.fixed_low == found.fixed_before
    assert (found.lost, found.saved_micros) == (0, 0)
