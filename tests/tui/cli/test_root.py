"""The command line's root: help, errors nobody foresaw, the log, doctor, and the embedded demo."""

from __future__ import annotations

import asyncio
import importlib
import os
from pathlib import Path
from typing import Any

import pytest

import tui.headless
from runtime.errors import ExitCode
from runtime.events.values import Cause, StopReason
from runtime.view import RunView
from runtime.view.model import AttemptRow
from support.cli import CommandLine, one_sentence
from tui.cli import COMMANDS, SUMMARIES
from tui.headless import EXIT_CODES, exit_code


def test_every_command_is_there_and_says_what_it_does(looptop: CommandLine) -> None:
    listed = looptop("--help").out
    assert list(COMMANDS) == list(SUMMARIES)
    for name in COMMANDS:
        assert f"  {name} " in listed
        said = looptop(name, "--help")
        assert said.code == 0
        assert said.out.startswith(f"Usage: looptop {name}")


def test_the_version(looptop: CommandLine) -> None:
    from importlib.metadata import version

    assert looptop("--version").out == f"looptop, version {version('looptop')}\n"


def test_the_dashboard_needs_a_terminal(looptop: CommandLine) -> None:
    assert "needs a terminal" in one_sentence(looptop(), 2)
    assert not looptop.home.exists()


def test_an_error_that_nobody_foresaw(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "a-very-secret-value"
    monkeypatch.setenv("SOME_API_KEY", secret)

    def broken(*_: Any) -> None:
        raise RuntimeError(f"first \x1b[31m {secret}\nsecond")

    monkeypatch.setattr(importlib.import_module("tui.commands.config"), "load_settings", broken)
    line = one_sentence(looptop("config"), 3)
    log = looptop.home / "logs" / "looptop.log"
    assert (
        line
        == f"looptop: looptop itself failed: RuntimeError: first \u241b[31m [secret] second. The details are in {log}."
    )
    text = log.read_text()
    assert "Traceback" in text
    assert "in broken" in text
    assert secret not in text
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700
    assert looptop.home.stat().st_mode & 0o777 == 0o700


def test_an_error_where_not_even_the_log_can_be_written(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr(importlib.import_module("tui.commands.config"), "load_settings", broken)
    monkeypatch.setenv("LOOPTOP_HOME", "/proc/nowhere")
    assert one_sentence(looptop("config"), 3) == "looptop: looptop itself failed: RuntimeError: oops."


def test_an_interrupt_is_quiet(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("tui.commands.config"), "load_settings", interrupted)
    said = looptop("config")
    assert (said.code, said.out, said.err) == (130, "", "\n")


def test_the_log_is_bounded(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    from tui import logs

    monkeypatch.setattr(logs, "MOST_BYTES", 100)
    for _ in range(10):
        logs.write_log(looptop.home, {}, "x" * 60)
    assert {path.name for path in (looptop.home / "logs").iterdir()} == {"looptop.log", "looptop.log.1"}
    assert all(path.stat().st_size <= 200 for path in (looptop.home / "logs").iterdir())


def test_doctor(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-to-be-shown-anywhere")
    said = looptop("doctor")
    assert said.code == 0, said
    rows = {line.split()[1]: line for line in said.out.splitlines()}
    promises = {"writes", "home", "network", "sockets", "processes", "ending"}
    assert set(rows) - promises == {
        *("python", "git", "store", "settings", "model", "pytest", "anthropic", "openai", "prices", "sandbox")
    }
    assert rows["model"].startswith("ok   model      local")
    confined = rows["sandbox"].startswith("ok   sandbox    bubblewrap: ")
    assert confined or rows["sandbox"].startswith("-    sandbox    no sandbox (")
    assert {name for name in promises & set(rows) if rows[name].startswith("ok")} == (promises if confined else set())
    assert "never-to-be-shown" not in said.out + said.err


def test_doctor_names_what_is_wrong(looptop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    looptop.config.write_text("model = 3\n")
    monkeypatch.setenv("LOOPTOP_HOME", "/proc/nowhere")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    said = looptop("doctor")
    assert said.code == 3
    bad = [line.split()[1] for line in said.out.splitlines() if line.startswith("bad")]
    assert bad == ["store", "settings", "model", "openai", "sandbox"]
    looptop.config.unlink()
    assert "http://127.0.0.1:9/v1/models can't be reached" in looptop("doctor").out


def test_exit_codes_of_all_reasons() -> None:
    codes = {reason.value: int(EXIT_CODES[reason]) for reason in StopReason}
    assert codes == {
        "passed": 0,
        "already_passing": 0,
        "cap_reached": 1,
        "round_limit": 1,
        "gave_up": 1,
        "token_budget": 4,
        "cost_budget": 4,
        "time_budget": 4,
        "stoploss": 4,
        "aborted": 130,
        "unrecoverable": 3,
        "interrupted": 3,
    }


def test_a_pass_that_is_none() -> None:
    row = AttemptRow(attempt=1, attempt_of_leg=1, leg=1, model="m", started_ms=0, cause=Cause.TESTS_EDITED)
    assert exit_code(RunView(reason=StopReason.PASSED, attempts=(row,))) == 1
    assert exit_code(RunView(reason=StopReason.PASSED, delivered="apply failed: conflicts")) == 3
    assert exit_code(RunView(reason=StopReason.PASSED, delivered="kept as branch failed: x")) == 0


async def test_a_second_signal_ends_everything_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    over = asyncio.Event()

    async def reap(run: str) -> tuple[int, tuple[int, ...]]:
        ended.append(run)
        return 1, ()

    def leave(code: int) -> None:
        ended.append(f"exit {code}")
        over.set()

    class Handle:
        run = "r1"
        done = asyncio.get_running_loop().create_future()

        def send(self, command: Any) -> None:
            ended.append(command.command)

    monkeypatch.setattr(tui.headless, "reap_run", reap)
    monkeypatch.setattr(os, "_exit", leave)
    waiting = asyncio.create_task(tui.headless._until_end(Handle()))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    for _ in range(2):
        os.kill(os.getpid(), 2)
    await asyncio.wait_for(over.wait(), 10)
    assert ended == ["abort", "r1", f"exit {int(ExitCode.ABORTED)}"]
    Handle.done.set_result(None)
    await waiting


def test_the_demo_is_fixed_without_a_terminal(looptop: CommandLine) -> None:
    said = looptop.process("demo")
    assert said.code == 0, said
    assert ": passed" in said.out.splitlines()[0]
    assert "\x1b" not in said.out + said.err
    (repo,) = (path for path in Path(looptop.home / "demo").iterdir())
    assert (repo / ".git").is_dir()
