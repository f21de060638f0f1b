"""A headless run killed with SIGKILL in each of its phases, and resumed: what the server receives, what is billed, what is left."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.events.base import Event
from runtime.events.codec import event_from_json
from runtime.events.loop import (
    AttemptStarted,
    RoundFinished,
    RoundStarted,
    RunFinished,
    RunPrepared,
    ToolCalled,
    ToolFinished,
)
from runtime.events.values import StepStatus
from runtime.process.tree import find_marked
from runtime.prompt.transcript import INTERRUPTED
from support.headless import Headless, environment, looptop, spawned
from support.messages_rules import without_marks
from support.repositories import CHECK, CHECKED, make_repository
from support.scripted_server import Scripted, ScriptedServer, call, text
from support.scripted_turn import Turn

FIX = call("write_file", "toolu_fix", path="value.txt", content="fixed\n")
DONE = text("It says fixed now.")
SLOW = """\
import pathlib, runpy, sys, time
folder = pathlib.Path(sys.argv[1])
if sys.argv[2] == "always" or "fixed" in open("value.txt").read():
    while not (folder / "go").exists():
        (folder / "begun").touch()
        time.sleep(0.05)
runpy.run_path("check.py")
"""
"""A check that waits until it may go on."""
RUN = ("run", "--headless", "--model", "claude-sonnet-5-5", "--repo", "repo")


@dataclass
class Field:
    """A folder with a repository and a home, and the scripted server."""

    folder: Path
    server: ScriptedServer

    @property
    def env(self) -> dict[str, str]:
        return environment(self.folder, self.server.url)

    @asynccontextmanager
    async def start(self, *more: str, check: str = CHECK) -> AsyncIterator[Headless]:
        async with spawned((*RUN, "--verify", check, *more, "fix it"), self.env, self.folder) as process:
            yield process

    async def resume(self, run: str, *more: str) -> Headless:
        async with spawned(("resume", run, *more), self.env, self.folder) as process:
            await process.end()
            return process

    async def stored(self, run: str) -> list[Event]:
        _, out, _ = await looptop(("show", run, "--json"), self.env, self.folder)
        return [event_from_json(line) for line in out.splitlines()]

    def usage(self) -> list[dict[str, Any]]:
        """Every row of the ledger."""
        with sqlite3.connect(self.folder / "home" / "looptop.db") as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM llm_usage ORDER BY at, round")]


@asynccontextmanager
async def field(folder: Path, script: Sequence[Scripted]) -> AsyncIterator[Field]:
    make_repository(folder / "repo", {**CHECKED, "slow.py": SLOW})
    # What the tests wait for lies outside of the workspace.
    (folder / "config.toml").write_text('[sandbox]\nkind = "none"\n')
    async with ScriptedServer(script) as server:
        yield Field(folder, server)


def of(events: Sequence[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def check_whole(events: Sequence[Event]) -> RunFinished:
    """What holds for every resumed run's record: numbered without a gap, one end of each part, rounds and steps once each."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    ends = of(events, RunFinished)
    assert [end.reason.value for end in ends[:-1]] == ["interrupted"] * (len(ends) - 1)
    rounds = [event.round for event in of(events, RoundStarted)]
    assert rounds == list(range(1, len(rounds) + 1))
    assert [event.round for event in of(events, RoundFinished)] == rounds
    steps = [event.step for event in of(events, ToolCalled)]
    assert steps == list(range(1, len(steps) + 1))
    assert [event.step for event in of(events, ToolFinished)] == steps
    assert [event.mono_ms for event in events] == sorted(event.mono_ms for event in events)
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


def check_sums(place: Field, lost: int = 0) -> None:
    """Answered calls are in the ledger as the server counted them, once each; a call that was killed is there as estimated."""
    rows = place.usage()
    exact = [row for row in rows if not row["estimated"]]
    assert len(rows) - len(exact) == lost
    served = place.server
    assert len(exact) == len(served.counted)
    assert sum(row["input"] for row in exact) == sum(counted.fresh for counted in served.counted)
    assert sum(row["cache_read"] for row in exact) == sum(counted.read for counted in served.counted)
    assert sum(row["cache_write_5m"] for row in exact) == sum(counted.written_5m for counted in served.counted)
    assert sum(row["output"] for row in exact) == sum(served.outputs)
    assert len({row["request_id"] for row in exact}) == len(exact)
    assert served.rules == []


async def until(there: Callable[[], bool]) -> None:
    """Wait for what a process of its own does."""
    async with asyncio.timeout(60):
        while not there():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def until_there(path: Path) -> None:
    await until(path.exists)


def marks(body: dict[str, Any]) -> list[tuple[int, int]]:
    """Where a request's messages carry cache marks."""
    return [
        (number, place)
        for number, message in enumerate(body["messages"])
        for place, block in enumerate(message["content"])
        if isinstance(block, dict) and "cache_control" in block
    ]


def dump(value: object) -> str:
    return json.dumps(without_marks(value), sort_keys=False)


def check_prefix(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The later request begins with the earlier one, byte for byte apart from marks; tools and system with the marks."""
    assert json.dumps(before["tools"]) == json.dumps(after["tools"])
    assert json.dumps(before["system"]) == json.dumps(after["system"])
    assert before["model"] == after["model"]
    old, new = before["messages"], after["messages"]
    assert len(new) >= len(old)
    for one, other in zip(old[:-1], new, strict=False):
        assert dump(one) == dump(other)
    blocks, more = old[-1]["content"], new[len(old) - 1]["content"]
    assert dump(more[: len(blocks)]) == dump(blocks)


async def test_killed_while_preparing(tmp_path: Path) -> None:
    async with field(tmp_path, [FIX, DONE]) as place:
        async with place.start(check=f"python3 slow.py {tmp_path} always") as process:
            await process.until_type("verify_started")
            await until_there(tmp_path / "begun")
            run = process.run
            await process.kill()
        assert find_marked(run) != []
        (tmp_path / "go").touch()
        resumed = await place.resume(run)
        assert resumed.process.returncode == 0
        events = await place.stored(run)
        end = check_whole(events)
        assert (end.reason.value, end.attempts, end.rounds) == ("passed", 1, 2)
        assert find_marked(run) == []
        check_sums(place)


async def test_killed_in_a_model_call(tmp_path: Path) -> None:
    answer = asyncio.Event()
    waits = call("shell", "toolu_2", command="cat check.py")
    script: list[Scripted] = [call("shell", "toolu_1", command="cat value.txt"), waits, FIX, DONE]
    waits.begin = answer
    async with field(tmp_path, script) as place:
        async with place.start() as process:
            await process.until(lambda event: isinstance(event, RoundStarted) and event.round == 2)
            await until(lambda: len(place.server.bodies) == 2)
            run = process.run
            await process.kill()
        answer.set()
        resumed = await place.resume(run)
        assert resumed.process.returncode == 0
        events = await place.stored(run)
        end = check_whole(events)
        assert (end.reason.value, end.attempts, end.rounds) == ("passed", 1, 4)
        lost = next(event for event in of(events, RoundFinished) if event.round == 2)
        assert (lost.outcome, lost.usage.estimated) == ("interrupted", ("input", "output"))
        # The request that was lost is sent again as it was, with its two rolling marks.
        bodies = place.server.bodies
        assert json.dumps(bodies[1]["messages"]) == json.dumps(bodies[2]["messages"])
        check_prefix(bodies[0], bodies[2])
        assert len(marks(bodies[2])) == 2
        assert marks(bodies[2])[0] == marks(bodies[0])[-1]
        # The lost call was answered into nothing: the server's broken one is the ledger's estimated one.
        assert [event.attempt for event in of(events, AttemptStarted)] == [1, 1]
        rows = place.usage()
        (estimated,) = [row for row in rows if row["estimated"]]
        assert (estimated["round"], estimated["outcome"]) == (2, "interrupted")
        assert end.usage["output"] == sum(row["output"] for row in rows)
        assert end.cost_micros == sum(row["cost_micros"] for row in rows)


async def test_killed_between_tool_calls(tmp_path: Path) -> None:
    """Three calls with ids that come again in every round; two have answered."""

    def three(*commands: str) -> Turn:
        blocks = [
            {"type": "tool_use", "id": f"call-{n}", "name": "shell", "input": {"command": command}}
            for n, command in enumerate(commands, 1)
        ]
        return Turn(blocks, "tool_use")

    counted = f"echo done >> {tmp_path}/count"
    script = [
        three("echo a", "echo b", "echo c"),
        three(f"{counted}; echo one", f"{counted}; echo two", "setsid sleep 300 & sleep 300"),
        three("echo d", "echo e", "printf 'fixed\\n' > value.txt"),
        DONE,
    ]
    async with field(tmp_path, script) as place:
        async with place.start() as process:
            await process.until(lambda event: isinstance(event, ToolCalled) and event.step == 6)
            run = process.run
            await until(lambda: bool(find_marked(run)))
            await process.kill()
        assert find_marked(run) != [], "the dead worker leaves its command behind"
        # Another run isn't hindered, and what was left is found by its marker.
        code, out, _ = await looptop(("runs", "--json"), place.env, tmp_path)
        assert (code, json.loads(out)[0]["reason"]) == (0, "interrupted")
        assert find_marked(run) == []
        resumed = await place.resume(run)
        assert resumed.process.returncode == 0, await resumed.errors()
        events = await place.stored(run)
        end = check_whole(events)
        assert (end.reason.value, end.attempts, end.rounds, end.steps) == ("passed", 1, 4, 9)
        assert (tmp_path / "count").read_text() == "done\ndone\n", "what has answered isn't executed again"
        statuses = [event.status for event in of(events, ToolFinished)]
        assert statuses == [StepStatus.OK] * 5 + [StepStatus.INTERRUPTED] + [StepStatus.OK] * 3
        check_sums(place)
        bodies = place.server.bodies
        check_prefix(bodies[1], bodies[2])
        results = bodies[2]["messages"][-1]["content"]
        assert [block.get("is_error", False) for block in results] == [False, False, True]
        assert INTERRUPTED in json.dumps(results[2]["content"])
        asked = [block["id"] for block in bodies[2]["messages"][-2]["content"]]
        assert [block["tool_use_id"] for block in results] == asked
        assert marks(bodies[2])[0] == marks(bodies[1])[-1]
        assert len(marks(bodies[2])) == 2


async def test_killed_in_verify(tmp_path: Path) -> None:
    async with field(tmp_path, [FIX, DONE]) as place:
        async with place.start(check=f"python3 slow.py {tmp_path} fixed") as process:
            await process.until(lambda event: event.type == "verify_started" and getattr(event, "attempt", 0) == 1)
            await until_there(tmp_path / "begun")
            run = process.run
            await process.kill()
        (tmp_path / "go").touch()
        resumed = await place.resume(run)
        assert resumed.process.returncode == 0
        events = await place.stored(run)
        end = check_whole(events)
        assert (end.reason.value, end.attempts, end.rounds) == ("passed", 1, 2)
        assert len(place.server.bodies) == 2, "no reply is asked for twice"
        assert len(of(events, RunPrepared)) == 1
        baseline = [event for event in events if event.type == "verify_started" and getattr(event, "attempt", 1) == 0]
        assert len(baseline) == 1, "the baseline isn't run again"
        assert find_marked(run) == []
        check_sums(place)
