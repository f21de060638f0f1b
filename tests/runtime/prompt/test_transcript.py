"""The transcript: whatever a model says, every request is one that both APIs take, and begins with the request before it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.models import anthropic_wire, openai_wire
from runtime.models.base import Message, Request, Text, Thinking, ToolCall, ToolResult
from runtime.prompt.transcript import GO_ON, INTERRUPTED, NO_OUTPUT, Transcript
from support.cache_model import CacheModel, without_marks
from support.chat_rules import check_chat
from support.messages_rules import check_request
from support.transcripts import Move, Play, moves


def messages_body(request: Request) -> dict[str, Any]:
    return anthropic_wire.request_body(request, {"type": "adaptive"})


def messages_text(body: dict[str, Any]) -> str:
    """The messages without marks, cut where the last one may still grow."""
    return json.dumps(without_marks(body["messages"])).removesuffix("]}]")


@settings(max_examples=200, deadline=None)
@given(st.lists(moves, max_size=8))
def test_every_request_is_taken_and_begins_with_the_one_before(played: list[Move]) -> None:
    play = Play()
    play.transcript.add_user("Fix it.")
    before = after = play.request()
    check_request(messages_body(before))
    for move in played:
        play.move(move)
        before, after = after, play.request()
        body = messages_body(after)
        check_request(body)
        assert messages_text(body).startswith(messages_text(messages_body(before)))
        for constant in ("tools", "system", "thinking"):
            assert json.dumps(body[constant]) == json.dumps(messages_body(before)[constant])
        chat, old = openai_wire.request_body(after), openai_wire.request_body(before)
        check_chat(chat)
        assert json.dumps(chat["messages"]).startswith(json.dumps(old["messages"])[:-1])
        json.dumps(body, ensure_ascii=False).encode()


@pytest.mark.parametrize("width", [1, 3, 19, 20, 21, 60])
def test_parallel_calls_of_any_width_keep_the_cache(width: int) -> None:
    """Each round reads all that the round before read or wrote, and nothing is sent fresh."""
    cache = CacheModel(lambda: 0.0)
    play = Play()
    play.transcript.add_user("Fix it. " * 600)
    known = 0
    for number in range(6):
        counted = cache.count(messages_body(play.request()))
        cache.commit(counted)
        assert (counted.read, counted.fresh) == (known, 0)
        known = counted.read + counted.written_5m
        calls = [ToolCall(id=f"c{number}-{n}", name="shell", arguments={"command": "ls"}) for n in range(width)]
        play.transcript.add_reply(calls)
        play.transcript.add_results([ToolResult(call_id=call.id, content="out " * 50) for call in calls])


def test_ids_that_come_again_confuse_nothing() -> None:
    transcript = Transcript()
    transcript.add_user("Fix it.")
    for answer in ("first", "second"):
        transcript.add_reply([ToolCall(id=f"call-{n}", name="shell", arguments={}) for n in (1, 2, 3)])
        transcript.add_results([ToolResult(call_id=f"call-{n}", content=f"{answer} {n}") for n in (3, 1)])
    results = [b for m in transcript.messages for b in m.blocks if isinstance(b, ToolResult)]
    assert [r.content for r in results] == ["first 1", INTERRUPTED, "first 3", "second 1", INTERRUPTED, "second 3"]
    assert len({r.call_id for r in results}) == 6
    assert [r.is_error for r in results] == [False, True, False] * 2


def test_what_the_model_sent_first_keeps_its_id_and_name() -> None:
    transcript = Transcript()
    transcript.add_user("Fix it.")
    call = ToolCall(id="toolu_01AbC", name="shell", arguments={"command": "ls"})
    transcript.add_reply([call])
    assert transcript.messages[1].blocks == (call,)


def test_nothing_empty_is_kept() -> None:
    transcript = Transcript()
    transcript.add_user("Fix it.")
    for blocks in ([], [Text(text=" \n")], [Thinking(text="hm", data={"type": "thinking"})]):
        transcript.add_reply(blocks)
    assert len(transcript.messages) == 1
    transcript.add_reply([Text(text=""), ToolCall(id="a", name="shell", arguments={})])
    transcript.add_results([ToolResult(call_id="a", content=" \n")])
    assert [len(message.blocks) for message in transcript.messages] == [1, 1, 1]
    assert transcript.messages[-1].blocks == (ToolResult(call_id="a", content=NO_OUTPUT),)
    with pytest.raises(ValueError, match="empty"):
        transcript.add_user("  ")


def test_a_request_never_ends_with_the_models_own_words() -> None:
    transcript = Transcript([Message(role="user", blocks=(Text(text="Fix it."),))])
    transcript.add_reply([Text(text="I pause here.")])
    transcript.close_calls()
    transcript.close_calls()
    assert transcript.messages[-1] == Message(role="user", blocks=(Text(text=GO_ON),))


def test_text_after_results_joins_their_message() -> None:
    transcript = Transcript()
    transcript.add_user("Fix it.")
    transcript.add_reply([ToolCall(id="a", name="shell", arguments={})])
    transcript.add_user("Stop that.")
    blocks = transcript.messages[-1].blocks
    assert blocks == (
        ToolResult(call_id="a", content=INTERRUPTED, is_error=True),
        Text(text="Stop that."),
    )
