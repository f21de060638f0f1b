"""From own history to a run that is stopped: forty successes, a calibration by the command, and runs against a model's server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from runtime.events.base import Event
from runtime.events.loop import LegStarted, RunFinished, ToolCalled, ToolFinished
from runtime.events.values import StepStatus, StopReason
from runtime.workspace.repository import open_repository
from store.store import Store, open_store
from support.cli import CommandLine, Said
from support.repositories import CHECK
from support.scripted_server import Turn, call, text
from support.served import served
from support.store_runs import AT, queued

MODEL = "claude-sonnet-5-5"
FRUITLESS = [call("shell", f"toolu_{n}", command=f"echo look {n}") for n in range(20)]
FIX = call("write_file", "toolu_fix", path="value.txt", content="fixed\n")


async def succeeded(store: Store, run: str, project: str, steps: int) -> None:
    """A run that passed after so many tool steps."""
    events: list[Event] = [LegStarted(leg=1, model=MODEL, provider="anthropic", cap=3, cap_source="default")]
    for n in range(1, steps + 1):
        at: dict[str, Any] = {"attempt": 1, "round": n, "step": n, "call_id": f"c{n}", "tool": "shell"}
        events.append(ToolCalled(**at, arguments={"command": f"do {run} {n}"}))
        events.append(ToolFinished(**at, status=StepStatus.OK, content=f"saw {n}"))
    events.append(RunFinished(reason=StopReason.PASSED, attempts=1, rounds=steps, usage={}))
    store.record.append(queued(run, task=f"task {run}", project=project, model=MODEL))
    for seq, event in enumerate(events, 2):
        store.record.append(event.stamped(run, seq, AT, seq))
    await store.record.flush()


@pytest.fixture
def calibrated(looptop: CommandLine, repo: Path) -> CommandLine:
    """Forty own successes of at most five steps, and the step limit calibrated on them."""

    async def fill() -> None:
        project = (await open_repository(repo)).project
        async with open_store(looptop.home) as store:
            for n in range(40):
                await succeeded(store, f"s{n:03}", project, 3 + n % 3)

    asyncio.run(fill())
    said = looptop("stoploss", "calibrate", "--repo", str(repo), "--scorer", "step-limit")
    assert said.code == 0, said
    assert "false aborts at most 5%" in said.out
    return looptop


def run(looptop: CommandLine, repo: Path, script: list[Turn], *args: str) -> Said:
    with served(looptop.folder, script) as url:
        env = {"ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": url}
        also = ("--model", MODEL, "--cap", "2", "--json", *args)
        return looptop.process("run", "--repo", str(repo), "--verify", CHECK, *also, env=env)


def events_of(said: Said, kind: str) -> list[dict[str, Any]]:
    return [event for event in map(json.loads, said.out.splitlines()) if event["type"] == kind]


def test_a_run_of_ever_new_fruitless_calls_is_stopped_at_step_eight(calibrated: CommandLine, repo: Path) -> None:
    said = run(calibrated, repo, FRUITLESS, "--stoploss", "abort")
    (end,) = events_of(said, "run_finished")
    assert (said.code, end["reason"], end["steps"]) == (4, "stoploss", 8)
    scored = events_of(said, "stoploss_scored")
    assert [one["step"] for one in scored] == [5, 8]
    assert scored[1]["score"] > scored[1]["threshold"]
    # History, report and ledger agree.
    assert "StopLoss" in calibrated("show", end["run"]).out
    rows = json.loads(calibrated("usage", "--by", "purpose", "--run", end["run"], "--json").out)
    assert {row["key"]: row["calls"] for row in rows}["fix"] == 8
    assert sum(row["output"] for row in rows) == end["usage"]["output"]


def test_one_that_succeeds_is_left_alone(calibrated: CommandLine, repo: Path) -> None:
    said = run(calibrated, repo, [*FRUITLESS[:3], FIX, text("done")], "--stoploss", "abort")
    (end,) = events_of(said, "run_finished")
    assert (said.code, end["reason"]) == (0, "passed")
    assert events_of(said, "stoploss_scored") == []


def test_by_default_nothing_is_stopped_that_was_not_measured_to_pay(calibrated: CommandLine, repo: Path) -> None:
    said = run(calibrated, repo, [*FRUITLESS[:9], FIX, text("done")])
    (end,) = events_of(said, "run_finished")
    assert end["reason"] == "passed"
    assert {one["mode"] for one in events_of(said, "stoploss_scored")} == {"ask"}
