"""The ledger, its published figures, ranking, and which policy may abort."""

from __future__ import annotations

import random

import pytest

from runtime.stoploss.evaluate.ledger import (
    Outcome,
    binomial_interval,
    cost_per_solve_change,
    ledger_of,
    margin,
)
from runtime.stoploss.evaluate.policies import decide, qualify
from runtime.stoploss.evaluate.ranking import Point, auc, auc_by_step, reliability, tier_auc, with_interval
from runtime.stoploss.transfer import Mode


@pytest.mark.parametrize(("times", "change"), [(1, -0.045), (2, -0.029), (5, 0.018)])
def test_the_published_ledger(times: int, change: float) -> None:
    found = cost_per_solve_change(0.070, 0.0156 * times, 0.010)
    assert found is not None
    assert round(found, 3) == change
    assert (margin(0.070, 0.0156 * times, 0.010) > 0) is (change < 0)


def test_where_nothing_is_solved_any_more_there_is_no_cost_per_solve() -> None:
    assert cost_per_solve_change(0.5, 0.0, 1.0) is None


def outcomes(
    good: int, bad: int, false: int, right: int, left: float = 0.6, monitor: float | None = 0.0
) -> list[Outcome]:
    """So many runs at a cost of 1, so many of each kind stopped with a share of it left."""
    made = []
    for n in range(good + bad):
        succeeded = n < good
        stop = n < false if succeeded else n - good < right
        made.append(Outcome(f"task{n}", succeeded, 1.0, left if stop else 0.0, monitor, 8 if stop else None))
    return made


def test_every_figure_of_a_small_ledger() -> None:
    found = ledger_of(outcomes(8, 4, 1, 2, monitor=0.01), "dollars", resamples=200)
    assert found.g.value == pytest.approx(3 * 0.6 / 12)
    assert found.m.value == pytest.approx(0.01)
    assert found.r.value == pytest.approx(1 / 8)
    assert found.margin.value == pytest.approx(0.15 - 0.01 - 0.125)
    assert found.change.value == pytest.approx((1 - 0.15 + 0.01) / (7 / 8) - 1)
    assert (found.stopped, found.false_aborts, found.kept) == (3, 1, 7 / 8)
    assert found.failed_stopped.value == 0.5
    assert found.median_left == 0.6
    assert found.top_three == 1.0
    assert found.cost_per_solve == 1.5
    assert found.cost_per_solve_with == pytest.approx((12 - 1.8 + 0.12) / 7)
    assert [row.times for row in found.by_price] == [1, 2, 5, 10]
    assert found.by_price[3].m == pytest.approx(0.1)
    assert found.cost_per_solve is not None
    assert found.cost_per_solve_with is not None
    assert found.cost_per_solve_with / found.cost_per_solve - 1 == pytest.approx(found.change.value)


def test_what_a_check_costs_may_be_unknown_and_is_then_never_zero() -> None:
    found = ledger_of(outcomes(30, 10, 0, 5, monitor=None), "dollars", resamples=100)
    assert found.g.value is not None
    assert (found.m.value, found.margin.value, found.change.value, found.cost_per_solve_with) == (None,) * 4
    assert all(row.change is None for row in found.by_price)
    assert qualify(ledger_of(outcomes(60, 20, 0, 15, monitor=None), "dollars", 100)).verdict == "unmeasured"


def test_nothing_stopped_leaves_shares_of_it_unknown() -> None:
    found = ledger_of(outcomes(30, 10, 0, 0), "steps", resamples=100)
    assert (found.top_three, found.median_left) == (None, None)
    assert found.g.value == 0.0


def test_exact_intervals() -> None:
    # The rule of the tables: 0 of 36 leaves 9.7%; 1 of 10 lies between 0.25% and 44.5%.
    assert binomial_interval(0, 36)[1] == pytest.approx(1 - 0.025 ** (1 / 36))
    low, high = binomial_interval(1, 10)
    assert low == pytest.approx(0.0025286, abs=1e-6)
    assert high == pytest.approx(0.4450161, abs=1e-6)
    assert binomial_interval(10, 10)[1] == 1.0
    low, high = binomial_interval(900, 9_000)
    assert low == pytest.approx(0.0939, abs=1e-4)
    assert high == pytest.approx(0.1064, abs=1e-4)
    assert binomial_interval(0, 0) == (0.0, 1.0)


def test_many_false_aborts_are_never_allowed_whatever_they_save() -> None:
    saves = ledger_of(outcomes(36, 200, 10, 200, left=0.9), "dollars", resamples=200)
    assert saves.r.value == pytest.approx(0.278, abs=0.001)
    assert saves.margin.low is not None
    assert saves.margin.low > 0
    found = qualify(saves)
    assert found.verdict == "refused"
    assert "10 of 36" in found.why
    assert decide({"wild": saves}).mode is Mode.ASK


def test_allowed_takes_both_bounds() -> None:
    good = ledger_of(outcomes(60, 40, 0, 30), "dollars", resamples=200)
    assert qualify(good).verdict == "allowed"
    idle = ledger_of(outcomes(60, 40, 0, 0), "dollars", resamples=200)
    assert qualify(idle).verdict == "refused"
    assert "may not pay" in qualify(idle).why


def test_too_few_runs_measure_nothing() -> None:
    assert qualify(ledger_of(outcomes(20, 10, 0, 8), "dollars", 100)).verdict == "unmeasured"
    assert qualify(ledger_of(outcomes(60, 0, 0, 0), "dollars", 100)).verdict == "unmeasured"


def test_the_cheapest_that_qualifies_is_in_force_else_the_step_limit() -> None:
    good = ledger_of(outcomes(60, 40, 0, 30), "dollars", 200)
    better = ledger_of(outcomes(60, 40, 0, 38), "dollars", 200)
    idle = ledger_of(outcomes(60, 40, 0, 0), "dollars", 200)
    assert decide({"step-limit": good, "trained": better}).policy == "trained"
    assert decide({"step-limit": good, "trained": idle}).policy == "step-limit"
    assert decide({"step-limit": good, "trained": good}).policy == "step-limit"
    none = decide({"trained": idle, "step-limit": idle})
    assert (none.policy, none.mode, none.verdict) == ("step-limit", Mode.ASK, "refused")
    assert decide({}).verdict == "unmeasured"


def test_auc_counts_pairs() -> None:
    assert auc([3, 2], [1, 2]) == (1 + 1 + 1 + 0.5) / 4
    assert auc([], [1]) is None


def test_tiers_compare_only_within_a_checkpoint() -> None:
    points = [Point(0, 5, 0.1, False), Point(1, 5, 0.2, True), Point(0, 8, 0.9, False), Point(1, 8, 0.95, True)]
    assert tier_auc(points) == 1.0
    by_count = [Point(n % 10, 5 + 3 * (n // 10), float(n // 10), n % 3 == 0) for n in range(40)]
    assert tier_auc(by_count) == 0.5
    assert auc_by_step(points) == {5: 1.0, 8: 1.0}


def test_tier_auc_is_the_mean_over_all_pairs_of_one_checkpoint() -> None:
    rng = random.Random(3)
    points = [
        Point(n, rng.choice([5, 8, 11]), rng.choice([0.1, 0.2, 0.3, rng.random()]), rng.random() < 0.4)
        for n in range(300)
    ]
    wins = pairs = 0.0
    for a in points:
        for b in points:
            if a.failed and not b.failed and a.step == b.step:
                pairs += 1
                wins += 1 if a.score > b.score else 0.5 if a.score == b.score else 0
    found = with_interval(points, 200)
    assert found.value == pytest.approx(wins / pairs)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_reliability_bins_hold_every_window_once() -> None:
    points = [Point(n, 5, n / 100, n >= 50) for n in range(100)]
    bins = reliability(points)
    assert sum(one.windows for one in bins) == 100
    assert [one.failed_share for one in bins] == [0.0] * 5 + [1.0] * 5
