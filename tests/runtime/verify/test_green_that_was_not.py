"""Whole runs over checks that look green and aren't."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import UsageError
from runtime.events.checks import VerifyFinished
from runtime.events.loop import AttemptFinished
from runtime.events.values import Cause, RunSettings, StopReason, Verdict, VerifySpec
from support.repositories import ADDER, CHECK
from support.scripted_model import say, use
from support.stage import stage
from tui.compose import RunRequest

SUITE = "python -m pytest -q -p no:cacheprovider"
UNIT = {
    "adder.py": "def add(a, b):\n    return a - b\n",
    "test_adder.py": (
        "import unittest\nfrom adder import add\n\n\nclass T(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
    ),
}


async def test_a_piped_suite_that_fails_is_neither_passing_nor_passed(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("done")], ADDER) as played:
        end = await played.run(verify=(f"{SUITE} | tail -5",), cap=1)
        assert end.reason not in (StopReason.PASSED, StopReason.ALREADY_PASSING)
        assert {event.verdict for event in played.of(VerifyFinished)} == {Verdict.FAILED}
        assert played.model.requests


@pytest.mark.parametrize("end", ["|| true", "; echo done", "|| :", "&", "|| exit 0"])
async def test_a_command_that_throws_its_status_away_is_refused(tmp_path: Path, end: str) -> None:
    async with stage(tmp_path, [say("done")], ADDER) as played:
        with pytest.raises(UsageError, match="can't be trusted"):
            await played.run(verify=(f"{SUITE} {end}",))
        assert played.events == []
        assert played.model.requests == []
        assert not list((tmp_path / "home").glob("workspaces/*"))


@pytest.mark.parametrize("command", ["python -m unittest discover", "python -m unittest discover 2>&1 | tail -3"])
async def test_tests_that_are_gone_are_no_pass_though_the_status_is_0(tmp_path: Path, command: str) -> None:
    async with stage(tmp_path, [use("shell", command="git rm -q test_adder.py"), say("done")], UNIT) as played:
        end = await played.run(verify=(command,), cap=1)
        assert end.reason is StopReason.CAP_REACHED
        assert played.of(AttemptFinished)[0].cause is Cause.NO_TESTS


async def test_a_set_up_step_that_fails_later_ends_the_phase_and_fixes_nothing(tmp_path: Path) -> None:
    files = {**ADDER, "setup.sh": "exit 0\n"}
    steps = [use("write_file", path="setup.sh", content="exit 1\n"), use("shell", command="sed -i s/-/+/ adder.py")]
    async with stage(tmp_path, [*steps, say("done")], files) as played:
        specs = (VerifySpec(command="sh setup.sh", setup=True), VerifySpec(command=SUITE))
        settings = RunSettings(model=played.model.name, cap=1)
        end = await (await played.cockpit.start(RunRequest(played.repo, "", settings, specs))).done
        assert end.reason is StopReason.CAP_REACHED
        assert [event.step for event in played.of(VerifyFinished)] == [1, 2, 1]
        attempt = played.of(AttemptFinished)[0]
        assert attempt.comparison is not None
        assert attempt.comparison.fixed == ()
        assert "test_adder.py::test_add" in attempt.comparison.still


async def test_a_report_that_an_earlier_attempt_left_behind_is_no_evidence(tmp_path: Path) -> None:
    report = '<testsuites><testsuite tests="2" failures="0" errors="0"/></testsuites>'
    steps = [use("write_file", path="report.xml", content=report), say("All 2 tests pass, see report.xml.")]
    async with stage(tmp_path, steps, ADDER) as played:
        end = await played.run(verify=(f"{SUITE} --junitxml=report.xml",), cap=1)
        assert end.reason is StopReason.CAP_REACHED
        assert played.of(VerifyFinished)[-1].verdict is Verdict.FAILED


async def test_a_check_that_was_rewritten_is_an_edited_check(tmp_path: Path) -> None:
    async with stage(tmp_path, [use("write_file", path="check.py", content="pass\n"), say("done")]) as played:
        await played.run(verify=(CHECK,))
        attempt = played.of(AttemptFinished)[0]
        assert (attempt.cause, attempt.edited_tests) == (Cause.TESTS_EDITED, ("check.py",))


async def test_an_endless_loop_does_not_make_failing_tests_look_fixed(tmp_path: Path) -> None:
    loop = use("write_file", path="adder.py", content="def add(a, b):\n    while True:\n        pass\n")
    async with stage(tmp_path, [loop, say("done")], ADDER) as played:
        specs = (VerifySpec(command=SUITE, timeout_s=4),)
        settings = RunSettings(model=played.model.name, cap=1)
        await (await played.cockpit.start(RunRequest(played.repo, "", settings, specs))).done
        attempt = played.of(AttemptFinished)[0]
        assert attempt.cause is Cause.TIMED_OUT
        assert attempt.comparison is not None
        assert attempt.comparison.fixed == ()
