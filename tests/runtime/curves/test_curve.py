"""Fix-rate curves: rates among the runs still open, intervals, and the cap that they recommend."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.catalog.caps import default_fix_verify_cap
from runtime.curves.curve import ENOUGH_RUNS, curve, curves, wilson
from runtime.curves.legs import Attempt, Ended, Leg, family_of
from support.curve_legs import CLAUDE, COST, QWEN, drawn


@pytest.mark.parametrize("seed", range(200))
def test_recommendations_equal_the_answer_that_the_true_chances_give(seed: int) -> None:
    rng = random.Random(seed)
    # Chances far from 5% on either side, so that 6,000 runs leave no doubt about them.
    hazards = [rng.choice((rng.uniform(0.12, 0.45), rng.uniform(0.0, 0.02))) for _ in range(rng.randrange(2, 9))]
    worth = [k for k, chance in enumerate(hazards, 1) if chance > 0.05]
    found = curve("any", drawn(rng, hazards, 6_000)).recommended
    if not worth:
        assert (found.cap, found.to_set) == (None, None)
        return
    assert found.cap == worth[-1]
    assert found.open_ended == (worth[-1] == len(hazards))
    assert found.to_set == worth[-1] + found.open_ended


def test_the_published_shape_gives_three_and_six() -> None:
    found = {one.family: one for one in curves([*CLAUDE, *QWEN])}
    assert found["claude"].recommended.cap == default_fix_verify_cap("claude-sonnet-5-5").value == 3
    assert found["qwen"].recommended.cap == default_fix_verify_cap("Qwen/Qwen3-Coder-30B").value == 6
    assert not found["claude"].recommended.open_ended
    assert not found["qwen"].recommended.open_ended
    # What was spent beyond the third attempt: by those that passed later, and by those that never did.
    later = 3 * 1 + 2 * 2 + 1 * 3
    assert found["claude"].after_useful_micros == (later + 74 * 4) * COST


def test_few_runs_are_on_trial_and_their_number_is_said() -> None:
    found = curve("claude", CLAUDE[: ENOUGH_RUNS - 1])
    assert (found.recommended.cap, found.recommended.to_set) == (None, None)
    assert found.recommended.why == "not enough runs yet, on trial with 29"
    assert found.after_useful_micros is None
    assert curve("claude", CLAUDE[:ENOUGH_RUNS]).recommended.cap is not None


def test_the_last_attempt_ever_made_may_have_been_worth_it() -> None:
    legs = [Leg(f"r{n}", "m", (Attempt(False), Attempt(n % 2 == 0)), Ended.CAP) for n in range(100)]
    found = curve("m", legs).recommended
    assert (found.cap, found.open_ended, found.to_set) == (2, True, 3)
    assert found.why.startswith("at least 2, try 3")


def test_a_run_that_ended_is_not_at_risk_any_more() -> None:
    aborted = [Leg(f"a{n}", "m", (Attempt(False),), Ended.OTHER) for n in range(60)]
    went_on = [Leg(f"b{n}", "m", (Attempt(False), Attempt(n < 20)), Ended.CAP) for n in range(40)]
    first, second = curve("m", [*aborted, *went_on]).points
    assert (first.at_risk, first.passed) == (100, 0)
    assert (second.at_risk, second.passed, second.rate) == (40, 20, 0.5)


def test_unknown_costs_stay_unknown() -> None:
    legs = [
        Leg(f"r{n}", "m", (Attempt(True, 100, 50), Attempt(False, 100, None if n == 0 else 7)), Ended.OTHER)
        for n in range(40)
    ]
    found = curve("m", legs)
    assert (found.points[0].micros, found.points[1].micros, found.points[1].tokens) == (50, None, 100)
    assert found.points[0].verify_micros is None
    assert (found.after_useful_micros, found.complete) == (39 * 7, False)


def test_wilson_as_published() -> None:
    # Wilson score interval of 8 in 10 and of 0 in 20, at 95%.
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(0, 400), st.integers(0, 400))
def test_an_interval_holds_its_share(passed: int, failed: int) -> None:
    n = passed + failed
    low, high = wilson(passed, n)
    assert 0 <= low <= (passed / n if n else low) <= high <= 1


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic/Claude-Sonnet-5-5", "claude"),
        ("Qwen/Qwen3-Coder-30B", "qwen"),
        ("claude-haiku-5-5", "claude-haiku"),
        ("mistral-large-3", "mistral"),
        ("local", "local"),
        ("4o-mini", "4o-mini"),
    ],
)
def test_a_family_is_what_its_cap_is_set_by(model: str, family: str) -> None:
    assert family_of(model, {"claude-haiku": 2}) == family
