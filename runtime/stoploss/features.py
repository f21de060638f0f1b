"""Numbers that the embedded scorer reads from a window: a fixed, named list, each bounded so that no log can push a score away."""

from __future__ import annotations

import math
from collections.abc import Callable

from runtime.stoploss.counters import Seen, Tally
from runtime.stoploss.window import Window
from runtime.stoploss.words import BUCKETS, OBSERVATION_CHARS, buckets

FEATURES_VERSION = 1
"""Changes whenever a feature's meaning does: weights made for another version are refused."""


def _share(part: float, steps: int) -> float:
    return part / steps if steps else 0.0


def _last(tally: Tally, of: Callable[[Seen], float]) -> float:
    return sum(of(seen) for seen in tally.last) / len(tally.last) if tally.last else 0.0


def _log_mean(chars: int, steps: int) -> float:
    return math.log1p(_share(chars, steps))


def _step(window: Window) -> list[tuple[str, float]]:
    return [("log_steps", math.log(max(1, window.step)))]


def _window(window: Window) -> list[tuple[str, float]]:
    tally = window.tally
    flags: tuple[tuple[str, Callable[[Seen], float]], ...] = (
        ("last_errors", lambda seen: seen.error),
        ("last_tests", lambda seen: seen.test),
        ("last_tests_failed", lambda seen: seen.test_failed),
        ("last_tests_passed", lambda seen: seen.test_passed),
        ("last_edits", lambda seen: seen.edit),
        ("last_looks", lambda seen: seen.look),
        ("last_undos", lambda seen: seen.undo),
        ("last_cleans", lambda seen: seen.clean),
        ("last_executions", lambda seen: seen.executes),
        ("last_empties", lambda seen: seen.empty),
        ("last_action_length", lambda seen: math.log1p(seen.action_chars)),
        ("last_observation_length", lambda seen: math.log1p(seen.observation_chars)),
    )
    texts = [(pair.action, pair.observation) for pair in window.pairs]
    return [
        *((name, _last(tally, of)) for name, of in flags),
        ("last_same_action", float(len({action for action, _ in texts}) < len(texts))),
        ("last_same_pair", float(len(set(texts)) < len(texts))),
    ]


def _running(window: Window) -> list[tuple[str, float]]:
    tally, n = window.tally, window.step
    runs_of_tests = tally.tests_failed + tally.tests_passed
    return [
        ("error_share", _share(tally.errors, n)),
        ("errors_in_row", math.log1p(min(tally.errors_in_row, 10))),
        ("test_share", _share(tally.tests, n)),
        ("tests_failed_share", _share(tally.tests_failed, n)),
        ("tests_passed_share", _share(tally.tests_passed, n)),
        ("pass_balance", (tally.tests_passed - tally.tests_failed) / (runs_of_tests + 1)),
        ("edit_share", _share(tally.edits, n)),
        ("look_share", _share(tally.looks, n)),
        ("undo_share", _share(tally.undos, n)),
        ("clean_share", _share(tally.cleans, n)),
        ("execution_share", _share(tally.executions, n)),
        ("repeat_share", _share(tally.repeats, n)),
        ("same_result_share", _share(tally.same_results, n)),
        ("known_observation_share", _share(tally.known_observations, n)),
        ("empty_share", _share(tally.empties, n)),
        ("files", math.log1p(tally.files)),
        ("edited_files", math.log1p(tally.edited_files)),
        ("most_edits_of_a_file", math.log1p(tally.most_edits_of_a_file)),
        ("action_length", _log_mean(tally.action_chars, n)),
        ("observation_length", _log_mean(tally.observation_chars, n)),
        ("first_edit", _share(tally.first_edit or n, n)),
        ("since_edit", _share(tally.since_edit, n)),
        ("since_test", _share(tally.since_test, n)),
        ("since_pass", _share(tally.since_pass, n)),
        ("since_error", _share(tally.since_error, n)),
    ]


FAMILIES: dict[str, tuple[Callable[[Window], list[tuple[str, float]]], ...]] = {
    "full": (_step, _window, _running),
    "window": (_window,),
    "step": (_step,),
}
"""What a scorer may read: everything; the window's pairs alone; the step count alone."""


def named_features(window: Window, family: str = "full") -> list[tuple[str, float]]:
    """The features of a family by name, in their fixed order."""
    return [pair for part in FAMILIES[family] for pair in part(window)]


def word_buckets(window: Window, family: str = "full") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sorted buckets of words in actions (0 to BUCKETS - 1) and in observations (from BUCKETS on): of the whole run so far,
    of the window's pairs, or none, by family."""
    if family == "step":
        return (), ()
    if family == "full":
        actions, observations = set(window.action_words), set(window.observation_words)
    else:
        actions, observations = set(), set()
        for pair in window.pairs:
            actions |= buckets(pair.action)
            observations |= buckets(pair.observation[:OBSERVATION_CHARS])
    return tuple(sorted(actions)), tuple(sorted(n + BUCKETS for n in observations))
