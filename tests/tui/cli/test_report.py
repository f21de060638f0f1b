"""Progress and report in plain words: what isn't known is said, and nothing of a run's text can drive a terminal."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from runtime.events.base import Event
from runtime.events.checks import VerifyFinished
from runtime.events.loop import AttemptFinished, RoundFinished, ToolFinished
from runtime.events.values import Cause, Comparison, DiffStat, StepStatus, StopReason, Verdict
from runtime.usage import Usage
from runtime.view import RunView
from runtime.view.model import AttemptRow
from tui.cli import json_line
from tui.report import Progress, report

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202e back\r\nnew line\x00"
DRIVES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]")


def told(event: Event, view: RunView | None = None) -> list[str]:
    """The progress lines of an event."""
    return list(Progress().lines(event.stamped("r1", 1, datetime.now(UTC), 0), view or RunView()))


def test_a_failed_tool_that_printed_nothing() -> None:
    for content in ("", "\n", "   "):
        event = ToolFinished(
            attempt=1, round=1, step=1, call_id="c", tool="shell", status=StepStatus.FAILED, content=content
        )
        assert told(event) == ["    failed: nothing printed"]


def test_what_is_not_known_is_said() -> None:
    event = RoundFinished(attempt=1, round=1, leg=1, model="m", stop="end_turn", usage=Usage(), latency_ms=12_000)
    assert told(event) == ["  round 1: fresh ?, written ?, read ?, out ?; ?; 12 s"]


def test_hostile_text_is_one_visible_line() -> None:
    event = VerifyFinished(attempt=1, step=1, of=1, name="", command=HOSTILE, verdict=Verdict.FAILED, summary=HOSTILE)
    (line,) = told(event)
    assert not DRIVES.search(line)
    assert "\n" not in line


@given(st.text(max_size=60))
def test_no_text_of_a_run_drives_a_terminal(text: str) -> None:
    row = AttemptRow(attempt=1, attempt_of_leg=1, leg=1, model=text, started_ms=0, first_failure=text)
    row = replace(row, comparison=Comparison(new=(text,)), cause=Cause.NEW)
    view = RunView(
        run="r1",
        task=text,
        repo=text,
        models=(text,),
        attempts=(row,),
        detail=text,
        summary=text,
        delivered=text,
        diff=DiffStat(files=1),
        reason=StopReason.GAVE_UP,
    )
    assert not DRIVES.search(report(view))


@given(st.text(max_size=60))
def test_json_lines_mean_the_same_and_show_everything(text: str) -> None:
    line = json_line(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(line) == {"text": text}
    assert not DRIVES.search(line)
    assert "\u2028" not in line


def test_an_attempt_in_words() -> None:
    event = AttemptFinished(
        attempt=2,
        passed=False,
        comparison=Comparison(fixed=("a", "b"), new=("c",), still=("d",)),
        cause=Cause.NEW,
        diff=DiffStat(files=1, added=14, removed=6),
    )
    assert told(event) == ["attempt 2 not passed (new): 2 fixed, 1 new, 1 still failing; +14 -6"]


def test_an_attempt_that_was_not_verified() -> None:
    row = AttemptRow(attempt=1, attempt_of_leg=1, leg=1, model="m", started_ms=0)
    (line,) = (line for line in report(RunView(run="r1", attempts=(row,))).splitlines() if line.startswith("attempt"))
    assert line.startswith("attempt 1   not verified; 0 rounds, ")
