"""A headless run killed with SIGKILL in each of its phases, and resumed: what the server receives, what is billed, what is left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from runtime.events.checks import StoplossScored
from runtime.events.loop import AttemptStarted, RoundFinished, RoundStarted, RunPrepared, ToolCalled, ToolFinished
from runtime.events.values import StepStatus
from runtime.loop.resuming import UNDECIDED
from runtime.process.tree import find_marked
from runtime.prompt.transcript import INTERRUPTED
from support.headless import looptop, spawned
from support.killed import DONE, FIX, check_prefix, check_sums, check_whole, field, marks, of, until, until_there
from support.scripted_server import Scripted, call
from support.scripted_turn import Turn


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
        assert "of its processes still ran and were ended" in (await place.stored(run))[-1].detail  # type: ignore[attr-defined]
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
        scored = [event.step for event in of(events, StoplossScored)]
        assert [step for step in scored if step > 5] == [8], "the monitor counts on"
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


async def test_of_two_that_resume_one_goes_on(tmp_path: Path) -> None:
    answer = asyncio.Event()
    waits = call("shell", "toolu_1", command="cat value.txt")
    waits.begin = answer
    async with field(tmp_path, [waits, FIX, DONE]) as place:
        async with place.start() as process:
            await process.until_type("round_started")
            await until(lambda: len(place.server.bodies) == 1)
            run = process.run
            await process.kill()
        answer.set()
        first, second = await asyncio.gather(place.resume(run), place.resume(run))
        codes = sorted(one.process.returncode or 0 for one in (first, second))
        assert codes == [0, 2]
        loser = first if first.process.returncode == 2 else second
        assert loser.events == []
        assert "Traceback" not in await loser.errors()
        end = check_whole(await place.stored(run))
        assert end.reason.value == "passed"
        assert len(place.server.bodies) == 3, "the lost call, and two of the one that went on"


async def test_killed_while_a_call_waits_for_its_approval(tmp_path: Path) -> None:
    asks = call("shell", "toolu_1", command="touch never")
    async with field(tmp_path, [asks, FIX, DONE]) as place:
        async with place.start("--approval", "ask") as process:
            await process.until_type("approval_requested")
            run = process.run
            await until(lambda: place.recorded("approval_requested") == 1)
            await process.kill()
        async with spawned(("resume", run), place.env, tmp_path) as process:
            assert await process.end() in (0, 1)
        events = await place.stored(run)
        check_whole(events)
        first = of(events, ToolFinished)[0]
        assert (first.status, first.content) == (StepStatus.INTERRUPTED, UNDECIDED)
        check_sums(place)
