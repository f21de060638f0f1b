"""Runs whose servers report nonsense, or whose model has no price: they go on, the figure is unknown, and the reason is said once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runtime.events.base import Event
from runtime.events.loop import RoundFinished, RoundStarted, RunFinished, RunPrepared, TransportRetried
from runtime.events.supervision import Notice
from runtime.events.values import RunSettings, StopReason, VerifySpec
from support.repositories import CHECK, CHECKED, make_repository
from support.scripted_server import ScriptedServer, Turn, call, text
from tui.compose import HostSettings, RunRequest, open_cockpit

FIX = call("write_file", "toolu_fix", path="value.txt", content="fixed\n")
GOOD = {"input_tokens": 25, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}


async def events_of(
    server: ScriptedServer, folder: Path, model: str = "claude-sonnet-5-5", **settings: Any
) -> list[Event]:
    repo = make_repository(folder / "repo", CHECKED)
    env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": server.url}
    events: list[Event] = []
    host = HostSettings(base_url=None if model.startswith("claude") else server.url)
    async with open_cockpit(folder / "home", host, env) as cockpit:
        cockpit.bus.subscribe(events.append)
        request = RunRequest(repo, "", RunSettings(model=model, **settings), (VerifySpec(command=CHECK),))
        await (await cockpit.start(request)).done
    return events


def of(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("field", ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
@pytest.mark.parametrize("bad", [None, -1, 10**7, "many", 2.5, [25]])
async def test_a_nonsense_figure_is_unknown_and_the_run_goes_on(tmp_path: Path, field: str, bad: Any) -> None:
    start = {**GOOD, field: bad}
    if bad is None:
        del start[field]
    odd = Turn(call("shell", "toolu_1", command="cat value.txt").blocks, "tool_use", [start, {"output_tokens": 7}])
    async with ScriptedServer([odd, FIX, text("Done.")]) as server:
        events = await events_of(server, tmp_path)
    first, *others = of(events, RoundFinished)
    (end,) = of(events, RunFinished)
    assert end.reason is StopReason.PASSED
    usage = first.usage
    figure = {"input_tokens": usage.input, "cache_read_input_tokens": usage.cache_read}.get(field, usage.cache_write)
    assert figure is None
    assert usage.output == 7
    assert all(later.usage.input is not None and later.cost_micros is not None for later in others)
    notices = [notice.text for notice in of(events, Notice)]
    if field == "input_tokens":
        assert first.cost_micros is None
        assert end.cost_usd is None
        assert any("input" in notice for notice in notices)
    if bad is not None:
        assert any(f"the server reported {field} as" in notice for notice in notices)


async def test_a_stream_without_its_end_is_sent_again_and_counted(tmp_path: Path) -> None:
    cut = Turn(call("shell", "toolu_1", command="echo never").blocks, "tool_use", fault="no end")
    async with ScriptedServer([cut, FIX, text("Done.")]) as server:
        events = await events_of(server, tmp_path)
        (end,) = of(events, RunFinished)
        (again,) = of(events, TransportRetried)
        assert (end.reason, end.rounds) == (StopReason.PASSED, 2)
        assert again.usage is not None
        assert "output" in again.usage.estimated or again.usage.output is not None
        served = (*server.broken, *server.counted)
        assert end.usage["cache_read"] == sum(counted.read for counted in served)
        assert end.usage["cache_write"] == sum(counted.written_5m for counted in served)
        assert server.received[0].body == server.received[1].body


async def test_without_a_price_money_does_not_bind_and_no_answer_is_paid_for_twice(tmp_path: Path) -> None:
    counts = [{"prompt_tokens": 10_000, "completion_tokens": 2_000}]
    script = [Turn(turn.blocks, turn.stop, counts) for turn in (FIX, text("Done."))]
    async with ScriptedServer(script) as server:
        events = await events_of(server, tmp_path, "Qwen/Qwen3-Coder-30B", budget_micros=2_000_000)
        assert len(server.received) == 2
    prepared = of(events, RunPrepared)[0]
    told = "no price is known for Qwen/Qwen3-Coder-30B: the dollar budget can't bind, the token budget does"
    assert told in prepared.warnings
    assert events.index(prepared) < events.index(of(events, RoundStarted)[0])
    first = of(events, RoundFinished)[0]
    assert (first.usage.input, first.usage.output, first.cost_micros) == (10_000, 2_000, None)
    (end,) = of(events, RunFinished)
    assert end.reason is StopReason.PASSED
    assert (end.usage["input"], end.usage["output"]) == (20_000, 4_000)
    assert (end.cost_usd, end.cost_micros) == (None, None)
    reasons = [notice.text for notice in of(events, Notice) if "no price is known" in notice.text]
    assert len(reasons) == 1
