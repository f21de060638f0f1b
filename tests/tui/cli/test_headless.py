"""Whole runs from the command line, without a terminal: progress, report, events, exit codes, signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from runtime.process.tree import find_marked
from support.cli import ROOT, CommandLine, Said, one_sentence
from support.repositories import CHECK, git
from support.scripted_turn import Turn, call, text
from support.served import served

FIX = call("write_file", "toolu_fix", path="value.txt", content="fixed\n")
DONE = text("It says fixed now.")
RUN = ("run", "--headless", "--model", "claude-sonnet-5-5", "--verify", CHECK)


@pytest.fixture
def server(request: pytest.FixtureRequest, looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> object:
    """A server that plays the script given by parameter, by default one that fixes the repository."""
    script: list[Turn] = getattr(request, "param", [FIX, DONE])
    with served(looptop.folder, script) as url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-of-no-use-at-all")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        yield url


def run_id(said: Said) -> str:
    """The run of a report."""
    found = re.search(r"run (r\w+)", said.out or said.err)
    assert found, said
    return found[1]


def untouched(repo: Path) -> bool:
    """Whether the working tree is as it was."""
    return (repo / "value.txt").read_text() == "broken\n" and git(repo, "status", "--porcelain") == ""


@pytest.mark.usefixtures("server")
def test_a_fix_from_the_run_to_the_working_tree(looptop: CommandLine, repo: Path) -> None:
    said = looptop(*RUN, "--repo", str(repo), "the value is wrong")
    assert said.code == 0, said
    run = run_id(said)
    assert said.out.startswith(f"run {run}: passed\ntask        the value is wrong\n")
    assert "1 file, +1 -1" in said.out
    assert "attempt 1 of 3" in said.err
    assert "round 1: fresh" in said.err
    assert "\x1b" not in said.out + said.err
    assert untouched(repo)

    assert looptop("show", run[:3]).out == said.out
    assert "+fixed" in looptop("show", run, "--diff").out
    row = looptop("runs").out.splitlines()[1].split()
    assert (row[0], row[2], row[3], row[4]) == (run, "passed", "sonnet-5-5", "1")
    (line,) = json.loads(looptop("runs", "--json").out)
    assert (line["run"], line["reason"]) == (run, "passed")

    used = json.loads(looptop("usage", "--run", run, "--json").out)
    last = json.loads(looptop("show", run, "--json").out.splitlines()[-1])
    assert last["type"] == "run_finished"
    assert last["usage"]["output"] == sum(row["output"] for row in used) == 40
    assert last["cost_usd"] == pytest.approx(sum(row["cost_usd"] for row in used))
    total = looptop("usage", "--by", "round").out.splitlines()
    assert total[0].split() == ["round", "calls", "fresh", "written", "read", "output", "cache", "cost"]
    assert len(total) == 4

    applied = looptop("apply", run)
    assert (applied.code, applied.out) == (0, f"run {run}: 1 file changed in {repo}\n")
    assert (repo / "value.txt").read_text() == "fixed\n"
    assert "already" in looptop("apply", run).out
    assert looptop("discard", run, "--yes").code == 0
    assert git(repo, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    assert "no change" in one_sentence(looptop("apply", run), 2)


@pytest.mark.usefixtures("server")
def test_json_is_one_event_a_line_and_what_show_gives_again(looptop: CommandLine, repo: Path) -> None:
    said = looptop(*RUN, "--json", "--repo", str(repo))
    assert (said.code, said.err) == (0, "")
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all({"v", "run", "seq", "type", "at", "mono_ms"} <= set(event) for event in events)
    types = [event["type"] for event in events]
    assert types[0] == "run_queued"
    assert "text_delta" in types
    last = events[-1]
    assert last["type"] == "run_finished"
    assert (last["reason"], last["attempts"], last["rounds"]) == ("passed", 1, 2)
    assert set(last["usage"]) == {"input", "output", "cache_read", "cache_write"}
    assert last["cost_usd"] > 0
    assert last["diff_stat"]["files"] == 1
    assert looptop("show", last["run"], "--json").out == said.out


@pytest.mark.parametrize("server", [[FIX, DONE, FIX, DONE]], indirect=True)
@pytest.mark.usefixtures("server")
def test_a_run_goes_on_from_another(looptop: CommandLine, repo: Path) -> None:
    first = run_id(looptop(*RUN, "--repo", str(repo), "the value is wrong"))
    said = looptop(*RUN, "--repo", str(repo), "and once more", "--continue", first[:4], "--json")
    assert said.code == 0, said
    events = [json.loads(line) for line in said.out.splitlines()]
    assert "window_taken" in [event["type"] for event in events]
    assert events[-1]["reason"] == "passed"


@pytest.mark.usefixtures("server")
def test_apply_at_once(looptop: CommandLine, repo: Path) -> None:
    said = looptop(*RUN, "--repo", str(repo), "--apply")
    assert said.code == 0, said
    assert "applied to the working tree" in said.out
    assert (repo / "value.txt").read_text() == "fixed\n"


@pytest.mark.usefixtures("server")
def test_a_branch_at_once_whatever_its_name(looptop: CommandLine, repo: Path) -> None:
    said = looptop(*RUN, "--repo", str(repo), "--branch", "failed-before")
    assert said.code == 0, said
    assert "kept as branch failed-before" in said.out
    assert git(repo, "show", "failed-before:value.txt") == "fixed\n"
    assert untouched(repo)


@pytest.mark.usefixtures("server")
def test_a_change_that_cannot_be_applied_is_no_success(looptop: CommandLine, repo: Path) -> None:
    (repo / "value.txt").write_text("edited meanwhile\n")
    said = looptop(*RUN, "--repo", str(repo), "--apply")
    assert said.code == 3, said
    assert "apply failed" in said.out
    assert (repo / "value.txt").read_text() == "edited meanwhile\n"


@pytest.mark.usefixtures("server")
def test_a_repository_that_passes_already(looptop: CommandLine, repo: Path) -> None:
    (repo / "value.txt").write_text("fixed\n")
    git(repo, "commit", "-qam", "fixed")
    said = looptop(*RUN, "--repo", str(repo))
    assert said.code == 0, said
    assert "already ok" in said.out
    assert "no model call was made" in said.out


@pytest.mark.parametrize("server", [[text("No idea.")]], indirect=True)
@pytest.mark.usefixtures("server")
def test_not_fixed(looptop: CommandLine, repo: Path) -> None:
    assert looptop(*RUN, "--repo", str(repo)).code == 1


@pytest.mark.parametrize(
    "server", [[call("write_file", "toolu_w", path="value.txt", content="wrong\n"), DONE]], indirect=True
)
@pytest.mark.usefixtures("server")
def test_the_cap(looptop: CommandLine, repo: Path) -> None:
    said = looptop(*RUN, "--repo", str(repo), "--cap", "1")
    assert said.code == 1, said
    assert "cap reached" in said.out


@pytest.mark.usefixtures("server")
def test_a_budget(looptop: CommandLine, repo: Path) -> None:
    said = looptop(*RUN, "--repo", str(repo), "--budget-tokens", "100")
    assert said.code == 4, said
    assert "stopped at the token budget" in said.out


@pytest.mark.usefixtures("server")
def test_nothing_that_could_drive_a_terminal_is_printed(looptop: CommandLine, repo: Path) -> None:
    said = looptop(*RUN, "--repo", str(repo), "red \x1b[31m and back \u202e\x9b31m")
    assert said.code == 0
    shown = said.out + said.err + looptop("runs").out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown)


@pytest.mark.usefixtures("server")
def test_an_argument_that_is_no_text(looptop: CommandLine, repo: Path) -> None:
    said = looptop.process(*RUN, "--repo", str(repo), os.fsdecode(b"caf\xe9"), env=connection())
    assert said.code == 0, said
    assert "caf\ufffd" in said.out


def connection() -> dict[str, str]:
    """What a process of its own needs to find the server."""
    return {name: os.environ[name] for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")}


class Reader:
    """Reads a stream line by line without ever blocking the process that writes it."""

    def __init__(self, stream: IO[str] | None) -> None:
        assert stream is not None
        self._stream = stream
        self.lines: list[str] = []
        self._over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            with self._changed:
                self.lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def end(self) -> None:
        """Wait for the stream's end."""
        self._thread.join(timeout=60)

    def wait_for(self, part: str) -> None:
        """Wait until a line holds a text."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or any(part in line for line in self.lines), 60)
            assert any(part in line for line in self.lines), self.lines


SLEEPS = [
    call("write_file", "toolu_w", path="value.txt", content="half\n"),
    call("shell", "toolu_s", command="sleep 300"),
]


@pytest.mark.parametrize("server", [SLEEPS], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("server")
def test_a_signal_ends_the_run_and_keeps_its_work(looptop: CommandLine, repo: Path, number: signal.Signals) -> None:
    with looptop.spawn(*RUN, "--repo", str(repo), env=connection()) as process:
        progress = Reader(process.stderr)
        progress.wait_for("sleep 300")
        run = run_id(Said(0, "", "".join(progress.lines)))
        start = time.monotonic()
        process.send_signal(number)
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - start < 10
        progress.end()
    assert find_marked(run) == []
    assert "Traceback" not in "".join(progress.lines)
    report = looptop("show", run)
    assert "aborted" in report.out
    assert "+half" in looptop("show", run, "--diff").out
    assert untouched(repo)


@pytest.mark.parametrize("server", [SLEEPS], indirect=True)
@pytest.mark.usefixtures("server")
def test_a_reader_that_goes_away_ends_the_run(looptop: CommandLine, repo: Path) -> None:
    with looptop.spawn(*RUN, "--json", "--repo", str(repo), env=connection()) as process:
        assert process.stdout is not None
        run = json.loads(process.stdout.readline())["run"]
        process.stdout.close()
        errors = Reader(process.stderr)
        assert process.wait(timeout=60) == 130
        errors.end()
    assert "Traceback" not in "".join(errors.lines)
    assert find_marked(run) == []
    assert "aborted" in looptop("show", run).out


def test_what_is_buffered_for_a_reader_that_has_gone_changes_no_exit_code() -> None:
    code = "import sys, tui.cli as cli; cli.run = lambda args: sys.stdout.write('x') and 130; cli.main([])"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], env=env, cwd=ROOT, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize("server", [SLEEPS], indirect=True)
@pytest.mark.usefixtures("server")
def test_a_killed_process_leaves_an_interrupted_run(looptop: CommandLine, repo: Path) -> None:
    with looptop.spawn(*RUN, "--repo", str(repo), env=connection()) as process:
        progress = Reader(process.stderr)
        progress.wait_for("sleep 300")
        run = run_id(Said(0, "", "".join(progress.lines)))
        process.kill()
        process.wait(timeout=30)
        progress.end()
    row = looptop("runs").out.splitlines()[1].split()
    assert (row[0], row[2]) == (run, "interrupted")
    assert find_marked(run) == []
    assert "interrupted" in looptop("show", run).out
    assert untouched(repo)


@pytest.mark.parametrize("command", [("config",), ("--help",), ("caps",)])
def test_output_that_nobody_reads_is_no_error(looptop: CommandLine, command: tuple[str, ...]) -> None:
    with looptop.spawn(*command) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 0
