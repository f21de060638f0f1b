"""The stream's model: the same entries however events come, bounded, and with what matters in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.events.loop import OutputDelta, TextDelta
from runtime.events.supervision import UnknownEvent
from support.event_streams import Script
from support.sample_runs import fleet, hostile_run, main_run
from tui.paint import transcript as module
from tui.paint.entries import Entry
from tui.paint.spans import cells
from tui.paint.transcript import Transcript


def drawn(transcript: Transcript, width: int = 80, wrapped: bool = True) -> list[str]:
    """Every line as text."""
    return [
        "".join(text for text, _ in entry.row(y, width, wrapped, 0))
        for entry in transcript.entries
        for y in range(entry.height(width, wrapped))
    ]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=12))
def test_any_chunking_draws_the_same(sizes: list[int]) -> None:
    events = main_run().events
    whole, pieces = Transcript(), Transcript()
    whole.take(events)
    at = turn = 0
    while at < len(events):
        pieces.take(events[at : at + sizes[turn % len(sizes)]])
        drawn(pieces)
        at, turn = at + sizes[turn % len(sizes)], turn + 1
    assert drawn(pieces) == drawn(whole)


def test_events_twice_or_old_change_nothing() -> None:
    events = main_run().events
    transcript = Transcript()
    transcript.take(events)
    before = drawn(transcript)
    assert transcript.take(events) == []
    assert drawn(transcript) == before


def test_streamed_text_is_complete_and_exact() -> None:
    script = Script("t1").open("x")
    script.attempt_begins(1)
    script.round = 1
    text = "".join(f"Zeile {n} 空👍 " + ("\n" if n % 7 == 0 else "") for n in range(400))
    for at in range(0, len(text), 3):
        script.add(TextDelta(round=1, text=text[at : at + 3]))
    transcript = Transcript()
    for event in script.events:
        transcript.take([event])
    said = next(entry for entry in transcript.entries if entry.kind == "text")
    assert "\n".join(said.body) == text
    assert all(cells(line) <= 60 for line in drawn(transcript, 60))


def test_output_is_bounded_and_says_what_is_left_out() -> None:
    script = Script("t2").open("x")
    script.attempt_begins(1).tool("shell", {"command": "yes"}, "", finish=False)
    for n in range(300):
        script.add(OutputDelta(step=1, text="".join(f"y {n} {k}\n" for k in range(100))))
    transcript = Transcript()
    transcript.take(script.events)
    entry = transcript.entries[-1]
    assert len(entry.body) <= 2_000
    assert entry.dropped + len(entry.body) == 300 * 100 + 1
    assert "earlier lines" in "\n".join(drawn(transcript))


def test_trimming_drops_the_oldest_entries_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES_KEPT", 10)
    transcript = Transcript()
    transcript.take(main_run().events)
    last = transcript.entries[-10:]
    assert transcript.trim() > 0
    assert transcript.entries == last
    assert transcript.first_seq == last[0].seq


def test_older_pages_go_in_front() -> None:
    events = main_run().events
    late, early = Transcript(), Transcript()
    late.take(events[30:])
    early.take(events[:30])
    late.prepend(early)
    assert late.first_seq == 1
    assert [entry.seq for entry in late.entries] == sorted(entry.seq for entry in late.entries)


def test_pages_that_begin_in_the_middle_of_things_are_drawn() -> None:
    for events in [*fleet().values(), hostile_run().events]:
        for start in range(len(events)):
            transcript = Transcript()
            transcript.take(events[start:])
            drawn(transcript)


def test_events_of_a_newer_version_pass() -> None:
    transcript = Transcript()
    transcript.take([UnknownEvent(type="tool_finished", seq=1), UnknownEvent(type="quantum_leap", seq=2)])
    assert drawn(transcript) == []


def test_folding_shows_and_hides_the_rest() -> None:
    transcript = Transcript()
    transcript.take(main_run().events)
    read = next(entry for entry in transcript.entries if any("read_file" in text for text, _ in entry.head))
    folded = read.height(80, True)
    assert folded == 1
    read.toggle()
    assert read.height(80, True) == 1 + len(read.body) == 29


def test_an_output_without_end_does_not_push_out_what_came_before_it() -> None:
    script = Script("t1").open("x").prepared(()).leg_begins("claude-sonnet-5-5").attempt_begins(1, "the task")
    script.think("I'll look.\n")
    script.tool("shell", {"command": "yes"}, "", finish=False)
    transcript = Transcript()
    transcript.take(script.events)
    before = [entry.seq for entry in transcript.entries]
    block = "".join(f"line {n} of an output without end\n" for n in range(2_000))
    for _ in range(100):
        transcript.take([script.add(OutputDelta(step=1, text=block))])
        transcript.trim()
    assert [entry.seq for entry in transcript.entries] == before
    assert all(entry.size == sum(map(len, entry.body)) for entry in transcript.entries)


@given(st.lists(st.text(st.sampled_from("ab\n"), max_size=40), max_size=30))
def test_an_entry_knows_its_size(pieces: list[str]) -> None:
    entry = Entry("text", 1)
    for piece in pieces:
        entry.append(piece)
    assert "\n".join(entry.body) == "".join(pieces)
    assert entry.size == sum(map(len, entry.body))
