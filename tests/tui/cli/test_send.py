"""`looptop send` against a real headless process: what it answers, with what exit code, and that an id acts once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import UsageError
from runtime.events.loop import RunFinished
from runtime.events.supervision import CapChanged, CommandAccepted, SteerQueued
from support.cli import CommandLine, one_sentence
from support.headless import Headless, environment, looptop, spawned
from support.repositories import CHECK, CHECKED, make_repository
from support.scripted_server import ScriptedServer
from support.scripted_turn import Turn, call, text
from tui.commands.send import fields_of


@dataclass
class Waiting:
    """A run whose model call waits for `answer`."""

    process: Headless
    answer: asyncio.Event
    env: dict[str, str]
    folder: Path

    async def send(self, *args: str) -> tuple[int, str, str]:
        return await looptop(("send", self.process.run, *args), self.env, self.folder)


@asynccontextmanager
async def waiting(folder: Path) -> AsyncIterator[Waiting]:
    """Start a run and wait until its first model call is under way."""
    repo = make_repository(folder / "repo", CHECKED)
    answer = asyncio.Event()
    fix = call("write_file", "toolu_1", path="value.txt", content="fixed\n")
    fix.begin = answer

    def turn(body: dict[str, Any]) -> Turn:
        # A call that was cut before or after it had come is asked for again, and answered the same way.
        return text("Done.") if len(body["messages"]) > 1 else fix

    async with ScriptedServer([turn]) as server:
        env = environment(folder, server.url)
        args = ("run", "--headless", "--model", "claude-sonnet-5-5", "--verify", CHECK, "--repo", str(repo), "fix it")
        async with spawned(args, env, folder) as process:
            await process.until_type("round_started")
            yield Waiting(process, answer, env, folder)


async def test_commands_reach_a_run_of_another_process(tmp_path: Path) -> None:
    async with waiting(tmp_path) as run:
        code, out, err = await run.send("set_cap", "7", "--reason", "it is close", "--sender", "cron", "--id", "first")
        assert (code, out, err) == (0, "set_cap: 3 -> 7\n", "")
        # The same id again, also with another value: the first answer, and no second effect.
        assert await run.send("set_cap", "9", "--id", "first") == (0, "set_cap: 3 -> 7\n", "")
        code, out, _ = await run.send("set_budget", "usd", "2.50", "--json")
        event = json.loads(out)
        assert (code, event["type"], event["new"], event["run"]) == (0, "command_accepted", "$2.50", run.process.run)
        code, out, err = await run.send("approve")
        assert (code, out) == (1, "")
        assert "approve refused: nothing waits for an approval" in err
        code, out, _ = await run.send("resume", "--json")
        assert (code, json.loads(out)["type"]) == (1, "command_refused")
        assert (await run.send("steer", "look", "at", "value.txt"))[0] == 0
        run.answer.set()
        assert await run.process.end() == 0
        caps = [event for event in run.process.events if isinstance(event, CapChanged)]
        assert [(change.old, change.new) for change in caps] == [(3, 7)]
        accepted = next(event for event in run.process.events if isinstance(event, CommandAccepted))
        assert (accepted.sender, accepted.reason, accepted.command_id) == ("cron", "it is close", "first")
        assert [e.text for e in run.process.events if isinstance(e, SteerQueued)] == ["look at value.txt"]
        # After the end: the first answer again for a known id, one sentence for a new one.
        assert await run.send("set_cap", "8", "--id", "first") == (0, "set_cap: 3 -> 7\n", "")
        code, out, err = await run.send("set_cap", "8")
        assert (code, out, err) == (2, "", f"looptop: Run {run.process.run} has ended: passed.\n")
        assert list((tmp_path / "home" / "sockets").iterdir()) == []


async def test_abort_ends_the_run(tmp_path: Path) -> None:
    async with waiting(tmp_path) as run:
        code, out, _ = await run.send("abort", "--reason", "enough")
        assert (code, out) == (0, "abort: ending the run; the work is kept\n")
        assert await run.process.end() == 130
        end = run.process.events[-1]
        assert isinstance(end, RunFinished)
        assert end.detail.startswith("enough")


async def test_pause_and_resume(tmp_path: Path) -> None:
    async with waiting(tmp_path) as run:
        assert (await run.send("pause", "now"))[0] == 0
        await run.process.until_type("run_paused")
        code, out, _ = await run.send("resume")
        assert (code, out) == (0, "resume: going on\n")
        run.answer.set()
        assert await run.process.end() == 0


async def test_a_run_whose_process_was_killed(tmp_path: Path) -> None:
    async with waiting(tmp_path) as run:
        await run.process.kill()
        code, out, err = await run.send("set_cap", "7")
        assert (code, out) == (2, "")
        name = run.process.run
        assert (
            err == f"looptop: Run {name} was interrupted and isn't executed. `looptop resume {name}` goes on with it.\n"
        )


async def test_a_process_without_its_socket(tmp_path: Path) -> None:
    async with waiting(tmp_path) as run:
        for path in (tmp_path / "home" / "sockets").iterdir():
            path.unlink()
        code, out, err = await run.send("set_cap", "7")
        assert (code, out) == (3, "")
        assert f"Process {run.process.pid}, which hosts run {run.process.run}, takes no commands." in err


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("rnone", "abort"), "There is no run 'rnone'"),
        (("r1", "explode"), "There is no command 'explode'"),
        (("r1", "abort", "now"), "abort takes no value"),
        (("r1", "set_cap"), "set_cap takes a number from 1 to 20"),
        (("r1", "set_cap", "many"), "'many' isn't a number"),
        (("r1", "set_cap", "2.5"), "isn't a whole number"),
        (("r1", "set_cap", "0"), "greater than or equal to 1"),
        (("r1", "set_cap", "21"), "less than or equal to 20"),
        (("r1", "set_cap", "-1"), "greater than or equal to 1"),
        (("r1", "set_budget", "euros", "5"), "set_budget takes tokens, usd or minutes"),
        (("r1", "set_budget", "usd", "nan"), "is not valid"),
        (("r1", "set_budget", "tokens", "-5"), "greater than or equal to 0"),
        (("r1", "steer"), "steer' is not valid: text"),
        (("r1", "choose_recovery", "hope"), "is not valid"),
        (("r1", "approve", "x"), "isn't a number"),
        (("r1", "switch_model"), "switch_model takes a model's name"),
        (("r1", "set_stoploss"), "set_stoploss takes off, watch, ask or abort"),
        (("r1", "set_stoploss", "ask", "ask"), "set_stoploss takes off, watch, ask or abort"),
        (("r1", "verify_now", "--now"), "--now doesn't go with verify_now"),
        (("r1", "abort", "--id", " "), "--id is empty"),
    ],
)
def test_wrong_use_is_one_sentence(looptop: CommandLine, args: tuple[str, ...], part: str) -> None:
    assert part in one_sentence(looptop("send", *args), 2)


def test_every_command_has_its_words() -> None:
    said = {
        ("pause", "now"): {"now": True},
        ("steer", "a", "b"): {"text": "a b"},
        ("set_budget", "tokens", "1,000"): {"kind": "tokens", "value": 1000.0},
        ("set_budget", "minutes", "30"): {"kind": "seconds", "value": 1800.0},
        ("deny", "12"): {"step": 12},
        ("set_stoploss", "ask", "0.7"): {"mode": "ask", "threshold": 0.7},
        ("choose_recovery", "replan"): {"action": "replan"},
        ("switch_model", "local"): {"model": "local"},
        ("verify_now",): {},
        ("end_attempt",): {},
    }
    for (name, *values), fields in said.items():
        assert fields_of(name, tuple(values), False) == fields
    assert fields_of("steer", ("a",), True) == {"text": "a", "when": "now"}
    with pytest.raises(UsageError):
        fields_of("abort", (), True)
