"""Figures as words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui import words


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (None, "?"),
        (0, "$0.000"),
        (81_000, "$0.081"),
        (499, "<$0.001"),
        (999_499, "$0.999"),
        (999_500, "$1.00"),
        (1_234_567, "$1.23"),
        (999_994_999, "$999.99"),
        (1_234_000_000, "$1,234"),
        (-44_000, "-$0.044"),
    ],
)
def test_money(micros: int | None, text: str) -> None:
    assert words.money(micros) == text


def test_an_incomplete_sum_says_so_and_nothing_known_is_unknown() -> None:
    assert words.money(81_000, complete=False) == "$0.081+?"
    assert words.money(0, complete=False) == "?"
    assert words.used(212_000, 1) == "212k+?"
    assert words.used(0, 1) == "?"
    assert words.used(None, 3) == "?"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "?"),
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (38_240, "38.2k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (212_000, "212k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (12_345_678, "12.3M"),
    ],
)
def test_tokens(count: int | None, text: str) -> None:
    assert words.tokens(count) == text


@given(st.integers(0, 9 * 10**9))
def test_tokens_keep_to_six_characters_and_never_shrink(count: int) -> None:
    assert len(words.tokens(count)) <= 6
    scale = {"k": 1e3, "M": 1e6}

    def value(text: str) -> float:
        return float(text[:-1].replace(",", "")) * scale[text[-1]] if text[-1] in scale else float(text)

    assert value(words.tokens(count)) == pytest.approx(count, rel=0.06, abs=0.5)


@given(st.floats(0, 1))
def test_only_all_reads_as_all_and_only_nothing_as_nothing(part: float) -> None:
    text = words.share(part)
    assert (text == "100%") == (part == 1)
    assert (text == "0%") == (part == 0)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "?"),
        (0, "0.0 s"),
        (120, "0.1 s"),
        (9_949, "9.9 s"),
        (9_950, "10 s"),
        (41_000, "41 s"),
        (59_500, "1m00s"),
        (252_000, "4m12s"),
        (3_720_000, "1h02m"),
    ],
)
def test_duration(ms: int | None, text: str) -> None:
    assert words.duration(ms) == text


@given(st.integers(0, 360_000_000))
def test_the_running_clock_keeps_its_form(ms: int) -> None:
    parts = words.clock(ms).split(":")
    assert 2 <= len(parts) <= 3
    assert all(len(part) == 2 for part in parts[1:])
    assert sum(int(part) * 60**place for place, part in enumerate(reversed(parts))) == ms // 1_000


def test_age_and_size() -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    assert [words.age(now - timedelta(seconds=s), now) for s in (-5, 12, 240, 10_800, 172_800)] == [
        "0s",
        "12s",
        "4m",
        "3h",
        "2d",
    ]
    assert words.age(None, now) == "?"
    assert [words.size(n) for n in (None, 812, 4_200, 64 * 2**20)] == ["?", "812 B", "4.1 KiB", "64.0 MiB"]
