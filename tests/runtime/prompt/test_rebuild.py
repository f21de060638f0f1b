"""A transcript that is rebuilt from a run's events has the same bytes as the one that was sent."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.events.base import Event
from runtime.events.checks import Compacted
from runtime.events.loop import LegStarted, PromptAdded, RoundFinished, RoundStarted, ToolFinished
from runtime.events.values import StepStatus
from runtime.loop.conversation import Conversation
from runtime.models.base import Block, Text, ToolCall, ToolResult
from runtime.prompt.breakpoints import mark_of_last_request, newest_user_block
from runtime.prompt.rebuild import rebuild, rebuild_all
from runtime.prompt.transcript import INTERRUPTED, Transcript
from runtime.usage import Usage
from support.transcripts import Move, Play, moves


def said(text: str, kind: str = "task", fresh: bool = False) -> PromptAdded:
    return PromptAdded(attempt=1, kind=kind, text=text, fresh=fresh)  # type: ignore[arg-type]


def replied(*blocks: Block, stop: str = "tool_use") -> RoundFinished:
    return RoundFinished(
        attempt=1, round=1, leg=1, model="m", stop=stop, usage=Usage(), latency_ms=1, reply=tuple(blocks)
    )


def answered(call_id: str, content: str) -> ToolFinished:
    return ToolFinished(
        attempt=1, round=1, step=1, call_id=call_id, tool="shell", status=StepStatus.OK, content=content
    )


def call(call_id: str) -> ToolCall:
    return ToolCall(id=call_id, name="shell", arguments={"command": "ls"})


@settings(max_examples=200, deadline=None)
@given(st.lists(moves, max_size=6))
def test_it_is_the_transcript_that_was_sent(played: list[Move]) -> None:
    play = Play()
    play.transcript.add_user("Fix it.")
    events: list[Event] = [said("Fix it.", fresh=True)]
    for move in played:
        play.request()
        play.move(move)
        events += [RoundStarted(attempt=1, round=1, leg=1, model="m", prompt_estimate=1), replied(*move.reply)]
        asked = [block for block in move.reply if isinstance(block, ToolCall)]
        events += [answered(c.id, move.output) for c in asked[: move.answered]]
        if move.said.strip():
            events.append(said(move.said, "steer"))
    rebuilt = rebuild(events)
    rebuilt.close_calls()
    play.transcript.close_calls()
    assert rebuilt.messages == play.transcript.messages


def test_a_call_that_was_killed_is_answered_as_interrupted() -> None:
    rebuilt = rebuild(
        [said("Fix it.", fresh=True), replied(call("a"), call("b"), call("c")), answered("a", "1"), answered("b", "2")]
    )
    rebuilt.close_calls()
    assert [b.content for b in rebuilt.messages[-1].blocks if isinstance(b, ToolResult)] == ["1", "2", INTERRUPTED]


def test_a_broken_round_leaves_no_trace_and_a_new_leg_begins_anew() -> None:
    broken = replied().model_copy(update={"outcome": "broken"})
    events = [said("Fix it.", fresh=True), replied(call("a")), said("Again.", "handover", fresh=True), broken]
    assert rebuild(events).messages[0].blocks == (Text(text="Again."),)
    assert len(rebuild(events).messages) == 1


def test_a_refusal_stays_only_where_it_was_answered() -> None:
    no = replied(Text(text="I won't."), stop="refusal")
    kept = rebuild([said("Fix it.", fresh=True), no, said("Go on.", "nudge")])
    assert [message.role for message in kept.messages] == ["user", "assistant", "user"]
    ended = rebuild([said("Fix it.", fresh=True), no, said("Verify failed.", "feedback")])
    assert [message.role for message in ended.messages] == ["user"]


def test_the_mark_of_the_last_request_is_found_again() -> None:
    transcript = Transcript()
    transcript.add_user("Fix it.")
    assert mark_of_last_request(transcript.messages) is None
    sent = newest_user_block(transcript.messages)
    transcript.add_reply([call("a")])
    transcript.add_results([ToolResult(call_id="a", content="x")])
    assert mark_of_last_request(transcript.messages) == sent


def test_a_compaction_is_done_again_just_as_it_was() -> None:
    conversation = Conversation("claude-sonnet-5-5", 200, context=12_000)
    conversation.add_user("Fix it.")
    leg = LegStarted(
        leg=1, model="claude-sonnet-5-5", provider="anthropic", cap=3, cap_source="", context_tokens=12_000
    )
    events: list[Event] = [leg, said("Fix it.", fresh=True)]
    compactions = 0
    for number in range(1, 30):
        request = conversation.request()
        before = conversation.estimator.estimate(request)
        done = conversation.compact_if_full(request)
        if done is not None:
            compactions += 1
            request = conversation.request()
            after = before - done.tokens_freed
            events.append(Compacted(round=number, tokens_before=before, tokens_after=after, stubbed=done.stubs))
        events.append(RoundStarted(attempt=1, round=number, leg=1, model="m", prompt_estimate=1))
        reply = (Text(text=f"Round {number}."), call("call-1"))
        conversation.transcript.add_reply(reply)
        events.append(replied(*reply))
        output = f"{number} " * 900
        conversation.add_results([ToolResult(call_id="call-1", content=output)])
        events.append(answered("call-1", output))
        rebuilt = rebuild_all(events)
        assert rebuilt.transcript.messages == conversation.transcript.messages
        # The next request is the same, marks included.
        resumed = Conversation("claude-sonnet-5-5", 200, context=12_000)
        resumed.go_on(rebuilt, 0.0)
        assert resumed._mark == conversation._mark
        assert rebuilt.sent is not None
        assert rebuilt.sent.messages == request.messages
    assert compactions >= 2
