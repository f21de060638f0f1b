"""What a resumed run goes on with: numbers, limits, commands, sums; and what can't be resumed, in one sentence each."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.events.checks import RecoveryDecided, VerifyStarted
from runtime.events.loop import (
    AttemptFinished,
    AttemptStarted,
    PromptAdded,
    RoundFinished,
    RoundStarted,
    RunFinished,
    ToolFinished,
)
from runtime.events.supervision import BudgetChanged, CapChanged, RunResumed, SteerDelivered
from runtime.process.tree import find_marked
from support.headless import environment, looptop, spawned
from support.killed import DONE, FIX, Field, check_prefix, check_sums, check_whole, field, of, until
from support.repositories import ADDER, make_repository
from support.scripted_server import Scripted, call, text
from tui.cli import run as command_line
from tui.resuming import ResumeRequest

WRONG = call("write_file", "toolu_w", path="value.txt", content="wrong\n")


@asynccontextmanager
async def killed_in_second_attempt(folder: Path) -> AsyncIterator[tuple[Field, str, asyncio.Event]]:
    """A run whose process died in the first call of its second attempt, after a supervisor had said this and that."""
    answer = asyncio.Event()
    waits = call("shell", "toolu_2", command="cat value.txt")
    waits.begin = answer
    script: list[Scripted] = [WRONG, text("I think so."), waits, FIX, DONE]
    async with field(folder, script) as place:
        async with place.start() as process:
            await process.until(lambda event: isinstance(event, RoundStarted) and event.round == 3)
            await until(lambda: len(place.server.bodies) == 3)
            run = process.run
            for words in (("set_cap", "6", "--id", "one"), ("set_budget", "tokens", "500000"), ("steer", "be brief")):
                assert (await looptop(("send", run, *words), place.env, folder))[0] == 0
            await process.kill()
        answer.set()
        yield place, run, answer


async def test_everything_goes_on_as_it_was_set(tmp_path: Path) -> None:
    async with killed_in_second_attempt(tmp_path) as (place, run, _):
        assert await looptop(("send", run, "set_cap", "9", "--id", "one"), place.env, tmp_path) == (
            0,
            "set_cap: 3 -> 6\n",
            "",
        )
        resumed = await place.resume(run, "--budget-minutes", "30")
        assert resumed.process.returncode == 0, await resumed.errors()
        first = resumed.events[0]
        assert isinstance(first, RunResumed)
        assert first.resumed
        events = await place.stored(run)
        end = check_whole(events)
        assert (end.reason.value, end.attempts, end.rounds) == ("passed", 2, 5)
        assert [event.attempt for event in of(events, AttemptStarted)] == [1, 2, 2]
        assert [event.attempt for event in of(events, AttemptFinished)] == [1, 2]
        assert [event.attempt for event in of(events, VerifyStarted)] == [0, 1, 2], "nothing is verified twice"
        assert len(of(events, RecoveryDecided)) == 1
        second = of(events, AttemptFinished)[1]
        assert second.comparison.fixed != (), "the baseline's findings are compared with"
        assert [change.new for change in of(events, CapChanged)] == [6]
        assert [(c.kind, c.new) for c in of(events, BudgetChanged)] == [("tokens", 500_000), ("seconds", 1_800)]
        (delivered,) = of(events, SteerDelivered)
        assert delivered.dropped == "the run ended", "what waits for the next attempt waits on"
        check_prefix(place.server.bodies[1], place.server.bodies[3])
        report = (await looptop(("show", run), place.env, tmp_path))[1]
        assert "passed" in report


async def test_the_price_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    async with killed_in_second_attempt(tmp_path) as (place, run, _):
        code, out, err = await looptop(("resume", run[:4]), place.env, tmp_path)
        assert code == 0
        said = err.splitlines()[0]
        assert said.startswith(f"run {run}: interrupted ")
        assert "goes on in the fix phase of attempt 2" in said
        assert "prompt tokens" in said
        assert "at the write price" in said
        assert "the model call in flight counts at its worst case" in said
        assert out.startswith(f"run {run}: passed\n")
        assert "Traceback" not in err


async def test_sums_go_on_across_the_restart_and_bind(tmp_path: Path) -> None:
    async with killed_in_second_attempt(tmp_path) as (place, run, _):
        assert (await looptop(("runs",), place.env, tmp_path))[0] == 0
        spent = sum(row["cost_micros"] for row in place.usage())
        sent = len(place.server.received)
        resumed = await place.resume(run, "--budget-usd", str((spent + 100) / 1e6))
        assert resumed.process.returncode == 4
        end = resumed.events[-1]
        assert isinstance(end, RunFinished)
        assert end.reason.value == "cost_budget"
        assert f"${spent / 1e6:,.4f} used" in end.detail
        assert (end.cost_micros, end.attempts) == (spent, 2)
        assert len(place.server.received) == sent, "nothing was sent"
        check_whole(await place.stored(run))


async def test_killed_again_and_again(tmp_path: Path) -> None:
    async with killed_in_second_attempt(tmp_path) as (place, run, answer):
        for number in (4, 5):
            answer.clear()
            async with spawned(("resume", run), place.env, tmp_path) as process:
                await process.until(lambda event, n=number: isinstance(event, RoundStarted) and event.round == n)  # type: ignore[misc]
                await process.kill()
            answer.set()
        resumed = await place.resume(run)
        assert resumed.process.returncode in (0, 1)
        events = await place.stored(run)
        end = check_whole(events)
        assert end.attempts >= 2
        assert find_marked(run) == []
        assert place.server.rules == []
        rows = place.usage()
        assert len({(row["round"], row["call_id"]) for row in rows}) == len(rows)
        assert end.cost_micros == sum(row["cost_micros"] for row in rows)


async def test_what_cannot_be_resumed_is_said_in_one_sentence_and_changes_nothing(tmp_path: Path) -> None:
    async with killed_in_second_attempt(tmp_path) as (place, run, _):

        async def refused(code: int, part: str, *args: str) -> None:
            said = await looptop(("resume", *(args or (run,))), place.env, tmp_path)
            assert (said[0], said[1], len(said[2].splitlines())) == (code, "", 1), said
            assert part in said[2]

        store = tmp_path / "home" / "looptop.db"

        def change(sql: str) -> None:
            with sqlite3.connect(store) as connection:
                connection.execute(sql)

        await refused(2, "There is no run 'rnone'", "rnone")
        await refused(2, "--cap 1: 2 attempts of this leg are made already", run, "--cap", "1")
        await refused(2, "1 to 20", run, "--cap", "21")
        await refused(2, "out of range", run, "--budget-usd", "-1")
        workspace = tmp_path / "home" / "workspaces" / run
        workspace.rename(tmp_path / "elsewhere")
        await refused(3, "is gone or isn't whole")
        (tmp_path / "elsewhere").rename(workspace)
        change("UPDATE events SET body = replace(body, '\"v\":1,', '\"v\":99,') WHERE seq = 5")
        await refused(3, "a newer looptop wrote it (events of version 99, this one knows 1)")
        change("UPDATE events SET body = replace(body, '\"v\":99,', '\"v\":1,') WHERE seq = 5")
        change(f"UPDATE runs SET pruned_at = '2026-11-30T00:00:00' WHERE id = '{run}'")
        await refused(3, "its events were removed on 2026-11-30")
        change(f"UPDATE runs SET pruned_at = NULL WHERE id = '{run}'")
        resumed = await place.resume(run)
        assert resumed.process.returncode == 0
        await refused(2, "has ended: passed. Only an interrupted run can be resumed.")


async def test_a_run_that_lives_is_not_taken_over(tmp_path: Path) -> None:
    answer = asyncio.Event()
    waits = call("write_file", "toolu_1", path="value.txt", content="fixed\n")
    waits.begin = answer
    async with field(tmp_path, [waits, DONE]) as place, place.start() as process:
        await process.until_type("round_started")
        code, out, err = await looptop(("resume", process.run), place.env, tmp_path)
        assert (code, out) == (2, "")
        assert "is being executed" in err
        answer.set()
        assert await process.end() == 0
        check_sums(place)


async def test_the_embedded_model_resumes_from_its_transcript(tmp_path: Path) -> None:
    make_repository(tmp_path / "repo", ADDER)
    env = environment(tmp_path)
    args = ("run", "--headless", "--model", "local", "--repo", "repo", "--verify", "python3 -m pytest -q")
    async with spawned(args, env, tmp_path) as process:
        await process.until(lambda event: isinstance(event, ToolFinished))
        run = process.run
        await process.kill()
    async with spawned(("resume", run), env, tmp_path) as process:
        assert await process.end() == 0, await process.errors()
        end = process.events[-1]
        assert isinstance(end, RunFinished)
        assert (end.reason.value, end.attempts) == ("passed", 1)
        assert not of(process.events, PromptAdded), "nothing is said to it twice"
    assert find_marked(run) == []
    shutil.rmtree(tmp_path / "home")


@pytest.mark.parametrize(("answer", "opened"), [("\n", 1), ("n\n", 0)])
async def test_at_a_terminal_the_price_is_told_before_the_dashboard_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, opened: int
) -> None:
    requests: list[ResumeRequest] = []

    def open_dashboard(**given: object) -> int:
        assert isinstance(given["resume"], ResumeRequest)
        requests.append(given["resume"])
        return 0

    async with killed_in_second_attempt(tmp_path) as (place, run, _):
        for name, value in place.env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("tui.commands.resume.has_terminal", lambda: True)
        monkeypatch.setattr("tui.dashboard.open_dashboard", open_dashboard)
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        code = await asyncio.to_thread(command_line, ["resume", run, "--cap", "4"])
        assert code == (0 if opened else 130)
        assert f"run {run}: interrupted " in capsys.readouterr().err
        assert [(request.run, request.commands[0].command) for request in requests] == [(run, "set_cap")] * opened
        assert all(request.holds["hold_on_cap"] for request in requests), "somebody is there to be asked"
        assert (await looptop(("runs",), place.env, tmp_path))[1].count("interrupted") == 1


async def test_a_judged_attempt_is_not_verified_again(tmp_path: Path) -> None:
    """The record ends with the verdict; the call that followed was reserved and sent, but nothing of it was recorded."""
    async with killed_in_second_attempt(tmp_path) as (place, run, _):
        with sqlite3.connect(tmp_path / "home" / "looptop.db") as connection:
            (last,) = connection.execute("SELECT seq FROM events WHERE type = 'attempt_finished'").fetchone()
            connection.execute("DELETE FROM events WHERE seq > ?", (last,))
            connection.execute("DELETE FROM commands")
            connection.execute("UPDATE runs SET last_seq = ?", (last,))
        resumed = await place.resume(run)
        assert resumed.process.returncode == 0, await resumed.errors()
        events = await place.stored(run)
        end = check_whole(events)
        assert (end.reason.value, end.attempts, end.rounds) == ("passed", 2, 5)
        assert [event.attempt for event in of(events, VerifyStarted)] == [0, 1, 2]
        assert len(of(events, RecoveryDecided)) == 1
        lost = next(event for event in of(events, RoundFinished) if event.round == 3)
        assert lost.outcome == "interrupted"
        # The feedback has the same bytes, though the event holds less of the output than the model reads.
        first, again = place.server.bodies[2], place.server.bodies[3]
        assert json.dumps(first["messages"]) == json.dumps(again["messages"])
        assert end.cost_micros == sum(row["cost_micros"] for row in place.usage())
