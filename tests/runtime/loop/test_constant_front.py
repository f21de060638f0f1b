"""What the server receives in front of the messages is the same bytes, whatever changes around a run; a tool that fails stays declared."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runtime.events.values import RunSettings, VerifySpec
from runtime.tools import shell
from support.cache_model import without_marks
from support.repositories import CHECK, CHECKED, make_repository
from support.scripted_server import Scripted, ScriptedServer, call, text
from support.wire_bytes import continued, front
from tui.compose import HostSettings, RunRequest, open_cockpit

FIX = call("write_file", "toolu_fix", path="value.txt", content="fixed\n")


async def run(server: ScriptedServer, repo: Path, home: Path, **settings: Any) -> None:
    env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": server.url}
    request = RunRequest(
        repo, "", RunSettings(model="claude-sonnet-5-5", cap=1, **settings), (VerifySpec(command=CHECK),)
    )
    async with open_cockpit(home, HostSettings(), env) as cockpit:
        await (await cockpit.start(request)).done


async def test_another_day_branch_state_and_place_change_nothing_in_front(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages too are the same where the task is: what differs between the runs is nowhere in the request."""
    script: list[Scripted] = [call("shell", "toolu_1", command="cat value.txt"), FIX, text("Done."), text("Done.")]
    fronts: set[bytes] = set()
    openings: set[str] = set()
    for name, zone in (("one", "UTC"), ("another/place", "Pacific/Kiritimati")):
        monkeypatch.setenv("TZ", zone)
        repo = make_repository(tmp_path / name / "repo", CHECKED)
        if name != "one":
            subprocess.run(["git", "switch", "-q", "-c", "other-branch"], cwd=repo, check=True)
            (repo / "untracked.txt").write_text("new\n")
        async with ScriptedServer(script) as server:
            await run(server, repo, tmp_path / name / "home")
            assert server.rules == []
            assert len(server.received) == 3
            fronts |= {front(request.body) for request in server.received}
            openings.add(str(without_marks(server.bodies[0]["messages"])))
    assert len(fronts) == 1
    assert len(openings) == 1
    assert str(tmp_path).encode() not in fronts.pop()


async def test_a_tool_that_fails_for_some_rounds_stays_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = shell.search, 0

    async def search(*args: Any, **arguments: Any) -> Any:
        nonlocal asked
        asked += 1
        if 3 <= asked <= 5:
            raise OSError("git can't be started")
        return await real(*args, **arguments)

    monkeypatch.setattr(shell, "search", search)
    script: list[Scripted] = [*(call("search", f"toolu_{n}", pattern=f"pattern{n}") for n in range(1, 8)), FIX]
    async with ScriptedServer([*script, text("Done.")]) as server:
        await run(server, make_repository(tmp_path / "repo", CHECKED), tmp_path / "home")
    assert server.rules == []
    assert len({front(request.body) for request in server.received}) == 1
    bodies = [request.body for request in server.received]
    assert continued(bodies) == (len(bodies) - 1, len(bodies) - 1)
    blocks = [block for message in server.bodies[-1]["messages"] for block in message["content"]]
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert [bool(block.get("is_error")) for block in results[:7]] == [False, False, True, True, True, False, False]
    assert all("git can't be started" in block["content"] for block in results[2:5])


@pytest.mark.parametrize("ttl", ["5m", "1h"])
async def test_never_more_than_four_marks_each_with_the_lifetime_that_was_set(tmp_path: Path, ttl: str) -> None:
    script: list[Scripted] = [*(call("shell", f"toolu_{n}", command=f"echo {n}") for n in range(4)), FIX, text("Done.")]
    async with ScriptedServer(script) as server:
        await run(server, make_repository(tmp_path / "repo", CHECKED), tmp_path / "home", ttl=ttl)
    assert server.rules == []
    for number, body in enumerate(server.bodies):
        places = [*body["tools"], *body["system"], *(b for m in body["messages"] for b in m["content"])]
        marks = [block["cache_control"] for block in places if "cache_control" in block]
        assert len(marks) == (3 if number == 0 else 4)
        assert {mark.get("ttl", "5m") for mark in marks} == {ttl}
    assert all((counted.written_1h if ttl == "5m" else counted.written_5m) == 0 for counted in server.counted)
