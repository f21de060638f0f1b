"""Windows, checkpoints and labels."""

from __future__ import annotations

import pytest

from runtime.stoploss.counters import KEPT, clip
from runtime.stoploss.features import FAMILIES, named_features, word_buckets
from runtime.stoploss.labels import Label, label
from runtime.stoploss.steps import Step
from runtime.stoploss.window import (
    FOUR_BYTES,
    MAX_TOKENS,
    ByteTokenizer,
    Windower,
    checkpoints,
    is_checkpoint,
    next_checkpoint,
    windows,
)
from support.stoploss_runs import made_run


def test_every_third_step_from_five_is_a_checkpoint() -> None:
    assert [n for n in range(20) if is_checkpoint(n)] == [5, 8, 11, 14, 17]
    assert list(checkpoints(11)) == [5, 8, 11]
    assert list(checkpoints(4)) == []
    assert [next_checkpoint(n) for n in (0, 4, 5, 6, 7, 8)] == [5, 5, 8, 8, 8, 11]


def test_a_failed_run_is_abort_throughout() -> None:
    assert {label(step, 9, succeeded=False) for step in range(1, 10)} == {Label.ABORT}


def test_the_last_two_windows_of_a_success_are_deliver() -> None:
    labels = [label(step, 5, succeeded=True) for step in range(1, 6)]
    assert labels == [Label.CONTINUE] * 3 + [Label.DELIVER] * 2
    assert [label(n, 2, succeeded=True) for n in (1, 2)] == [Label.DELIVER] * 2
    with pytest.raises(ValueError, match="no window at step 6"):
        label(6, 5, succeeded=True)


def test_a_window_holds_the_last_three_pairs_and_the_count() -> None:
    windower = Windower()
    for n in range(1, 8):
        windower.add(Step(f"do {n}", f"saw {n}", failed=n == 7))
    window = windower.window()
    assert window.step == 7
    assert [pair.action for pair in window.pairs] == ["do 5", "do 6", "do 7"]
    text = window.text()
    assert "Tool steps so far: 7" in text
    assert "[step 5] action:\ndo 5" in text
    assert "[step 7] observation (failed):\nsaw 7" in text
    assert "do 4" not in text


@pytest.mark.parametrize("letter", ["x", "é", "漢", "🙂"])
def test_the_oldest_text_is_cut_first_and_never_more_than_the_limit_stays(letter: str) -> None:
    windower = Windower()
    for n in range(5):
        windower.add(Step(f"do {n}", letter * 2_000 + f" end {n}"))
    window = windower.window()
    text = window.text()
    assert FOUR_BYTES.count(text) <= MAX_TOKENS
    assert text.endswith("end 4\n")
    assert text.startswith("Tool steps so far: 5\n")
    whole = window.text(tokens=100_000)
    assert whole.endswith(text.split("\n", 1)[1])
    if letter != "x":
        assert "do 2" not in text


def test_another_tokenizer_counts_its_own_way() -> None:
    windower = Windower()
    windower.add(Step("a", "b" * 1_900))
    assert len(windower.window().text(ByteTokenizer(1), 500)) == 500
    assert "a" in windower.window().text(ByteTokenizer(4), 500)


def test_training_and_live_see_the_same_windows() -> None:
    run = made_run(1, succeeded=False, steps=12)
    live = Windower()
    seen = []
    for step in run.steps:
        live.add(step)
        if is_checkpoint(live.step):
            seen.append(live.window())
    assert seen == list(windows(run))
    assert len(list(windows(run, every_step=True))) == 12


def test_long_texts_keep_both_ends() -> None:
    text = "a" * 5_000 + "z" * 5_000
    cut = clip(text)
    assert cut.startswith("a" * 1_000 + "\n...[8000 chars cut]...")
    assert cut.endswith("z" * 1_000)
    assert clip(cut) == cut
    assert clip("x" * KEPT) == "x" * KEPT


def test_counters_notice_repeats_errors_tests_and_edits() -> None:
    windower = Windower()
    for action, observation in (
        ("cat a.py", "x = 1\n" * 9),
        ("cat  a.py", "x = 1\n" * 9),
        ("sed -i s/1/2/ a.py", ""),
        ("python -m pytest -q", "1 failed, 2 passed"),
        ("git checkout a.py", "fatal: no such path"),
        ("python -m pytest -q", "3 passed"),
    ):
        windower.add(Step(action, observation))
    tally = windower.window().tally
    assert (tally.steps, tally.repeats, tally.same_results, tally.empties) == (6, 2, 1, 1)
    assert (tally.edits, tally.first_edit, tally.since_edit, tally.edited_files) == (1, 3, 3, 1)
    assert (tally.tests, tally.tests_failed, tally.tests_passed) == (2, 1, 1)
    assert (tally.errors, tally.errors_in_row, tally.undos, tally.looks) == (1, 0, 1, 2)


def test_window_features_ignore_what_came_before_the_window() -> None:
    short, long = Windower(), Windower()
    for n in range(6):
        long.add(Step(f"strange beginning {n}", "Traceback (most recent call last)"))
    for windower in (short, long):
        for n in range(3):
            windower.add(Step(f"say {n}", f"words {n}"))
    a, b = short.window(), long.window()
    assert named_features(a, "window") == named_features(b, "window")
    assert word_buckets(a, "window") == word_buckets(b, "window")
    assert named_features(a, "full") != named_features(b, "full")
    assert word_buckets(a, "step") == ((), ())
    assert [name for name, _ in named_features(a, "step")] == ["log_steps"]


def test_features_are_named_once_and_finite_from_the_first_step() -> None:
    for family in FAMILIES:
        windower = Windower()
        windower.add(Step("", ""))
        found = named_features(windower.window(), family)
        assert len({name for name, _ in found}) == len(found)
        assert all(abs(value) < 100 for _, value in found)


@pytest.mark.parametrize(
    "text", ["a" * 12_000, "a." * 6_000, "mvn " * 3_000, "\n" * 12_000, "sed -a " * 2_000, "./" * 6_000]
)
def test_no_text_makes_a_step_slow(text: str) -> None:
    import time

    best = 9.9
    for _ in range(3):
        windower = Windower()
        began = time.process_time()
        windower.add(Step(text, text))
        best = min(best, time.process_time() - began)
    assert best < 0.05
