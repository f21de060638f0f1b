"""Compaction: one large step, oldest first, calls and results still paired, bound reasoning taken along."""

from __future__ import annotations

from runtime.models.anthropic_wire import request_body
from runtime.models.base import Message, Request, Text, Thinking, ToolCall, ToolResult
from runtime.prompt.compaction import bytes_to_free, compact, is_time
from runtime.prompt.transcript import Transcript
from runtime.tools.registry import tool_specs
from support.messages_rules import check_request


def rounds(count: int, *, content: str = "line\n" * 400, thinking: bool = True) -> tuple[Message, ...]:
    transcript = Transcript()
    transcript.add_user("Fix it.")
    for n in range(count):
        thought = Thinking(data={"type": "thinking", "thinking": "hm", "signature": f"s{n}"})
        call = ToolCall(id=f"c{n}", name="shell", arguments={"command": f"cat file{n}.py"})
        transcript.add_reply([*([thought] if thinking else []), Text(text=f"Step {n}."), call])
        transcript.add_results([ToolResult(call_id=f"c{n}", content=content)])
    return transcript.messages


def test_it_is_time_near_the_limit_and_never_without_one() -> None:
    assert not is_time(150_000, 16_000, 200_000)
    assert is_time(160_000, 16_000, 200_000)
    assert not is_time(10**9, 16_000, None)
    assert bytes_to_free(160_000, 200_000) == 70_000 * 4


def test_the_oldest_results_become_stubs_and_the_newest_rounds_stay() -> None:
    messages = rounds(10)
    done = compact(messages, 8_000)
    assert done is not None
    assert (done.stubs, done.first_changed) == (5, 2)
    assert done.bytes_before - done.bytes_after >= 8_000
    assert done.tokens_freed >= 2_000
    stub = done.messages[2].blocks[0]
    assert isinstance(stub, ToolResult)
    assert stub.content == "(left out: 2,000 characters, shell cat file0.py)"
    assert done.messages[-4:] == tuple(
        message.model_copy(update={"blocks": tuple(b for b in message.blocks if not isinstance(b, Thinking))})
        for message in messages[-4:]
    )


def test_what_is_left_is_a_request_that_the_api_takes() -> None:
    done = compact(rounds(10), 10**9)
    assert done is not None
    request = Request(
        model="claude-sonnet-5-5", system=("s",), tools=tool_specs(), messages=done.messages, max_output_tokens=10
    )
    check_request(request_body(request, None))
    assert all(message.blocks for message in done.messages)


def test_reasoning_behind_the_change_goes_along_and_before_it_stays() -> None:
    messages = list(rounds(10))
    short = Message(role="user", blocks=(ToolResult(call_id="c0", content="ok"),))
    done = compact([*messages[:2], short, *messages[3:]], 5_000)
    assert done is not None
    assert done.first_changed == 4
    assert done.thinking_dropped == 8
    assert [sum(isinstance(b, Thinking) for b in message.blocks) for message in done.messages[:4]] == [0, 1, 0, 1]
    kept = compact(messages, 5_000, binds_thinking=False)
    assert kept is not None
    assert kept.thinking_dropped == 0


def test_long_arguments_go_after_the_results() -> None:
    transcript = Transcript()
    transcript.add_user("Fix it.")
    for n in range(6):
        call = ToolCall(id=f"c{n}", name="write_file", arguments={"path": "a.py", "content": "x" * 5_000})
        transcript.add_reply([call])
        transcript.add_results([ToolResult(call_id=f"c{n}", content="ok")])
    done = compact(transcript.messages, 6_000)
    assert done is not None
    (call_block,) = [b for b in done.messages[1].blocks if isinstance(b, ToolCall)]
    assert call_block.arguments == {"path": "a.py", "content": "(left out: 5,000 characters)"}
    assert done.stubs == 2


def test_where_nothing_can_go_it_says_so() -> None:
    assert compact(rounds(2), 10_000) is None
    assert compact(rounds(10, content="ok"), 10_000) is None
    again = compact(rounds(10), 10**9)
    assert again is not None
    assert compact(again.messages, 10**9) is None
