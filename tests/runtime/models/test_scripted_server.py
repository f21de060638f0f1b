"""The scripted server itself: it refuses what the real API refuses, and its cache behaves as documented."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cache_model import CacheModel
from support.chat_rules import check_chat
from support.messages_memory import Memory
from support.messages_rules import Rule, check_request

MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
TOOL: dict[str, Any] = {"name": "shell", "description": "d", "input_schema": {"type": "object"}}
USE: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "shell", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}


def said(words: str = "Fix it.", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def body(**more: Any) -> dict[str, Any]:
    base = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 10,
        "stream": True,
        "system": [said("You fix software.", **MARK)],
        "tools": [TOOL | MARK],
        "messages": [user(said()), assistant(USE), user(RESULT, said("Go on.", **MARK))],
    }
    return {**copy.deepcopy(base), **more}


def test_a_right_request_is_accepted() -> None:
    check_request(body())


WRONG: dict[str, Callable[[], dict[str, Any]]] = {
    "temperature": lambda: body(temperature=0),
    "max_tokens 0": lambda: body(max_tokens=0),
    "no result": lambda: body(messages=[user(said()), assistant(USE), user(said())]),
    "result twice": lambda: body(messages=[user(said()), assistant(USE), user(RESULT, RESULT)]),
    "result of no call": lambda: body(messages=[user(RESULT)]),
    "result after text": lambda: body(messages=[user(said()), assistant(USE), user(said(), RESULT)]),
    "result one message late": lambda: body(
        messages=[user(said()), assistant(USE), user(said()), assistant(said("x")), user(RESULT)]
    ),
    "prefill": lambda: body(messages=[user(said()), assistant(said("x"))]),
    "first is the assistant's": lambda: body(messages=[assistant(said("x")), user(said())]),
    "empty text": lambda: body(messages=[user(said(" \n"))]),
    "empty content": lambda: body(messages=[user()]),
    "empty result": lambda: body(messages=[user(said()), assistant(USE), user(RESULT | {"content": ""})]),
    "five marks": lambda: body(messages=[user(said("a", **MARK), said("b", **MARK), said("c", **MARK))]),
    "mark on thinking": lambda: body(
        messages=[
            user(said()),
            assistant({"type": "thinking", "thinking": "", "signature": "s", **MARK}),
            user(said()),
        ]
    ),
    "short ttl before long": lambda: body(messages=[user(said("a", cache_control={"type": "ephemeral", "ttl": "1h"}))]),
    "unknown ttl": lambda: body(messages=[user(said("a", cache_control={"type": "ephemeral", "ttl": "2h"}))]),
    "same id again": lambda: body(messages=[user(said()), assistant(USE), user(RESULT), assistant(USE), user(RESULT)]),
    "id with a dot": lambda: body(
        messages=[user(said()), assistant(USE | {"id": "a.b"}), user(RESULT | {"tool_use_id": "a.b"})]
    ),
    "name with a space": lambda: body(messages=[user(said()), assistant(USE | {"name": "run it"}), user(RESULT)]),
    "field of a block": lambda: body(messages=[user(said("a", kind="text"))]),
    "calls without tools": lambda: body(tools=[]),
    "tool twice": lambda: body(tools=[TOOL, TOOL]),
    "role twice": lambda: body(messages=[user(said()), user(said())]),
    "call of the user": lambda: body(messages=[user(USE)]),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_broken_rule_is_refused(wrong: Callable[[], dict[str, Any]]) -> None:
    with pytest.raises(Rule):
        check_request(wrong())


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "x"}],
        [{"role": "tool", "tool_call_id": "a", "content": "x"}],
        [{"role": "user", "content": " "}],
        [{"role": "user", "content": "x"}, {"role": "system", "content": "x"}],
    ],
)
def test_a_broken_chat_rule_is_refused(messages: list[dict[str, Any]]) -> None:
    base = {"model": "q", "max_tokens": 5, "stream": True, "stream_options": {"include_usage": True}}
    with pytest.raises(Rule):
        check_chat({**base, "messages": messages})


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def long(words: str = "x", size: int = 4000, **more: Any) -> dict[str, Any]:
    return said(words * size, **more)


def asked(*blocks: dict[str, Any], model: str = "claude-sonnet-5-5") -> dict[str, Any]:
    return {"model": model, "messages": [user(*blocks)]}


def test_what_was_written_is_read_once_the_answer_has_begun() -> None:
    cache = CacheModel(Clock())
    first = cache.count(asked(long(**MARK)))
    assert (first.read, first.written_5m > 900, first.fresh) == (0, True, 0)
    assert cache.count(asked(long(**MARK))).read == 0
    cache.commit(first)
    again = cache.count(asked(long(**MARK)))
    assert (again.read, again.written_5m, again.fresh) == (first.prompt, 0, 0)


def test_an_entry_lives_five_minutes_from_the_request_and_reading_renews_it() -> None:
    clock = Clock()
    cache = CacheModel(clock)
    cache.commit(cache.count(asked(long(**MARK))))
    for clock.now in (299.0, 598.0):
        assert cache.count(asked(long(**MARK))).read > 0
    clock.now = 598.0 + 300.5
    assert cache.count(asked(long(**MARK))).read == 0


def test_below_the_minimum_nothing_is_cached() -> None:
    cache = CacheModel(Clock())
    for model, cached in (("claude-haiku-4-5", False), ("claude-sonnet-5-5", True)):
        counted = cache.count(asked(long(**MARK), model=model))
        assert (counted.written_5m > 0) is cached
        assert counted.prompt == counted.fresh + counted.written_5m


@pytest.mark.parametrize(("between", "found"), [(19, True), (20, False)])
def test_look_back_reaches_twenty_blocks(between: int, found: bool) -> None:
    cache = CacheModel(Clock())
    cache.commit(cache.count(asked(long(**MARK))))
    middle = [said(str(n)) for n in range(between - 1)]
    assert (cache.count(asked(long(), *middle, said("end", **MARK))).read > 0) is found


def test_a_changed_byte_in_front_loses_everything_behind_it() -> None:
    cache = CacheModel(Clock())
    cache.commit(cache.count(asked(said("09:00"), long(**MARK))))
    assert cache.count(asked(said("09:01"), long(**MARK))).read == 0


def test_reasoning_is_bound_to_the_history_before_it() -> None:
    memory = Memory()
    thought = {"type": "thinking", "thinking": "hm", "signature": "s1"}
    memory.remember(body(messages=[user(said())]), [thought, said("ok")], "m1")
    memory.check(body(messages=[user(said()), assistant(thought, said("ok")), user(said("Go on."))]))
    for changed in (
        [user(said("Another.")), assistant(thought, said("ok")), user(said("Go on."))],
        [user(said()), assistant(thought | {"thinking": "ha"}, said("ok")), user(said("Go on."))],
        [user(said()), assistant(thought | {"signature": "s2"}, said("ok")), user(said("Go on."))],
    ):
        with pytest.raises(Rule):
            memory.check(body(messages=changed))
    without = [user(said("Another.")), assistant(said("ok")), user(said("Go on."))]
    memory.check(body(messages=without))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, None),
        ({"model": "claude-opus-5-5"}, "model_changed"),
        ({"system": [said("You break software.")]}, "system_changed"),
        ({"tools": []}, "tools_changed"),
        ({"messages": [user(said("Another."))]}, "messages_changed"),
    ],
)
def test_a_miss_is_diagnosed(change: dict[str, Any], kind: str | None) -> None:
    memory = Memory()
    memory.remember(body(messages=[user(said())]), [said("ok")], "m1")
    later = body(messages=[user(said()), assistant(said("ok")), user(said("Go on."))]) | change
    reason = (memory.diagnose(later | {"diagnostics": {"previous_message_id": "m1"}}) or {})["cache_miss_reason"]
    assert (reason or {}).get("type") == kind


def test_it_runs_as_a_program(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"blocks": [{"type": "text", "text": "Hello."}]}]))
    server = subprocess.Popen(
        [sys.executable, "-m", "support.scripted_server", "--script", str(script), "--port", "0"],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("http://127.0.0.1:")
    finally:
        server.terminate()
        server.communicate()
