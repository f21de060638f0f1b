"""Answers as servers really send them: wrong types, missing fields, odd streams. Nothing of it crashes or becomes a wrong figure."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from runtime.models.anthropic import AnthropicModel
from runtime.models.base import (
    CallFault,
    Message,
    Model,
    ModelCallError,
    Reply,
    Request,
    Stop,
    Text,
    TextPiece,
    Thinking,
    ToolCall,
    UsageSoFar,
)
from runtime.models.openai import OpenAIModel
from runtime.models.wire import arguments_of, fault_of_status, retry_after_s
from runtime.prompt.transcript import Transcript
from runtime.tools.registry import tool_specs
from support.http_loopback import Connection, Loopback, Received
from support.scripted_server import ScriptedServer, Turn, call, refuse, text

TOOLS = tool_specs()
ASKED = Request(
    model="claude-sonnet-5-5",
    system=("s",),
    tools=(),
    messages=(Message(role="user", blocks=(Text(text="Fix it."),)),),
    max_output_tokens=100,
)


@asynccontextmanager
async def speaking(events: list[Any], content_type: str = "text/event-stream") -> AsyncIterator[str]:
    """A server that says just these events: objects by their type, or text as it is."""

    async def handler(_: Received, connection: Connection) -> None:
        await connection.begin_stream({"content-type": content_type})
        for event in events:
            await connection.event(event, event.get("type") if isinstance(event, dict) else None)
        await connection.end_stream()

    async with Loopback(handler) as server:
        yield server.url


async def answer_of(model: Model, asked: Request = ASKED) -> tuple[Reply, list[Any]]:
    try:
        pieces = [piece async for piece in model.stream(asked)]
    finally:
        await model.close()
    assert isinstance(pieces[-1], Reply)
    return pieces[-1], pieces


def claude(url: str) -> AnthropicModel:
    return AnthropicModel("claude-sonnet-5-5", "test-key", url)


def start(**message: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m1", "model": "x", "usage": {"input_tokens": 5}, **message}}


def end(stop: Any = "end_turn", usage: Any = None) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    ]


def words(piece: str) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}},
        {"type": "content_block_stop", "index": 0},
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "message_start"},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "something_new", "x": 1}},
        {"type": "content_block_delta", "index": None, "delta": None},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "something_new"}},
        {"type": "content_block_stop"},
        {"type": "something_new", "index": 0},
        {"type": "message_delta", "delta": {"stop_details": "words"}, "usage": "many"},
    ],
    ids=json.dumps,
)
async def test_odd_events_leave_the_rest_standing(odd: dict[str, Any]) -> None:
    async with speaking([start(), odd, *words("ok"), odd, *end(usage={"output_tokens": 3})]) as url:
        reply, _ = await answer_of(claude(url))
        assert reply.message.blocks == (Text(text="ok"),)
        assert (reply.stop, reply.usage.output) == (Stop.END_TURN, 3)


async def test_ids_of_the_wrong_type_are_no_ids() -> None:
    async with speaking([start(id=5, model=["x"]), *words("ok"), *end(usage={"output_tokens": 3})]) as url:
        reply, _ = await answer_of(claude(url))
        assert (reply.message_id, reply.model) == (None, "claude-sonnet-5-5")


@pytest.mark.parametrize("value", [-5, "many", 1.5, 10**30, 2_000_000, [1]])
async def test_nonsense_in_any_usage_field_is_unknown_with_the_reason(value: Any) -> None:
    bad = {"input_tokens": value, "cache_read_input_tokens": value, "cache_creation_input_tokens": value}
    async with speaking([start(usage=bad), *words("ok"), *end(usage={"output_tokens": value})]) as url:
        reply, pieces = await answer_of(claude(url))
        usage = reply.usage
        assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (None, None, None, None)
        assert any("input_tokens as" in note for note in reply.usage_notes)
        assert any("output_tokens as" in note for note in reply.usage_notes)
        assert len([piece for piece in pieces if isinstance(piece, UsageSoFar)]) == 2


async def test_an_output_that_was_never_counted_to_its_end_is_unknown() -> None:
    async with speaking([start(usage={"input_tokens": 5, "output_tokens": 1}), *words("ok"), *end()]) as url:
        reply, _ = await answer_of(claude(url))
        assert (reply.usage.input, reply.usage.output) == (5, None)
        assert "the server did not report output tokens" in reply.usage_notes


async def test_lone_surrogates_become_storable() -> None:
    block = {"type": "tool_use", "id": "a", "name": "shell", "input": {}}
    raw = json.dumps({"command": "echo \ud800", "\udfff": ["\x00"]})
    events = [
        start(),
        *words("a\ud800b"),
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": raw}},
        {"type": "content_block_stop", "index": 1},
        *end("tool_use", {"output_tokens": 3}),
    ]
    async with speaking(events) as url:
        reply, pieces = await answer_of(claude(url))
        reply.model_dump_json().encode()
        assert [piece.text for piece in pieces if isinstance(piece, TextPiece)] == ["a\ufffdb"]
        assert reply.message.blocks[1:] == (
            ToolCall(id="a", name="shell", arguments={"command": "echo \ufffd", "\ufffd": ["\u2400"]}, raw=raw),
        )


async def test_an_event_that_is_not_json_is_a_cut() -> None:
    async with ScriptedServer([text("partly", fault="not json")]) as server:
        for model in (claude(server.url), OpenAIModel("q", server.url)):
            with pytest.raises(ModelCallError) as caught:
                await answer_of(model)
            assert caught.value.fault is CallFault.CUT
            assert caught.value.usage is not None


async def test_a_model_that_thinks_in_silence_is_asked_for_a_summary() -> None:
    async with ScriptedServer([text("ok")]) as server:
        for name, thinking in (
            ("claude-sonnet-5-5", {"type": "adaptive", "display": "summarized"}),
            ("claude-sonnet-4-6", {"type": "adaptive"}),
            ("claude-haiku-4-5", None),
        ):
            model = AnthropicModel(name, "test-key", server.url)
            await answer_of(model, ASKED.model_copy(update={"model": name}))
            assert server.bodies[-1].get("thinking") == thinking
            assert "temperature" not in server.bodies[-1]


async def test_the_apis_own_diagnosis_is_asked_for_and_told() -> None:
    async with ScriptedServer([text("ok")]) as server:
        model = claude(server.url)
        seen = []
        for system in ("s", "s", "t"):
            pieces = [piece async for piece in model.stream(ASKED.model_copy(update={"system": (system,)}))]
            seen.append(pieces[-1].cache_miss if isinstance(pieces[-1], Reply) else "no reply")
        await model.close()
        assert seen == [None, None, "system_changed"]
        asked = [body["diagnostics"]["previous_message_id"] for body in server.bodies]
        assert asked == [None, "msg_1", "msg_2"]


async def test_a_server_that_does_not_know_diagnostics_is_asked_once() -> None:
    async with ScriptedServer([text("ok")], diagnostics=False) as server:
        model = claude(server.url)
        for _ in range(3):
            assert [piece async for piece in model.stream(ASKED)]
        await model.close()
        assert len(server.rules) == 1
        assert len(server.bodies) == 3


async def test_reasoning_that_came_goes_back_where_the_history_is_the_same() -> None:
    turn = Turn(
        [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking", "data": "xyz"}, *call("shell").blocks],
        "tool_use",
    )
    async with ScriptedServer([turn, text("ok")]) as server:
        transcript = Transcript()
        transcript.add_user("Fix it.")
        reply, _ = await answer_of(claude(server.url), ASKED.model_copy(update={"tools": TOOLS}))
        assert [type(block) for block in reply.message.blocks] == [Thinking, Thinking, ToolCall]
        transcript.add_reply(reply.message.blocks)
        transcript.close_calls()
        again = ASKED.model_copy(update={"tools": TOOLS, "messages": transcript.messages})
        await answer_of(claude(server.url), again)
        assert server.rules == []
        assert [block["type"] for block in server.bodies[1]["messages"][1]["content"]] == [
            "thinking",
            "redacted_thinking",
            "tool_use",
        ]
        changed = (Message(role="user", blocks=(Text(text="Other."),)), *transcript.messages[1:])
        with pytest.raises(ModelCallError, match="prefix mismatch"):
            await answer_of(claude(server.url), again.model_copy(update={"messages": changed}))


def chunk(delta: dict[str, Any] | None = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c1", "model": "q", "choices": choices, **more}


def piece(index: int | None, call_id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    one: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        one["index"] = index
    if call_id is not None:
        one["id"] = call_id
    return {"tool_calls": [one]}


async def chat(events: list[Any]) -> tuple[Reply, list[Any]]:
    async with speaking(events) as url:
        return await answer_of(OpenAIModel("q", url))


@pytest.mark.parametrize(
    "deltas",
    [
        [piece(0, "a", "shell", '{"n":'), piece(0, None, None, "1}"), piece(1, "b", "shell", '{"n": 2}')],
        [piece(None, "a", "shell", '{"n":'), piece(None, None, None, "1}"), piece(None, "b", "shell", '{"n": 2}')],
        [piece(0, "a", "shell", '{"n": 1}'), piece(0, "b", "shell", '{"n": 2}')],
        [piece(0, "a", "shell", '{"n":'), piece(1, "b", "shell", '{"n": 2}'), piece(0, "a", None, "1}")],
    ],
    ids=["in order", "no index", "index twice", "interleaved"],
)
async def test_fragments_of_parallel_calls_are_sorted(deltas: list[dict[str, Any]]) -> None:
    reply, _ = await chat([*(chunk(delta) for delta in deltas), chunk({}, "tool_calls"), "[DONE]"])
    calls = [block for block in reply.message.blocks if isinstance(block, ToolCall)]
    assert [(c.id, c.arguments) for c in calls] == [("a", {"n": 1}), ("b", {"n": 2})]
    assert reply.stop is Stop.TOOL_USE


async def test_line_ends_of_unicode_inside_a_chunk_cut_nothing() -> None:
    odd = "one\u2028two\u0085three\x0bfour"
    reply, _ = await chat([json.dumps(chunk({"content": odd}), ensure_ascii=False), chunk({}, "stop"), "[DONE]"])
    assert reply.message.blocks == (Text(text=odd),)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": None}, (100, 5, None)),
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}}, (100, 5, 0)),
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 200}}, (100, 5, None)),
        ({"prompt_tokens": -1, "completion_tokens": "x"}, (None, None, None)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (None, 0, None)),
    ],
)  # fmt: skip
async def test_chat_usage_of_every_kind(usage: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    reply, _ = await chat([chunk({"content": "ok"}), chunk({}, "stop"), chunk(usage=usage), "[DONE]"])
    assert (reply.usage.input, reply.usage.output, reply.usage.cache_read) == expected
    assert reply.usage.estimated == ()
    if None in expected:
        assert reply.usage_notes


async def test_running_chat_usage_is_replaced_and_never_added() -> None:
    events = [
        chunk({"content": "a"}, usage={"prompt_tokens": 100, "completion_tokens": 1}),
        chunk({"content": "b"}, usage={"completion_tokens": 2}),
        chunk({}, "stop"),
        chunk(usage={"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 64}}),
        "[DONE]",
    ]
    reply, pieces = await chat(events)
    assert [p.usage.output for p in pieces if isinstance(p, UsageSoFar)] == [1, 2, 3]
    assert (reply.usage.prompt, reply.usage.input, reply.usage.cache_read) == (100, 36, 64)


async def test_timings_are_usage_too() -> None:
    timings = {"cache_n": 90, "prompt_n": 10, "predicted_n": 4}
    reply, _ = await chat([chunk({"content": "ok"}), chunk({}, "stop", timings=timings), "[DONE]"])
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.output) == (10, 90, 4)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", Stop.END_TURN), ("length", Stop.MAX_TOKENS), ("content_filter", Stop.REFUSAL), ("odd", Stop.UNKNOWN)],
)
async def test_finish_reasons(finish: str, stop: Stop) -> None:
    reply, _ = await chat([chunk({"content": "ok"}), chunk({}, finish), "[DONE]"])
    assert (reply.stop, reply.stop_detail) == (stop, finish)


async def test_a_call_is_a_call_whatever_the_finish_reason() -> None:
    reply, _ = await chat([chunk(piece(0, "a", "shell", "{}")), chunk({}, "stop"), "[DONE]"])
    assert reply.stop is Stop.TOOL_USE


async def test_an_orderly_end_without_a_finish_reason_is_unknown_and_no_crash() -> None:
    reply, _ = await chat([chunk({"content": "ok"}), chunk({}, 5), "[DONE]"])
    assert (reply.stop, reply.stop_detail) == (Stop.UNKNOWN, "no finish reason")


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"message": "overloaded", "type": "overloaded_error"}, CallFault.OVERLOADED),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, CallFault.RATE_LIMITED),
        ({"message": "maximum context length is 4096", "code": 400}, CallFault.CONTEXT_FULL),
        ("out of memory", CallFault.SERVER),
    ],
)
async def test_an_error_inside_a_chat_stream_is_told_apart(error: Any, fault: CallFault) -> None:
    with pytest.raises(ModelCallError) as caught:
        await chat([chunk({"content": "ok"}), {"error": error}])
    assert caught.value.fault is fault


async def test_a_chat_answer_that_is_no_stream_is_read_all_the_same() -> None:
    turn = Turn([{"type": "text", "text": "ok"}, *call("shell", "a", command="ls").blocks], "tool_use", fault="whole")
    async with ScriptedServer([turn]) as server:
        reply, _ = await answer_of(OpenAIModel("q", server.url))
        assert reply.message.blocks[0] == Text(text="ok")
        assert isinstance(reply.message.blocks[1], ToolCall)
        assert reply.usage.prompt == server.chat_counted[0][0]


async def test_an_unknown_model_is_not_found() -> None:
    async with ScriptedServer([text("ok")], models=["other"]) as server:
        for model in (claude(server.url), OpenAIModel("q", server.url)):
            with pytest.raises(ModelCallError) as caught:
                await answer_of(model)
            assert caught.value.fault is CallFault.NOT_FOUND


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_the_base_url_may_be_written_either_way(path: str) -> None:
    async with ScriptedServer([text("ok")]) as server:
        reply, _ = await answer_of(OpenAIModel("q", server.url + path))
        assert reply.message.blocks == (Text(text="ok"),)
        assert "authorization" not in server.received[0].headers


async def test_a_full_context_is_known_by_its_words() -> None:
    turn = refuse(400, "invalid_request_error")
    turn.words = "prompt is too long: 210000 tokens > 200000 maximum"
    async with ScriptedServer([turn]) as server:
        for model in (claude(server.url), OpenAIModel("q", server.url)):
            with pytest.raises(ModelCallError) as caught:
                await answer_of(model)
            assert caught.value.fault is CallFault.CONTEXT_FULL


@pytest.mark.parametrize(
    "raw", ['{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', "[" * 100_000, '{"a": ' * 50_000, "null", "", '{"a": 1']
)
def test_arguments_that_could_not_be_sent_back_are_none(raw: str) -> None:
    assert arguments_of(raw) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Tue, 01 Dec 2026 10:00:30 GMT"}, 30.0),
        ({"retry-after": "Tue, 01 Dec 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, now_s=1_796_119_200.0) == seconds


@pytest.mark.parametrize(
    ("status", "kind", "text", "fault"),
    [
        (429, "insufficient_quota", "", CallFault.QUOTA),
        (429, "rate_limit_error", "This request would exceed your enforced spend limit", CallFault.QUOTA),
        (400, "invalid_request_error", "Your credit balance is too low", CallFault.QUOTA),
        (200, "overloaded_error", "", CallFault.OVERLOADED),
        (200, "invalid_request_error", "", CallFault.INVALID),
        (200, "", "", CallFault.SERVER),
        (413, "request_too_large", "", CallFault.CONTEXT_FULL),
        (504, "timeout_error", "", CallFault.SERVER),
        (418, "", "", CallFault.INVALID),
    ],
)
def test_failures_are_told_apart(status: int, kind: str, text: str, fault: CallFault) -> None:
    assert fault_of_status(status, kind, text) is fault
