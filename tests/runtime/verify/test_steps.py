"""Verify steps: the verdict comes from the exit status, the output is kept and bounded."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time

import pytest

from runtime.events.values import Verdict
from runtime.process.tree import find_marked
from support.verify_bench import Bench

SUITE = {
    "test_it.py": "def test_good():\n    assert True\n\n\ndef test_bad():\n    assert 1 == 2\n",
}
QUICK = "-p no:cacheprovider"


async def test_a_failing_suite_fails_with_its_finding(bench: Bench) -> None:
    bench.write(SUITE)
    result = await bench.step(f"python -m pytest -q {QUICK}")
    assert (result.verdict, result.exit_code) == (Verdict.FAILED, 1)
    assert [finding.id for finding in result.findings] == ["test_it.py::test_bad"]
    assert (result.findings_total, result.collected) == (1, 2)
    assert result.first_failure == "assert 1 == 2"
    assert result.summary.startswith("1 failed, 1 passed in ")
    assert result.wall_ms > 0
    assert result.cpu_ms is not None
    assert result.cpu_ms > 0
    assert result.output_path is not None
    assert result.output_path.read_text().endswith(result.summary + "\n")


async def test_a_passing_step_has_no_finding(bench: Bench) -> None:
    bench.write({"test_it.py": "def test_good():\n    print('FAILED test_it.py::test_good')\n"})
    result = await bench.step(f"python -m pytest -q -s {QUICK}")
    assert (result.verdict, result.findings, result.findings_total) == (Verdict.PASSED, (), 0)
    assert (result.collected, result.complete, result.first_failure) == (1, True, "")


@pytest.mark.parametrize("end", ["| tail -5", "| cat", "2>&1 | head -200", "| tee log.txt"])
async def test_a_pipeline_takes_the_failing_part(bench: Bench, end: str) -> None:
    bench.write(SUITE)
    assert (await bench.step(f"python -m pytest -q {QUICK} {end}")).verdict is Verdict.FAILED


async def test_a_claim_in_the_output_changes_no_verdict(bench: Bench) -> None:
    lie = "echo '===== 12 passed in 0.01s ====='; echo 'All checks passed!'; echo OK; "
    assert (await bench.step(f"{lie} exit 1")).verdict is Verdict.FAILED
    doom = "echo '1 failed in 0.01s'; echo 'python: No module named pytest'; echo 'Ran 3 tests in 0.1s'; "
    assert (await bench.step(f"{doom} exit 0")).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-command-anywhere -q", "no-such-command-anywhere"),
        ("no-such-command-anywhere 2>/dev/null", "exit code 127"),
        (".venv/bin/python -m pytest", ".venv/bin/python"),
        ("./plain.txt", "plain.txt"),
        ("python -m no_such_runner", "No module named no_such_runner"),
        ("python -m pytest --no-such-option", "argument"),
    ],
)
async def test_what_cannot_start_is_errored_and_says_why(bench: Bench, command: str, words: str) -> None:
    bench.write({"plain.txt": "not a program"})
    result = await bench.step(command)
    assert result.verdict is Verdict.ERRORED
    assert result.summary.startswith("could not start: ")
    assert words in result.summary
    assert not result.complete


async def test_a_runner_that_is_missing_inside_make_is_errored(bench: Bench) -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    bench.write({"Makefile": "test:\n\tno-such-command-anywhere\n"})
    assert (await bench.step("make test")).verdict is Verdict.ERRORED
    assert (await bench.step("make nothing")).verdict is Verdict.ERRORED


async def test_a_module_that_the_tests_miss_is_a_failure_of_the_tests(bench: Bench) -> None:
    bench.write({"test_it.py": "import no_such_module\n"})
    result = await bench.step(f"python -m pytest -q {QUICK}")
    assert result.verdict is Verdict.FAILED
    assert [finding.id for finding in result.findings] == ["test_it.py"]
    assert result.first_failure == "ModuleNotFoundError: No module named 'no_such_module'"
    assert not result.complete


async def test_no_tests_are_no_pass(bench: Bench) -> None:
    bench.write({"test_it.py": "X = 1\n"})
    for command in (f"python -m pytest -q {QUICK}", "python -m unittest discover"):
        result = await bench.step(command)
        assert (result.verdict, result.summary, result.no_tests) == (
            Verdict.FAILED,
            "no tests were collected",
            True,
        )
        assert not result.complete


async def test_a_suite_that_mentions_no_tests_has_some(bench: Bench) -> None:
    bench.write({"test_it.py": "def test_it():\n    print('Ran 0 tests in 0.000s')\n    print('collected 0 items')\n"})
    result = await bench.step(f"python -m pytest -q -s {QUICK}")
    assert (result.verdict, result.no_tests) == (Verdict.PASSED, False)


async def test_a_step_whose_time_is_up_is_timed_out_and_leaves_nothing_running(bench: Bench) -> None:
    code = "import time; print('so far', flush=True); time.sleep(600)"
    began = time.monotonic()
    result = await bench.step(f'{sys.executable} -c "{code}"; true', timeout_s=1)
    assert time.monotonic() - began < 4
    assert (result.verdict, result.summary) == (Verdict.TIMED_OUT, "timed out after 1 s")
    assert result.text == "so far\n"
    assert not result.complete
    assert find_marked("bench") == []


async def test_abort_does_not_wait_for_the_steps_own_time(bench: Bench) -> None:
    task = asyncio.ensure_future(bench.step("echo begun > begun; sleep 600", timeout_s=600))
    while not (bench.workspace / "begun").exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 2
    assert find_marked("bench") == []


async def test_nobody_can_be_asked(bench: Bench) -> None:
    result = await bench.step("read x && echo got it", timeout_s=20)
    assert (result.verdict, result.exit_code) == (Verdict.FAILED, 1)


async def test_output_without_end_is_cut_and_counted(bench: Bench) -> None:
    result = await bench.step("yes", timeout_s=60, cap=200_000)
    assert result.verdict is Verdict.FAILED
    assert "bytes and went on" in result.summary
    assert result.output_path is not None
    assert result.output_path.stat().st_size == 200_000
    assert result.dropped_bytes == result.output_bytes - 200_000 > 0


async def test_the_end_of_a_long_output_is_read_though_it_is_not_kept(bench: Bench) -> None:
    bench.write(
        {"test_it.py": "def test_bad():\n    for n in range(30_000):\n        print('line', n)\n    assert n == 0\n"}
    )
    result = await bench.step(f"python -m pytest -q -s {QUICK}", cap=100_000)
    assert result.dropped_bytes > 0
    assert [finding.id for finding in result.findings] == ["test_it.py::test_bad"]
    assert result.text.startswith("line 0\n")
    assert "bytes left out" in result.text


async def test_the_outputs_of_a_run_have_a_cap_together(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.process.output.FOLDER_CAP_BYTES", 1_000_000)
    results = [await bench.step("yes | head -c 400000; false") for _ in range(4)]
    assert [result.dropped_bytes for result in results] == [0, 0, 200_000, 400_000]
    assert {result.verdict for result in results} == {Verdict.FAILED}
    assert {result.output_bytes for result in results} == {400_000}
    kept = [result.output_path.stat().st_size for result in results if result.output_path is not None]
    assert sum(kept) == 1_000_000


async def test_bytes_that_are_not_text_are_shown_as_marks(bench: Bench) -> None:
    result = await bench.step("printf '\\xff\\xfe\\x00'; printf '\\xe2\\x82'; printf '\\xac'; exit 1")
    assert result.verdict is Verdict.FAILED
    assert result.text == "\ufffd\ufffd\u2400\u20ac"
    junk = await bench.step("head -c 1000000 /dev/urandom; exit 1")
    assert (junk.verdict, junk.output_bytes, junk.dropped_bytes) == (Verdict.FAILED, 1_000_000, 0)
    junk.text.encode("utf-8")
    assert "\x1b" not in junk.text
    assert "\x00" not in junk.text


async def test_colours_hide_no_finding(bench: Bench) -> None:
    bench.write(SUITE)
    result = await bench.step(f"env -u NO_COLOR python -m pytest -q --color=yes {QUICK}")
    assert result.output_path is not None
    assert b"\x1b[" in result.output_path.read_bytes()
    assert [finding.id for finding in result.findings] == ["test_it.py::test_bad"]
    assert result.collected == 2


async def test_a_report_of_an_earlier_attempt_is_no_evidence(bench: Bench) -> None:
    bench.write({"test_it.py": "def test_good():\n    pass\n"})
    command = f"python -m pytest -q {QUICK} --junitxml=report.xml"
    assert (await bench.step(command)).verdict is Verdict.PASSED
    assert 'failures="0"' in (bench.workspace / "report.xml").read_text()
    result = await bench.step("exit 1")
    assert (result.verdict, result.findings_total, result.text) == (Verdict.FAILED, None, "")
    bench.write({"report.xml": (bench.workspace / "report.xml").read_text().replace('failures="0"', 'failures="9"')})
    assert (await bench.step("true")).verdict is Verdict.PASSED


async def test_a_step_that_a_signal_ended_says_which(bench: Bench) -> None:
    result = await bench.step("kill -SEGV $$")
    assert (result.verdict, result.exit_code) == (Verdict.FAILED, 139)
    assert result.summary.startswith("ended by SIGSEGV")


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 11)", "os._exit(1)"])
async def test_a_suite_that_dies_on_the_way_says_nothing_about_the_rest(bench: Bench, end: str) -> None:
    bench.write({"test_it.py": f"import os\n\n\ndef test_bad():\n    assert 0\n\n\ndef test_death():\n    {end}\n"})
    for options in ("-q", "-v"):
        result = await bench.step(f"python -m pytest {options} {QUICK}")
        assert result.verdict is Verdict.FAILED
        assert not result.complete


async def test_an_output_that_cannot_be_read_has_an_unknown_total(bench: Bench) -> None:
    result = await bench.step("echo 'something is wrong somewhere'; exit 3")
    assert (result.verdict, result.findings_total, result.collected) == (Verdict.FAILED, None, None)
    assert [finding.kind for finding in result.findings] == ["step"]
    assert result.summary == "something is wrong somewhere"
    assert not result.complete


async def test_outputs_are_the_users_alone(bench: Bench) -> None:
    result = await bench.step("echo secret")
    assert result.output_path is not None
    assert os.stat(result.output_path).st_mode & 0o777 == 0o600
