"""Whole runs through the real adapters against the scripted server: strict requests, sums to the token, crashes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.events.loop import RunFinished
from runtime.events.values import RunSettings, StopReason, VerifySpec
from store.store import open_store
from support.messages_rules import without_marks
from support.repositories import CHECK, CHECKED, git, make_repository
from support.scripted_server import Scripted, ScriptedServer, call, refuse, text
from tui.compose import HostSettings, RunRequest, open_cockpit

FIX = call("write_file", "toolu_fix", path="value.txt", content="fixed\n")


async def run_against(
    server: ScriptedServer, folder: Path, model: str = "claude-sonnet-5-5", **settings: object
) -> RunFinished:
    """One run of the small project, with a real adapter pointed at the server."""
    repo = folder / "repo"
    if not repo.exists():
        make_repository(repo, CHECKED)
    claude = model.startswith("claude")
    env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": server.url}
    host = HostSettings(base_url=None if claude else server.url)
    request = RunRequest(repo, "", RunSettings(model=model, **settings), (VerifySpec(command=CHECK),))
    async with open_cockpit(folder / "home", host, env) as cockpit:
        return await (await cockpit.start(request)).done


def ten_rounds() -> list[Scripted]:
    """Reads, a wrong fix, a failing verify, more reads, the right fix, an end: ten replies."""
    return [
        *(call("shell", f"toolu_{n}", command=f"seq {n}000 {n}300") for n in range(1, 4)),
        call("write_file", "toolu_w", path="value.txt", content="wrong\n"),
        text("I think it is fixed."),
        *(call("shell", f"toolu_{n}", command=f"cat check.py; echo {n}") for n in range(4, 7)),
        FIX,
        text("Now it is."),
    ]


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "Qwen/Qwen3-Coder-30B"])
async def test_ten_rounds_with_a_failing_verify_end_in_a_pass(tmp_path: Path, model: str) -> None:
    async with ScriptedServer(ten_rounds()) as server:
        end = await run_against(server, tmp_path, model)
        assert (end.reason, end.attempts, end.rounds) == (StopReason.PASSED, 2, 10)
        assert server.rules == []
        assert len(server.bodies) == 10


async def test_sums_equal_the_servers_to_the_token(tmp_path: Path) -> None:
    async with ScriptedServer(ten_rounds()) as server:
        end = await run_against(server, tmp_path)
        assert end.usage == {
            "input": sum(c.fresh for c in server.counted),
            "output": sum(server.outputs),
            "cache_read": sum(c.read for c in server.counted),
            "cache_write": sum(c.written_5m for c in server.counted),
        }
        done = subprocess.run(
            [sys.executable, "-m", "tui", "usage", "--by", "run", "--json"],
            env={**os.environ, "LOOPTOP_HOME": str(tmp_path / "home")},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        )
        (row,) = json.loads(done.stdout)
        assert row["calls"] == 10
        assert {name: row[name] for name in end.usage} == end.usage


async def test_every_request_begins_with_the_one_before_it(tmp_path: Path) -> None:
    """Marks apart, byte for byte; tools and system prompt are the same bytes in every request."""
    async with ScriptedServer(ten_rounds()) as server:
        await run_against(server, tmp_path)
        for before, after in zip(server.bodies, server.bodies[1:], strict=False):
            assert json.dumps(before["tools"]) == json.dumps(after["tools"])
            assert json.dumps(before["system"]) == json.dumps(after["system"])
            old = json.dumps(without_marks(before["messages"]))
            new = json.dumps(without_marks(after["messages"]))
            # The last message may have grown: its closing brackets are not part of what must stand.
            assert new.startswith(old.removesuffix("]}]"))


async def test_from_the_second_round_on_most_of_the_prompt_is_read_from_cache(tmp_path: Path) -> None:
    async with ScriptedServer(ten_rounds()) as server:
        await run_against(server, tmp_path)
        assert server.counted[0].read == 0
        for before, after in zip(server.counted, server.counted[1:], strict=False):
            assert after.read == before.read + before.written_5m
            assert after.fresh == 0


async def test_a_retry_in_the_middle_is_counted_and_changes_nothing_else(tmp_path: Path) -> None:
    script = ten_rounds()
    script[3:3] = [text("broken off here", fault="cut")]
    async with ScriptedServer(script) as server:
        end = await run_against(server, tmp_path)
        assert (end.reason, end.rounds) == (StopReason.PASSED, 10)
        read = sum(c.read for c in server.counted)
        assert (end.usage["output"] or 0) == sum(server.outputs) + 4
        assert (end.usage["cache_read"] or 0) > read


async def test_an_endless_overload_ends_bounded_and_told(tmp_path: Path) -> None:
    from runtime.models.transport import RetryPolicy

    async with ScriptedServer([refuse(529)]) as server:
        repo = make_repository(tmp_path / "repo", CHECKED)
        env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": server.url}
        host = HostSettings(transport=RetryPolicy(tries=3, base_s=0.01))
        async with open_cockpit(tmp_path / "home", host, env) as cockpit:
            handle = await cockpit.start(
                RunRequest(repo, "", RunSettings(model="claude-sonnet-5-5"), (VerifySpec(command=CHECK),))
            )
            end = await handle.done
        assert end.reason is StopReason.UNRECOVERABLE
        assert "given up after 3 tries" in end.detail
        assert end.attempts == 1
        assert len(server.received) == 3
        assert end.cost_micros == 0


async def _killed_while_answering(server: ScriptedServer, folder: Path, replies: int) -> str:
    """Start a run in a process of its own and kill it while the reply after `replies` is on its way; returns the run's id."""
    repo = make_repository(folder / "repo", CHECKED)
    env = {
        **os.environ,
        "ANTHROPIC_API_KEY": "test-key-of-no-use",
        "ANTHROPIC_BASE_URL": server.url,
        "LOOPTOP_HOME": str(folder / "home"),
    }
    import asyncio

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tui", "run", "--headless", "--json", "--model", "claude-sonnet-5-5"),
        *("--repo", str(repo), "--verify", CHECK),
        cwd=Path(__file__).parents[3],
        env=env,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    run = ""
    async for line in process.stdout:
        event = json.loads(line)
        run = event["run"]
        if event["type"] == "text_delta" and event["round"] == replies + 1:
            break
    process.send_signal(signal.SIGKILL)
    await process.wait()
    return run


@pytest.mark.parametrize("replies", [0, 2])
async def test_killed_in_the_middle_every_finished_reply_is_in_the_ledger(tmp_path: Path, replies: int) -> None:
    import asyncio

    gate = asyncio.Event()
    script: Sequence[Scripted] = [
        *(call("shell", f"toolu_{n}", command=f"echo {n}") for n in range(replies)),
        text("this reply never ends", gate=gate),
    ]
    async with ScriptedServer(script) as server:
        run = await _killed_while_answering(server, tmp_path, replies)
        async with open_cockpit(tmp_path / "home", HostSettings()) as cockpit:
            view = await cockpit.store.history.view(run)
            rows = await cockpit.store.reports.usage("round", run=run)
        gate.set()
    assert view.reason is StopReason.INTERRUPTED
    assert [row.key for row in rows] == [str(n + 1) for n in range(replies + 1)]
    assert sum(row.usage.output or 0 for row in rows if not row.estimated) == sum(server.outputs[:replies])
    assert rows[-1].estimated
    assert git(tmp_path / "repo", "status", "--porcelain") == ""
    async with open_store(tmp_path / "home") as store:
        assert (await store.history.line(run)).reason == "interrupted"
