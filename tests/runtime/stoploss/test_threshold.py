"""The conformal threshold and its promise, and what a calibration is valid for."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace

import pytest

from runtime.errors import UsageError
from runtime.stoploss.threshold import (
    Calibration,
    Success,
    calibrate,
    calibration_from,
    last_checkpoint,
    least_successes,
    threshold_of,
)
from runtime.stoploss.transfer import Mode, Situation, doubt, ruling

MADE = calibrate(
    [Success(13, n / 40) for n in range(40)], scorer="embedded-1", by_steps=False, executor="gemini", project="bench"
)
NOW = Situation("gemini", "bench", "embedded-1", 8)


def test_below_nineteen_successes_there_is_no_threshold_at_five_percent() -> None:
    assert least_successes(0.05) == 19
    assert least_successes(0.1) == 9
    with pytest.raises(UsageError, match="18 successful runs are too few to calibrate: at least 19 are needed"):
        threshold_of([0.1] * 18)
    assert threshold_of([0.1] * 18 + [0.9]) == 0.9


def test_of_thirty_nine_two_would_be_one_too_many() -> None:
    maxima = [n / 100 for n in range(39)]
    # floor(0.05 * 40) - 1 = 1 of them may lie above.
    assert threshold_of(maxima) == 0.37
    assert threshold_of([n / 100 for n in range(99)]) == 0.94


def test_runs_that_ended_before_the_first_checkpoint_count_as_minus_infinity() -> None:
    assert threshold_of([-math.inf] * 30) == -math.inf
    assert threshold_of([-math.inf] * 18 + [0.4]) == 0.4


def test_what_cannot_be_a_score_or_a_rate_is_refused() -> None:
    with pytest.raises(UsageError, match="not a number"):
        threshold_of([math.nan] * 30)
    for target in (0.0, 1.0, -1.0):
        with pytest.raises(UsageError, match="between 0 and 1"):
            threshold_of([0.1] * 30, target)


def _rates(n: int, at: int, rng: random.Random) -> list[float]:
    """False-abort rates of 1,000 calibrations on n draws; `at` places from the top stands the threshold."""
    rates = []
    for _ in range(1_000):
        maxima = [rng.random() for _ in range(n)]
        threshold = threshold_of(maxima) if at < 0 else sorted(maxima, reverse=True)[at]
        rates.append(sum(rng.random() > threshold for _ in range(200)) / 200)
    return rates


@pytest.mark.parametrize("n", [19, 39, 99])
def test_the_mean_false_abort_rate_keeps_the_target(n: int) -> None:
    rates = _rates(n, -1, random.Random(n))
    error = statistics.stdev(rates) / math.sqrt(len(rates))
    assert statistics.fmean(rates) <= 0.05 + 3 * error


def test_without_the_correction_the_rate_is_twice_the_target_at_nineteen() -> None:
    # floor(0.05 * 20) may lie above, where the corrected rule takes one less.
    rates = _rates(19, 1, random.Random(19))
    assert statistics.fmean(rates) > 0.05 + 3 * statistics.stdev(rates) / math.sqrt(len(rates))


def test_the_last_checkpoint_is_the_one_that_95_percent_reached() -> None:
    assert last_checkpoint([13] * 40) == 11
    assert last_checkpoint([4] * 3 + [20] * 37) is None
    assert last_checkpoint([4] * 2 + [20] * 38) == 20
    assert last_checkpoint([6] * 3 + [20] * 37) == 5
    assert last_checkpoint([]) is None


def test_a_calibration_survives_its_data() -> None:
    import json

    for made in (MADE, replace(MADE, threshold=-math.inf, tasks=("a", "b"))):
        assert calibration_from(json.loads(json.dumps(made.to_json()))) == made
    with pytest.raises(UsageError, match="damaged"):
        calibration_from({"threshold": 1})


def test_it_holds_where_it_was_made() -> None:
    assert doubt(MADE, NOW) == ""
    assert MADE.last_checkpoint == 11


def test_runs_of_sixteen_steps_reach_beyond_successes_of_thirteen() -> None:
    found = ruling(Mode.ABORT, replace(MADE, abort="allowed"), replace(NOW, step=14))
    assert found.mode is Mode.ASK
    assert (
        "step 14 lies beyond the last checkpoint that 95% of the calibration's successes reached (step 11)" in found.why
    )


def test_a_step_limit_is_made_for_going_beyond() -> None:
    limit = replace(MADE, scorer="step-limit", by_steps=True, abort="allowed")
    assert ruling(Mode.ABORT, limit, replace(NOW, scorer="step-limit", step=50)).mode is Mode.ABORT


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (replace(NOW, executor="claude-sonnet-4"), "runs of gemini, not of claude-sonnet-4"),
        (replace(NOW, project="other"), "on bench, not on other"),
        (replace(NOW, scorer="embedded-2"), "for the scorer embedded-1, not for embedded-2"),
        (replace(NOW, changes=("the retry cap was set to 6",)), "the retry cap was set to 6"),
    ],
)
def test_elsewhere_abort_becomes_ask_and_says_why(now: Situation, words: str) -> None:
    found = ruling(Mode.ABORT, replace(MADE, abort="allowed"), now, explicit=True)
    assert found.mode is Mode.ASK
    assert words in found.why


def test_without_a_calibration_everything_watches() -> None:
    for asked in (Mode.ASK, Mode.ABORT, Mode.WATCH):
        assert ruling(asked, None, NOW).mode is Mode.WATCH
    assert ruling(Mode.OFF, None, NOW).mode is Mode.OFF


def test_abort_needs_evidence_as_a_default_and_bows_to_evidence_when_chosen() -> None:
    def mode(calibration: Calibration, explicit: bool) -> Mode:
        return ruling(Mode.ABORT, calibration, NOW, explicit=explicit).mode

    assert mode(replace(MADE, abort="allowed"), explicit=False) is Mode.ABORT
    assert mode(MADE, explicit=False) is Mode.ASK
    assert mode(MADE, explicit=True) is Mode.ABORT
    refused = replace(MADE, abort="refused", abort_why="27.8% of good runs")
    assert mode(refused, explicit=True) is Mode.ASK
    assert ruling(Mode.ABORT, refused, NOW, explicit=True).why == "27.8% of good runs"
