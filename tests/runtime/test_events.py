"""The vocabulary: every event survives its way over a line of JSON, unknown ones too; the bus isolates; the fold is pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus import Bus, Inbox
from runtime.commands import SetCap, Steer, command_from_dict, command_from_json, command_names
from runtime.emitter import Emitter
from runtime.errors import UsageError
from runtime.events.base import Event
from runtime.events.codec import event_from_json, event_to_json, event_types
from runtime.events.loop import RoundFinished, RunQueued, TextDelta
from runtime.events.supervision import Notice, UnknownEvent
from runtime.events.values import RunSettings
from runtime.models.base import Text, ToolCall
from runtime.usage import Usage
from runtime.view import RunView, fold, fold_all
from runtime.view.fold import HANDLERS

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
REQUIRED = {
    "run_queued", "run_prepared", "attempt_started", "round_started", "text_delta", "tool_called", "tool_finished", "round_finished",
    "cache_diagnosed", "transport_retried", "verify_started", "verify_finished", "attempt_finished", "recovery_decided",
    "stoploss_scored", "cap_changed", "budget_changed", "command_accepted", "command_refused", "steer_delivered",
    "approval_requested", "approval_given", "leg_started", "model_switched", "window_taken", "compacted", "run_held", "run_paused",
    "run_resumed", "run_aborted", "run_finished",
}  # fmt: skip


def stamped(event: Event, seq: int = 1) -> Event:
    return event.stamped("r1", seq, NOW, 10 * seq)


def test_the_vocabulary_has_every_type_and_the_fold_knows_each() -> None:
    assert set(event_types()) >= REQUIRED
    assert set(HANDLERS) == set(event_types())


@pytest.mark.parametrize("tag", sorted(event_types()))
def test_events_are_frozen_and_carry_a_flat_envelope(tag: str) -> None:
    kind = event_types()[tag]
    assert kind.model_config["frozen"]
    assert {"v", "run", "seq", "type", "at", "mono_ms"} <= set(kind.model_fields)


def test_an_event_is_one_line_with_its_time_and_offset() -> None:
    event = stamped(
        TextDelta(round=1, text="two\nlines \ud83d\ude00 \u2028 end".encode("utf-16", "surrogatepass").decode("utf-16"))
    )
    line = event_to_json(event)
    assert "\n" not in line
    data = json.loads(line)
    assert (data["run"], data["seq"], data["type"]) == ("r1", 1, "text_delta")
    assert datetime.fromisoformat(data["at"]).utcoffset() is not None
    assert event_from_json(line) == event


def test_nested_values_come_back_as_they_went() -> None:
    reply = (Text(text="hm"), ToolCall(id="a", name="shell", arguments={"command": "ls", "n": [1, None]}))
    event = stamped(
        RoundFinished(
            attempt=1, round=1, leg=1, model="m", stop="tool_use", usage=Usage(input=1), latency_ms=3, reply=reply
        )
    )
    assert event_from_json(event_to_json(event)) == event


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda n: n not in Event.model_fields),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=9), st.lists, max_leaves=5
        ),
        max_size=4,
    )
)
def test_what_a_newer_looptop_adds_is_kept(more: dict[str, Any]) -> None:
    base = {"v": 9, "run": "r1", "seq": 4, "at": NOW.isoformat(), "mono_ms": 1}
    unknown = event_from_json(json.dumps({**base, **more, "type": "from_the_future"}))
    assert isinstance(unknown, UnknownEvent)
    known = event_from_json(json.dumps({**more, **base, "type": "notice", "text": "hi", "level": "info"}))
    for event in (unknown, known):
        data = json.loads(event_to_json(event))
        assert {name: data[name] for name in more if name not in ("text", "level")} == {
            name: value for name, value in more.items() if name not in ("text", "level")
        }


@pytest.mark.parametrize("line", ["", "nonsense", "[]", "{}", '{"type": 3}', '{"type": "notice", "seq": "many"}'])
def test_what_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|event"):
        event_from_json(line)


class Kept:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        self.events.append(event)

    async def flush(self) -> None:
        return


class Stopped:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 5.0


def test_numbers_have_no_gaps_and_the_record_comes_before_the_bus() -> None:
    kept, order = Kept(), []
    emitter = Emitter("r1", kept, lambda event: order.append((event.seq, len(kept.events))), Stopped(), next_seq=7)
    for n in range(3):
        emitter.emit(Notice(text=str(n)))
    assert [event.seq for event in kept.events] == [7, 8, 9]
    assert order == [(7, 1), (8, 2), (9, 3)]


def test_a_subscriber_that_fails_hurts_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    bus, woken = Bus(), []
    inbox = Inbox(lambda: woken.append(1))

    def fails(_: Event) -> None:
        raise RuntimeError("mine alone")

    bus.subscribe(fails)
    unsubscribe = bus.subscribe(inbox)
    bus.publish(stamped(Notice(text="a"), 1))
    bus.publish(stamped(Notice(text="b"), 2))
    assert [event.seq for event in inbox.drain()] == [1, 2]
    assert woken == [1]
    assert "mine alone" in caplog.text
    unsubscribe()
    bus.publish(stamped(Notice(text="c"), 3))
    assert inbox.drain() == []


def test_the_fold_ignores_what_it_has_seen_and_changes_no_view() -> None:
    queued = stamped(RunQueued(repo="/r", project="p", settings=RunSettings(model="m")))
    first = fold(RunView(), queued)
    empty = RunView()
    assert fold(first, queued) is first
    assert fold(empty, queued) == first
    assert empty == RunView()
    later = fold_all([queued, stamped(Notice(text="x"), 2), stamped(Notice(text="x"), 2)])
    assert (later.seq, later.notices) == (2, ("x",))


def test_an_unknown_event_is_counted_and_moves_the_view_on() -> None:
    event = event_from_json('{"v":9,"run":"r1","seq":3,"type":"new","at":"2026-12-01T00:00:00Z","mono_ms":1}')
    view = fold(RunView(), event)
    assert (view.seq, view.unknown_events) == (3, 1)


def test_commands_are_checked_and_absolute() -> None:
    assert command_from_json('{"command": "set_cap", "cap": 4, "id": "x"}') == SetCap(id="x", cap=4)
    assert len(set(command_names())) == 13
    assert Steer(text="a").id != Steer(text="a").id


@pytest.mark.parametrize(
    "data",
    [
        {"command": "set_cap", "cap": 0},
        {"command": "set_cap", "cap": 21},
        {"command": "set_budget", "kind": "tokens", "value": -1},
        {"command": "set_budget", "kind": "tokens", "value": float("nan")},
        {"command": "steer", "text": ""},
        {"command": "raise_budget", "value": 1},
        {},
    ],
)
def test_a_command_that_is_not_valid_is_one_sentence(data: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is not valid"):
        command_from_dict(data)
