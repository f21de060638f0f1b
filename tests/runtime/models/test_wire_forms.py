"""Both adapters against a scripted server on the loopback: what is sent, what is read, what goes wrong."""

from __future__ import annotations

import random
from typing import Any

import pytest

from runtime.models.anthropic import AnthropicModel
from runtime.models.base import (
    CallFault,
    CallRetried,
    Mark,
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
    ToolResult,
    Ttl,
    UsageSoFar,
)
from runtime.models.openai import OpenAIModel
from runtime.models.transport import RetryPolicy, Transport
from runtime.tools.registry import tool_specs
from support.scripted_server import ScriptedServer, Turn, call, refuse, text

SYSTEM = ("You fix software. " * 40,)


def request(*messages: Message, **more: Any) -> Request:
    opening = (Message(role="user", blocks=(Text(text="Fix it."),)),)
    return Request(
        **{
            "model": "claude-sonnet-5-5",
            "system": SYSTEM,
            "tools": tool_specs(),
            "messages": messages or opening,
            "max_output_tokens": 1000,
            "marks": (Mark(message=0, block=0),),
            **more,
        }
    )


def claude(server: ScriptedServer) -> AnthropicModel:
    return AnthropicModel("claude-sonnet-5-5", "test-key", server.url)


def qwen(server: ScriptedServer) -> OpenAIModel:
    return OpenAIModel("Qwen/Qwen3-Coder", server.url + "/v1")


ADAPTERS = [claude, qwen]


async def pieces(model: Model, asked: Request | None = None) -> list[Any]:
    try:
        return [piece async for piece in model.stream(asked or request())]
    finally:
        await model.close()


async def reply_of(model: Model, asked: Request | None = None) -> Reply:
    last = (await pieces(model, asked))[-1]
    assert isinstance(last, Reply)
    return last


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_text_streams_and_comes_whole(adapter: Any) -> None:
    async with ScriptedServer([text("The cause is a wrong comparison in page.py.")]) as server:
        got = await pieces(adapter(server))
        assert "".join(p.text for p in got if isinstance(p, TextPiece)) == "The cause is a wrong comparison in page.py."
        assert got[-1].message.blocks == (Text(text="The cause is a wrong comparison in page.py."),)
        assert got[-1].stop is Stop.END_TURN
        assert server.rules == []


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_parallel_calls_keep_their_order_and_arguments(adapter: Any) -> None:
    turn = Turn([call("shell", f"id_{n}", command=f"echo {n} " + "x" * 90).blocks[0] for n in range(4)], "tool_use")
    async with ScriptedServer([turn]) as server:
        reply = await reply_of(adapter(server))
        calls = [block for block in reply.message.blocks if isinstance(block, ToolCall)]
        assert [(c.id, c.arguments) for c in calls] == [
            (f"id_{n}", {"command": f"echo {n} " + "x" * 90}) for n in range(4)
        ]
        assert reply.stop is Stop.TOOL_USE


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_transcript_with_calls_and_results_is_accepted(adapter: Any) -> None:
    messages = (
        Message(role="user", blocks=(Text(text="Fix it."),)),
        Message(
            role="assistant",
            blocks=(
                Text(text="Looking."),
                ToolCall(id="a", name="shell", arguments={"command": "ls"}),
                ToolCall(id="b", name="shell", arguments=None),
            ),
        ),
        Message(
            role="user",
            blocks=(
                ToolResult(call_id="a", content="m.py"),
                ToolResult(call_id="b", content="cut", is_error=True),
                Text(text="Go on."),
            ),
        ),
    )
    async with ScriptedServer([text("ok")]) as server:
        await reply_of(adapter(server), request(*messages, marks=(Mark(message=0, block=0), Mark(message=2, block=2))))
        assert server.rules == []


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    "raw",
    ['{"path": "a.py"', '{"path": "a.py", "content": "x = ', '{"command": "rm -rf bui', "", "[1]", '"text"', "{]"],
)
@pytest.mark.parametrize("stop", ["max_tokens", "tool_use"])
async def test_cut_arguments_are_never_made_whole(adapter: Any, raw: str, stop: str) -> None:
    """Whatever the server claims as the finish reason."""
    turn = Turn([{"type": "tool_use", "id": "a", "name": "write_file", "input": {}, "raw": raw}], stop)
    async with ScriptedServer([turn]) as server:
        reply = await reply_of(adapter(server))
        (one,) = [block for block in reply.message.blocks if isinstance(block, ToolCall)]
        if raw == "" and stop == "tool_use":
            assert one.arguments == {}
        else:
            assert one.arguments is None
            assert one.raw == (raw or one.raw)


async def test_a_call_whose_block_never_closed_is_cut() -> None:
    turn = call("shell", command="echo done")
    turn.fault = "block not closed"
    async with ScriptedServer([turn]) as server:
        reply = await reply_of(claude(server))
        (one,) = reply.message.blocks
        assert isinstance(one, ToolCall)
        assert one.arguments is None


async def test_thinking_goes_back_as_it_came() -> None:
    thinking = {"type": "thinking", "thinking": "hm, \u00fc", "signature": "c2lnbmF0dXJl"}
    async with ScriptedServer([Turn([thinking, {"type": "text", "text": "ok"}]), text("again")]) as server:
        first = await reply_of(claude(server))
        assert isinstance(first.message.blocks[0], Thinking)
        then = (
            Message(role="user", blocks=(Text(text="Fix it."),)),
            first.message,
            Message(role="user", blocks=(Text(text="Go on."),)),
        )
        await reply_of(claude(server), request(*then))
        assert server.bodies[1]["messages"][1]["content"][0] == thinking


async def test_running_totals_replace_each_other() -> None:
    usages: list[dict[str, Any]] = [
        {"input_tokens": 25, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 0, "output_tokens": 1},
        {"output_tokens": 8},
        {"output_tokens": 15, "input_tokens": 25, "cache_read_input_tokens": 1000},
    ]
    async with ScriptedServer([text("ok", usage=usages)]) as server:
        got = await pieces(claude(server))
        assert [p.usage.output for p in got if isinstance(p, UsageSoFar)] == [1, 8, 15]
        usage = got[-1].usage
        assert (usage.input, usage.cache_read, usage.output) == (25, 1000, 15)


async def test_the_last_input_count_wins_where_a_tool_ran_on_the_server() -> None:
    usages = [{"input_tokens": 25, "output_tokens": 1}, {"output_tokens": 15, "input_tokens": 60}]
    async with ScriptedServer([text("ok", usage=usages)]) as server:
        assert (await reply_of(claude(server))).usage.input == 60


async def test_written_tokens_keep_their_lifetimes() -> None:
    split = {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600}
    usages = [
        {"input_tokens": 1, "cache_creation_input_tokens": 1000, "cache_creation": split, "output_tokens": 1},
        {"output_tokens": 2, "cache_creation_input_tokens": 1000},
    ]
    async with ScriptedServer([text("ok", usage=usages)]) as server:
        usage = (await reply_of(claude(server))).usage
        assert (usage.cache_write_5m, usage.cache_write_1h, usage.estimated) == (400, 600, ())


@pytest.mark.parametrize(("ttl", "five", "hour"), [(Ttl.MINUTES_5, 1000, 0), (Ttl.HOUR_1, 0, 1000)])
async def test_a_flat_write_count_is_assumed_to_be_what_was_asked_for(ttl: Ttl, five: int, hour: int) -> None:
    usages = [{"input_tokens": 1, "cache_creation_input_tokens": 1000, "output_tokens": 1}, {"output_tokens": 2}]
    async with ScriptedServer([text("ok", usage=usages)]) as server:
        usage = (await reply_of(claude(server), request(ttl=ttl))).usage
        assert (usage.cache_write_5m, usage.cache_write_1h) == (five, hour)
        assert len(usage.estimated) == 1


@pytest.mark.parametrize("bad", [None, -5, "many", 1.5])
async def test_a_nonsense_count_is_unknown_and_not_a_crash(bad: Any) -> None:
    async with ScriptedServer(
        [text("ok", usage=[{"input_tokens": 7, "output_tokens": bad}, {"output_tokens": bad}])]
    ) as server:
        usage = (await reply_of(claude(server))).usage
        assert (usage.input, usage.output) == (7, None)


async def test_chat_usage_holds_the_cached_part_inside_the_prompt() -> None:
    usage = {"prompt_tokens": 17903, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 17817}}
    async with ScriptedServer([text("ok", usage=[usage])]) as server:
        got = (await reply_of(qwen(server))).usage
        assert (got.prompt, got.input, got.cache_read) == (17903, 86, 17817)
        assert round(100 * (got.cache_share or 0), 1) == 99.5


async def test_chat_usage_without_cache_detail_is_not_reported() -> None:
    async with ScriptedServer([text("ok")], chat_usage="plain") as server:
        got = (await reply_of(qwen(server))).usage
        assert (got.input, got.cache_read, got.cache_share) == (server.chat_counted[0][0], None, None)


async def test_chat_without_usage_is_estimated_and_marked() -> None:
    async with ScriptedServer([text("eight by")], chat_usage="none") as server:
        got = (await reply_of(qwen(server))).usage
        assert got.output == 2
        assert got.input
        assert set(got.estimated) == {"input", "output"}


FAULTS: list[tuple[Turn, CallFault]] = [
    (refuse(429, "rate_limit_error", retry_after="7"), CallFault.RATE_LIMITED),
    (refuse(529), CallFault.OVERLOADED),
    (refuse(500, "api_error"), CallFault.SERVER),
    (refuse(401, "authentication_error"), CallFault.AUTHENTICATION),
    (refuse(404, "not_found_error"), CallFault.NOT_FOUND),
    (refuse(400, "invalid_request_error"), CallFault.INVALID),
    (refuse(402, "billing_error"), CallFault.QUOTA),
    (text("partly", fault="cut"), CallFault.CUT),
    (text("partly", fault="no end"), CallFault.CUT),
]


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(("turn", "fault"), FAULTS, ids=[f"{t.status} {t.fault or t.error}" for t, _ in FAULTS])
async def test_faults_are_told_apart(adapter: Any, turn: Turn, fault: CallFault) -> None:
    async with ScriptedServer([turn]) as server:
        with pytest.raises(ModelCallError) as caught:
            await pieces(adapter(server))
        assert caught.value.fault is fault
        assert len(server.received) == 1
        if turn.headers:
            assert caught.value.retry_after_s == 7


async def test_an_error_in_the_middle_is_known_by_its_type() -> None:
    async with ScriptedServer([text("partly", fault="error")]) as server:
        with pytest.raises(ModelCallError) as caught:
            await pieces(claude(server))
        assert caught.value.fault is CallFault.OVERLOADED
        assert caught.value.usage is not None


@pytest.mark.parametrize(
    "make",
    [lambda: AnthropicModel("claude-x", "k", "http://127.0.0.1:9"), lambda: OpenAIModel("q", "http://127.0.0.1:9")],
)
async def test_an_address_without_a_server_is_named(make: Any) -> None:
    with pytest.raises(ModelCallError) as caught:
        await pieces(make())
    assert caught.value.fault is CallFault.CONNECTION
    assert "127.0.0.1:9" in caught.value.message
    assert not caught.value.sent


class Slept:
    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


async def through(transport: Transport, model: Model) -> list[Any]:
    try:
        return [piece async for piece in transport.call(model, request())]
    finally:
        await model.close()


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_an_endless_overload_ends_after_the_configured_tries(adapter: Any) -> None:
    slept = Slept()
    transport = Transport(RetryPolicy(tries=4), sleep=slept, rng=random.Random(1))
    async with ScriptedServer([refuse(529)]) as server:
        with pytest.raises(ModelCallError, match="given up after 4 tries"):
            await through(transport, adapter(server))
        assert len(server.received) == 4
    assert len(slept.waits) == 3
    assert [0.5 * 2**n <= wait <= 2**n for n, wait in enumerate(slept.waits)] == [True] * 3


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_retry_after_is_honoured(adapter: Any) -> None:
    slept = Slept()
    async with ScriptedServer([refuse(429, "rate_limit_error", retry_after="3"), text("ok")]) as server:
        transport = Transport(sleep=slept)
        transport.limiter.clock = lambda: sum(slept.waits)
        got = await through(transport, adapter(server))
        assert slept.waits == [3]
        retried = [piece for piece in got if isinstance(piece, CallRetried)]
        assert [(p.attempt, p.status, p.wait_s, p.usage) for p in retried] == [(1, 429, 3, None)]
        assert isinstance(got[-1], Reply)


async def test_a_wait_beyond_the_bound_ends_the_call_with_the_time_in_words() -> None:
    async with ScriptedServer([refuse(429, "rate_limit_error", retry_after="86400")]) as server:
        with pytest.raises(ModelCallError, match="asks to wait 86,400 s"):
            await through(Transport(sleep=Slept()), claude(server))
        assert len(server.received) == 1


@pytest.mark.parametrize("fault", ["cut", "no end", "error"])
async def test_what_breaks_in_the_middle_is_sent_again_and_what_it_cost_is_told(fault: str) -> None:
    async with ScriptedServer([text("partly there", fault=fault), text("ok")]) as server:
        got = await through(Transport(sleep=Slept()), claude(server))
        (retried,) = [piece for piece in got if isinstance(piece, CallRetried)]
        assert retried.usage is not None
        assert retried.usage.prompt
        assert retried.usage.output == 3
        assert "output" in retried.usage.estimated


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_what_will_not_get_better_is_not_tried_again(status: int) -> None:
    async with ScriptedServer(
        [refuse(status, "invalid_request_error" if status == 400 else "authentication_error")]
    ) as server:
        with pytest.raises(ModelCallError):
            await through(Transport(sleep=Slept()), claude(server))
        assert len(server.received) == 1
