"""Commands start without a terminal and end with everything they started."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from runtime.process.env import scrubbed_env
from runtime.process.run import Ending, ProcessResult, ProcessSpec, run_process, shell_argv
from runtime.process.tree import find_marked, reap_run
from support.repositories import git, make_repository

RUN = f"rtest{os.getpid()}"


def spec(command: str, folder: Path, timeout_s: float = 20.0, **more: object) -> ProcessSpec:
    env = scrubbed_env(os.environ, RUN)
    return ProcessSpec(shell_argv(command), folder, env, timeout_s, RUN, **more)  # type: ignore[arg-type]


async def run(command: str, folder: Path, timeout_s: float = 20.0, **more: object) -> ProcessResult:
    return await run_process(spec(command, folder, timeout_s, **more))


async def test_output_and_status_come_back(tmp_path: Path) -> None:
    result = await run("echo out; echo err >&2; exit 3", tmp_path)
    assert (result.ending, result.exit_code, result.head) == (Ending.EXITED, 3, "out\nerr\n")


async def test_a_pipeline_has_the_status_of_the_part_that_failed(tmp_path: Path) -> None:
    assert (await run("false | tail -5", tmp_path)).exit_code == 1


@pytest.mark.parametrize(
    "command",
    [
        'python3 -c "while True: pass"; true',
        "sleep 600",
        "(trap '' TERM; sleep 600) & trap '' TERM; sleep 600",
        "setsid sleep 600 & sleep 600",
        "(setsid bash -c 'sleep 600 & sleep 600' &) ; sleep 600",
    ],
)
async def test_a_timeout_ends_the_whole_tree_within_two_seconds(tmp_path: Path, command: str) -> None:
    began = time.monotonic()
    result = await run(f"echo so far; {command}", tmp_path, 0.4)
    assert time.monotonic() - began < 0.4 + 2.0
    assert (result.ending, result.exit_code, result.head) == (Ending.TIMED_OUT, None, "so far\n")
    assert result.survivors == ()
    assert find_marked(RUN) == []


async def test_cancelling_ends_the_tree_before_it_is_raised(tmp_path: Path) -> None:
    started = asyncio.Event()
    watched = spec("echo go; sleep 600 & sleep 600", tmp_path, 600, on_output=lambda _: started.set())
    task = asyncio.create_task(run_process(watched))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert find_marked(RUN) == []


async def test_what_is_left_in_the_background_ends_with_the_command(tmp_path: Path) -> None:
    result = await run("sleep 600 & nohup sleep 600 >/dev/null & echo done", tmp_path)
    assert (result.ending, result.exit_code, result.head) == (Ending.EXITED, 0, "done\n")
    assert find_marked(RUN) == []


async def test_a_group_that_has_just_gone_is_no_error(tmp_path: Path) -> None:
    results = await asyncio.gather(*(run("true", tmp_path, 0.05) for _ in range(20)))
    assert {result.ending for result in results} <= {Ending.EXITED, Ending.TIMED_OUT}


async def test_orphans_of_a_dead_worker_are_found_by_their_marker(tmp_path: Path) -> None:
    env = scrubbed_env(os.environ, "rdead")
    orphan = await asyncio.create_subprocess_exec("sleep", "600", env=env, start_new_session=True)
    assert find_marked("rdead") == [orphan.pid]
    ended, survivors = await reap_run("rdead")
    await orphan.wait()
    assert (ended, survivors) == (1, ())


@pytest.mark.parametrize(
    "command", ["cat", "read x", "python3", "git commit", "git rebase -i HEAD~1", "ssh nosuchhost.invalid"]
)
async def test_nothing_waits_for_somebody_to_type(tmp_path: Path, command: str) -> None:
    repo = make_repository(tmp_path / "repo", {"a": "1"})
    (repo / "a").write_text("2")
    git(repo, "commit", "-aqm", "second")
    before = git(repo, "log", "--format=%H")
    began = time.monotonic()
    result = await run(command, repo, 10)
    assert result.ending is Ending.EXITED
    assert time.monotonic() - began < 8
    if command != "cat" and not command.startswith("python3"):
        assert result.exit_code != 0
    assert git(repo, "log", "--format=%H") == before


async def test_pushing_asks_for_no_password(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", {"a": "1"})
    git(repo, "remote", "add", "origin", "https://127.0.0.1:9/x.git")
    assert (await run("git push origin main", repo, 10)).exit_code != 0


async def test_output_without_end_is_capped_on_disk_and_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "out" / "kept.txt"
    result = await run("yes", tmp_path, 20, output_path=path, output_cap_bytes=100_000, memory_cap_bytes=1_000)
    assert result.ending is Ending.OUTPUT_LIMIT
    assert path.stat().st_size == 100_000
    assert result.dropped_bytes == result.total_bytes - 100_000
    assert len(result.head) + len(result.tail) <= 2_000
    assert find_marked(RUN) == []


async def test_following_its_own_output_ends_too(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    result = await run(f"echo start; tail -f {path}", tmp_path, 5, output_path=path, output_cap_bytes=50_000)
    assert result.ending in (Ending.OUTPUT_LIMIT, Ending.TIMED_OUT)
    assert path.stat().st_size <= 50_000


@pytest.mark.parametrize("lang", [{}, {"LANG": "C", "LC_ALL": "C"}])
async def test_bytes_that_are_no_text_become_marks(tmp_path: Path, lang: dict[str, str]) -> None:
    env = {**scrubbed_env(os.environ, RUN), **lang}
    raw = ProcessSpec(
        shell_argv("printf '\\xff\\xfe\\x00'; printf '\\xe2\\x82'; sleep 0.05; printf '\\xac'"), tmp_path, env, 10, RUN
    )
    assert (await run_process(raw)).head == "\ufffd\ufffd\x00\u20ac"
    big = ProcessSpec(shell_argv("head -c 1000000 /dev/urandom"), tmp_path, env, 10, RUN, memory_cap_bytes=500_000)
    assert (await run_process(big)).total_bytes == 1_000_000


async def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = await run_process(ProcessSpec(["/no/such/program"], tmp_path, {}, 5, RUN))
    assert (result.ending, result.exit_code) == (Ending.NOT_STARTED, None)
    assert "No such file" in result.error


async def test_processor_time_of_children_is_counted(tmp_path: Path) -> None:
    result = await run("python3 -c 'sum(range(10**7))'; true", tmp_path)
    assert result.cpu_ms is not None
    assert 50 < result.cpu_ms <= result.wall_ms * 3


def test_the_environment_has_no_secrets_and_nothing_that_asks() -> None:
    env = scrubbed_env(
        {"PATH": "/bin", "ANTHROPIC_API_KEY": "x" * 20, "GITHUB_TOKEN": "y" * 20, "LC_ALL": "C", "DISPLAY": ":0"}, "r1"
    )
    assert env["PATH"] == "/bin"
    assert env["LC_ALL"] == "C"
    assert not {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "DISPLAY"} & set(env)
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert env["LOOPTOP_RUN"] == "r1"
