"""Runs that are killed and resumed: a field with a repository, a home and a scripted server, and what is checked of every record."""

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
from runtime.events.loop import RoundFinished, RoundStarted, RunFinished, ToolCalled, ToolFinished
from support.headless import Headless, environment, looptop, spawned
from support.messages_rules import without_marks
from support.repositories import CHECK, CHECKED, make_repository
from support.scripted_server import Scripted, ScriptedServer, call, text

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

    def recorded(self, kind: str) -> int:
        """How many events of a type are in the store."""
        with sqlite3.connect(self.folder / "home" / "looptop.db") as connection:
            return int(connection.execute("SELECT count(*) FROM events WHERE type = ?", (kind,)).fetchone()[0])

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
