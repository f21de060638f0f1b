"""Cache predictions against an exact simulation, and the cause of every miss."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.models.anthropic_wire import request_body
from runtime.models.base import Message, Reply, Request, Stop, Text, ToolCall, ToolResult
from runtime.prompt.estimate import Estimator, estimate_tokens
from runtime.prompt.prediction import CacheWatch, MissCause, first_difference
from runtime.usage import Usage
from support.cache_model import CacheModel
from support.transcripts import Play


class World:
    """A leg against the simulated cache."""

    def __init__(self, model: str = "claude-sonnet-5-5", minimum: int = 512, opening: int = 600) -> None:
        self.now = 0.0
        self.model = model
        self.cache = CacheModel(lambda: self.now)
        self.watch = CacheWatch(minimum)
        self.play = Play()
        self.play.transcript.add_user("Fix it. " * opening)
        self.round = 0

    def call(self, **changes: Any) -> tuple[int | None, int, Any]:
        """One round: what was foretold, what was read, what is diagnosed."""
        request = self.play.request(self.model).model_copy(update=changes)
        predicted = self.watch.predict(request, self.now).read
        counted = self.cache.count(request_body(request, None))
        self.cache.commit(counted)
        usage = Usage(
            input=counted.fresh,
            output=5,
            cache_read=counted.read,
            cache_write_5m=counted.written_5m,
            cache_write_1h=counted.written_1h,
        )
        diagnosis = self.watch.finish(request, answer(usage, request.model), self.now)
        self.round += 1
        self.play.transcript.add_reply([ToolCall(id=f"c{self.round}", name="shell", arguments={"command": "ls"})])
        self.play.transcript.add_results([ToolResult(call_id=f"c{self.round}", content="out " * 100)])
        return predicted, counted.read, diagnosis


def answer(usage: Usage, model: str = "claude-sonnet-5-5", **more: Any) -> Reply:
    return Reply(message=Message(role="assistant", blocks=()), stop=Stop.TOOL_USE, usage=usage, model=model, **more)


def test_ten_rounds_are_foretold_to_the_token() -> None:
    world = World()
    rounds = [world.call() for _ in range(10)]
    assert rounds[0][:2] == (None, 0)
    assert all(predicted == read > 0 for predicted, read, _ in rounds[1:])
    assert [diagnosis for _, _, diagnosis in rounds] == [None] * 10


def test_a_pause_beyond_the_lifetime_is_foretold_and_named() -> None:
    world = World()
    world.call()
    assert world.watch.cold_in_s(60.0) == 240.0
    assert world.watch.cached_tokens > 512
    world.now = 301.0
    assert world.watch.cold_in_s(world.now) == 0.0
    predicted, read, diagnosis = world.call()
    assert (predicted, read) == (0, 0)
    assert diagnosis.cause is MissCause.EXPIRED
    assert "5.0 min since the last call" in diagnosis.text


def test_a_changed_front_is_found() -> None:
    world = World()
    world.call()
    _, _, diagnosis = world.call(system=("Another clock: 09:01. " * 40,))
    assert diagnosis.cause is MissCause.PREFIX_CHANGED
    assert diagnosis.text == "the prompt changed: the system prompt"
    assert diagnosis.predicted == 0


def test_another_model_is_named() -> None:
    world = World()
    world.call()
    _, _, diagnosis = world.call(model="claude-opus-5-5")
    assert diagnosis.cause is MissCause.OTHER_MODEL
    assert "claude-opus-5-5" in diagnosis.text


def test_below_the_minimum_it_says_how_far() -> None:
    world = World("claude-haiku-4-5", 4096, opening=200)
    world.call()
    causes = []
    while world.cache.entries == {}:
        _, _, diagnosis = world.call()
        causes.append(diagnosis)
    assert {diagnosis.cause for diagnosis in causes if diagnosis} == {MissCause.BELOW_MINIMUM}
    assert causes[0].text.endswith("of 4.1k tokens: not cached yet")
    predicted, read, _ = world.call()
    assert predicted == read >= 4096


def test_a_server_that_reports_nothing_is_told_once_with_the_flag() -> None:
    watch = CacheWatch(None)
    request = Play().transcript
    request.add_user("Fix it.")
    asked = Request(model="q", system=(), tools=(), messages=request.messages, max_output_tokens=1)
    usage = Usage(input=100, output=1)
    first = watch.finish(asked, answer(usage, "q"), 0.0)
    assert first is not None
    assert first.cause is MissCause.NOT_REPORTED
    assert "--enable-prompt-tokens-details" in first.text
    assert watch.finish(asked, answer(usage, "q"), 1.0) is None
    assert watch.predict(asked, 2.0).read is None


def test_an_entry_that_went_too_early_is_unknown_with_the_providers_word() -> None:
    world = World()
    world.call()
    request = world.play.request()
    reply = answer(Usage(input=900, output=1, cache_read=0, cache_write_5m=0), cache_miss="unavailable")
    diagnosis = world.watch.finish(request, reply, 1.0)
    assert diagnosis is not None
    assert (diagnosis.cause, diagnosis.reported, diagnosis.server_reason) == (MissCause.UNKNOWN, 0, "unavailable")
    assert (diagnosis.predicted or 0) > 512


def test_a_broken_call_that_had_begun_keeps_the_entry_alive() -> None:
    world = World()
    world.call()
    world.watch.touch(200.0)
    assert world.watch.cold_in_s(400.0) == 100.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"tools": ()}, "the tools"),
        ({"effort": "high"}, "the effort"),
        ({"messages": ()}, "message 1 is gone"),
        ({"messages": (Message(role="user", blocks=(Text(text="Other."),)),)}, "message 1, block 1 (text)"),
    ],
)
def test_the_first_difference(change: dict[str, Any], words: str) -> None:
    play = Play()
    play.transcript.add_user("Fix it.")
    request = play.request()
    assert first_difference(request, request.model_copy(update=change)) == words


def test_estimates_follow_what_the_server_counted() -> None:
    play = Play()
    play.transcript.add_user("Fix it. " * 600)
    request, estimator = play.request(), Estimator()
    assert estimator.estimate(request) == estimate_tokens(request)
    counted = estimate_tokens(request) * 2 // 3
    estimator.learn(request, Usage(input=counted))
    assert estimator.estimate(request) == counted
    play.transcript.add_user("x" * 400)
    grown = play.request()
    assert estimator.estimate(grown) == counted + 100
    for useless in (Usage(), Usage(input=1), Usage(input=10**8), Usage(input=5, estimated=("input",))):
        estimator.learn(request, useless)
        assert estimator.estimate(grown) == counted + 100
