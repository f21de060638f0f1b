"""Output is hostile text: whatever it is, reading it takes bounded work and yields bounded, storable findings."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.verify.findings import MAX_FINDINGS, MAX_ID, MAX_LINE, first_failure, parse
from runtime.verify.runners import RUNNERS

PIECES = [
    "=",
    "_ ",
    " ",
    "a",
    "1 passed ",
    "1:1",
    "::",
    "a.py::",
    "[",
    "] - ",
    " FAILED",
    "(",
    ".go:",
    "\u2716 ",
    "0.",
    " \u203a ",
]
HEADS = [
    "FAILED a.py::x",
    "SUBFAILED[",
    "___ a",
    "=== 1 failed",
    "  1:1  error  a",
    "a.ts(1,1",
    "a.py:1: error: ",
    "test a",
    "--- FAIL: ",
    " FAIL  ",
    "FAIL: ",
    "error[E1]: ",
    "E   ",
    "not ok 1 - ",
    "1 passed in 1.0s",
    "",
]
ALL = [
    pattern
    for runner in RUNNERS
    for pattern in (
        runner.command,
        runner.signature,
        *runner.counts,
        runner.uncounted,
        runner.summary,
        runner.no_tests,
        runner.ran,
        runner.partial,
        *(
            pattern
            for level in runner.levels
            for shape in level
            for pattern in (shape.line, shape.place, shape.above, shape.header, shape.region)
        ),
    )
    if pattern is not None
]


@pytest.mark.parametrize("head", HEADS)
def test_no_pattern_takes_long_on_a_hostile_line(head: str) -> None:
    """Ten times the longest line that is ever read costs no more than the time of a blink, for every pattern."""
    worst: tuple[float, str, str] = (0.0, "", "")
    for piece in PIECES:
        line = (head + piece * (10 * MAX_LINE))[: 10 * MAX_LINE] + "!"
        for pattern in ALL:
            began = time.process_time()
            pattern.search(line) if pattern is not None else None
            worst = max(worst, (time.process_time() - began, pattern.pattern, piece))
    assert worst[0] < 0.5, worst


def test_megabytes_of_findings_are_counted_and_bounded() -> None:
    output = "=== short test summary info ===\n" + "".join(f"FAILED a.py::t{n} - no\n" for n in range(60_000))
    began = time.process_time()
    parsed = parse("pytest", output, failed=True)
    assert time.process_time() - began < 10
    assert (len(parsed.findings), parsed.total, parsed.partial) == (MAX_FINDINGS, 60_000, True)


@given(st.text(st.characters(exclude_categories=()), max_size=400), st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_read(text: str, failed: bool) -> None:
    for command in ("pytest", "go test", "./check"):
        parsed = parse(command, text, failed)
        assert parsed.total is None or failed or parsed.total == 0
        for finding in parsed.findings:
            finding.id.encode("utf-8")
            assert len(finding.id) <= MAX_ID
        first_failure(text, parsed.findings)


def test_long_ids_that_begin_alike_stay_apart_and_stable() -> None:
    lines = [f"FAILED a.py::test_p[{'x' * 600}{end}] - no" for end in "ab"]
    output = "\n".join(["=== short test summary info ===", *lines])
    names = [finding.id for finding in parse("pytest", output, failed=True).findings]
    assert len(set(names)) == 2
    assert names == [finding.id for finding in parse("pytest", output, failed=True).findings]
    assert all(re.search(r"\u2026[0-9a-f]{8}$", name) for name in names)


def test_quoted_failures_are_not_findings() -> None:
    output = (
        "____ test_report ____\n---- Captured stdout call ----\nFAILED tests/fake.py::test_fake - claimed\n"
        "=== short test summary info ===\nFAILED a.py::test_report - assert 0\n1 failed in 0.10s\n"
    )
    assert [finding.id for finding in parse("pytest", output, failed=True).findings] == ["a.py::test_report"]
