"""Lines, bars and diffs: exact widths, nothing lost, everything safe."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.event_streams import HOSTILE
from tui.paint import spans
from tui.paint.bars import apportion, columns, gauge, stacked
from tui.paint.chart import score_chart
from tui.paint.diff import diff_lines, summary

TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab 空👍[]/\x1b\u202e\t\n")), max_size=60)
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]")


@given(TEXT, st.integers(0, 40))
def test_fit_has_exactly_its_width_and_is_safe(text: str, width: int) -> None:
    for fitted in (spans.fit(text, width), spans.fit(text, width, "right"), spans.fit_middle(text, width)):
        assert spans.cells(fitted) == width
        assert not UNSAFE.search(fitted)


@given(TEXT, st.integers(2, 40))
def test_wrap_keeps_every_character_and_its_width(text: str, width: int) -> None:
    clean = spans.clean(text)
    pieces = spans.wrap(clean, width)
    assert "".join(pieces) == clean
    assert all(spans.cells(piece) <= width for piece in pieces)


@given(TEXT)
def test_wrap_ends_even_where_a_character_is_wider_than_the_line(text: str) -> None:
    assert "".join(spans.wrap(spans.clean(text), 1)) == spans.clean(text)


@given(st.lists(st.tuples(TEXT.map(spans.clean), st.just("text")), max_size=5), st.integers(1, 40))
def test_a_cut_line_fits(line: list[tuple[str, str]], width: int) -> None:
    cut = spans.cut_line(line, width)
    assert spans.width_of(cut) <= width
    if spans.width_of(line) <= width:
        assert cut == line


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=3), st.integers(0, 60))
def test_stacked_bars_have_their_width_and_show_every_part(parts: list[int], width: int) -> None:
    counts = apportion(parts, width)
    assert sum(counts) == (width if sum(parts) else 0)
    if width >= 3:
        assert all(bool(count) == bool(part) for count, part in zip(counts, parts, strict=True)) or not sum(parts)
    assert spans.width_of(stacked(parts[0], parts[1], parts[2], width)) == sum(counts)


@given(st.one_of(st.none(), st.floats(0, 2)), st.integers(0, 40))
def test_a_gauge_has_its_width_and_only_full_looks_full(part: float | None, width: int) -> None:
    line = gauge(part, width)
    assert spans.width_of(line) == width
    if part is not None and width:
        text = "".join(piece for piece, _ in line)
        assert (text == "━" * width) == (part >= 1)
        assert (set(text) == {"─"}) == (part == 0)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e9)), min_size=1, max_size=30), st.integers(1, 6))
def test_columns_are_as_many_and_as_high_as_asked(values: list[float | None], height: int) -> None:
    lines = columns(values, height)
    assert len(lines) == height
    assert all(len(line) == len(values) for line in lines)


def test_the_chart_marks_what_is_above_the_threshold() -> None:
    lines = score_chart([(5, 0.2, 0.7), (8, 0.9, 0.7), (11, None, 0.7)], 60, 8)
    dots = [(text, role) for line in lines for text, role in line if "●" in text]
    assert [role for _, role in dots] == ["bad", "accent"]
    assert any(text == " ? " for line in lines for text, _ in line), "a failed scorer is unknown, not zero"


def test_a_diff_numbers_its_lines_and_counts_what_it_holds() -> None:
    text = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+--- d\n"
    lines = ["".join(t for t, _ in line) for line in diff_lines(text, 40)]
    assert lines[0].startswith("x.py ")
    assert lines[2:] == ["   1    1  a", "   2      -b", "        2 +c", "        3 +--- d"]
    assert summary(text) == (1, 2, 1)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_lines_of_a_diff_are_shown_not_obeyed(text: str) -> None:
    lines = diff_lines(f"diff --git a/{text} b/{text}\n@@ -1 +1 @@ {text}\n+{text}\n", 60)
    assert not any(UNSAFE.search(piece) for line in lines for piece, _ in line)
