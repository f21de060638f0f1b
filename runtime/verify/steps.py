"""Run verify steps: each with its own timeout, its output kept, its verdict from the exit status."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.events.values import Finding, Verdict, VerifySpec
from runtime.process.run import Ending, ProcessResult, ProcessSpec, Sandbox, run_process, shell_argv
from runtime.text import decode, plain, storable
from runtime.verify.findings import Parsed, first_failure, last_line, parse

OUTPUT_CAP_BYTES = 64 * 1024 * 1024
TAIL_BYTES = 4 * 1024 * 1024
"""How much of a long output's end is read for findings: that is where runners sum up."""
PYTEST_NO_TESTS = 5
PYTEST_USAGE = 4
CANNOT_START = (126, 127)
SIGNALLED = 128
"""An exit status above this is that of a signal."""
_LAST_LINES = 40
# What interpreters, make and npm print when the runner itself is missing.
_UNUSABLE = re.compile(
    r"^(?:\S*python\S*: No module named \S+$"
    r"|ModuleNotFoundError: No module named '(?:pytest|nose2?|tox|coverage|mypy|ruff|xdist)'"
    r"|Error: Cannot find module '(?:jest|vitest|eslint|typescript|mocha)\b"
    r"|g?make(?:\[\d+\])?: \*\*\* (?:No rule to make target|No targets specified|.*\bError 12[67]$)"
    r"|npm (?:ERR!|error) Missing script|error: no such command)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class VerifyContext:
    """Where verify steps run and where their output is kept."""

    workspace: Path
    outputs: Path
    env: Mapping[str, str]
    run_id: str
    sandbox: Sandbox | None = None
    output_cap_bytes: int = OUTPUT_CAP_BYTES


@dataclass(frozen=True, slots=True)
class StepResult:
    """One verify step's end. `text` is its output for reading: plain, bounded."""

    spec: VerifySpec
    verdict: Verdict
    exit_code: int | None
    findings: tuple[Finding, ...]
    findings_total: int | None
    collected: int | None
    summary: str
    wall_ms: int
    cpu_ms: int | None
    output_path: Path | None
    output_bytes: int
    dropped_bytes: int
    text: str
    first_failure: str = ""
    no_tests: bool = False
    complete: bool = True
    """Whether every check of the step ran and is accounted for: a finding that isn't there is fixed."""


def step_name(spec: VerifySpec) -> str:
    """A step's name: its own, or its command."""
    return spec.name or spec.command


async def run_step(
    spec: VerifySpec, ctx: VerifyContext, label: str, on_output: Callable[[str], None] | None = None
) -> StepResult:
    """Run one step; `label` names its output file. Never raises for what the command does.

    Nothing but the exit status and what this process printed is looked at: no report file, no cache of a runner.
    """
    path = ctx.outputs / f"{label}.txt"
    result = await run_process(
        ProcessSpec(
            argv=shell_argv(spec.command),
            cwd=ctx.workspace,
            env=ctx.env,
            timeout_s=spec.timeout_s,
            run_id=ctx.run_id,
            output_path=path,
            output_cap_bytes=ctx.output_cap_bytes,
            sandbox=ctx.sandbox,
            on_output=on_output,
        )
    )
    # Megabytes may be read: not on the loop that the dashboard lives on.
    return await asyncio.to_thread(_judge, spec, result, path)


def _judge(spec: VerifySpec, result: ProcessResult, path: Path) -> StepResult:
    text = _text(result, path)
    failed = result.ending is not Ending.EXITED or result.exit_code != 0
    parsed = parse(spec.command, text, failed)
    no_tests = parsed.no_tests or ("pytest" in parsed.runners and result.exit_code == PYTEST_NO_TESTS)
    verdict, summary = _verdict(result, parsed, text, spec, no_tests)
    findings, total = parsed.findings, parsed.total
    if verdict is not Verdict.PASSED and not findings:
        findings = (Finding(id=f"{step_name(spec)}: {verdict.value}", kind="step", message=summary),)
        total = None
    return StepResult(
        spec=spec,
        verdict=verdict,
        exit_code=result.exit_code,
        findings=findings,
        findings_total=total,
        collected=parsed.collected,
        summary=storable(summary),
        wall_ms=result.wall_ms,
        cpu_ms=result.cpu_ms,
        output_path=path if path.exists() else None,
        output_bytes=result.total_bytes,
        dropped_bytes=result.dropped_bytes,
        text=text,
        first_failure=storable(first_failure(text, findings)) if verdict is not Verdict.PASSED else "",
        no_tests=no_tests,
        complete=verdict is Verdict.PASSED
        or (
            verdict is Verdict.FAILED
            and result.ending is Ending.EXITED
            and total is not None
            and not parsed.partial
            and not no_tests
            and not (result.exit_code or 0) > SIGNALLED
        ),
    )


def _text(result: ProcessResult, path: Path) -> str:
    """The output for reading: whole where it is short, else its beginning and its end, with what lies between told."""
    if not result.tail or (result.error and not result.dropped_bytes):
        return storable(plain(result.head + result.tail))
    end, complete = _kept_end(result, path)
    if complete:
        return storable(plain(end))
    gap = result.total_bytes - len(result.head.encode("utf-8", "replace")) - len(end.encode("utf-8", "replace"))
    left_out = f"\n[... about {max(gap, 0):,} bytes left out ...]\n"
    return storable(plain(result.head) + left_out + plain(end))


def _kept_end(result: ProcessResult, path: Path) -> tuple[str, bool]:
    """The end of the output and whether it is all of it. What went over the cap is only in memory, not in the file."""
    if result.dropped_bytes or result.error:
        return result.tail, False
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        data = file.read()
    return decode(data if size <= TAIL_BYTES else data.partition(b"\n")[2] or data), size <= TAIL_BYTES


def _verdict(result: ProcessResult, parsed: Parsed, text: str, spec: VerifySpec, no_tests: bool) -> tuple[Verdict, str]:
    """The verdict and why. Output can turn a failure into an error that nothing started, never anything into a pass."""
    code = result.exit_code
    if result.ending is Ending.NOT_STARTED:
        return Verdict.ERRORED, f"could not start: {result.error}"
    if result.ending is Ending.TIMED_OUT:
        return Verdict.TIMED_OUT, f"timed out after {spec.timeout_s:g} s"
    if result.ending is Ending.OUTPUT_LIMIT:
        return Verdict.FAILED, f"ended: it wrote {result.total_bytes:,} bytes and went on"
    if no_tests and code is not None:
        return Verdict.FAILED, "no tests were collected"
    if code == 0:
        return Verdict.PASSED, parsed.summary
    if not parsed.findings:
        unusable = next(filter(_UNUSABLE.match, text.split("\n")[-_LAST_LINES:]), "")
        if code in CANNOT_START or unusable:
            return Verdict.ERRORED, f"could not start: {(unusable or last_line(text) or f'exit code {code}')[:200]}"
        if code == PYTEST_USAGE and "unrecognized arguments" in text and "pytest" in parsed.runners:
            return Verdict.ERRORED, "could not start: pytest does not know an argument of the command"
    if code is not None and code > SIGNALLED and not parsed.total:
        return Verdict.FAILED, f"ended by {_signal(code - SIGNALLED)}; {parsed.summary or 'no output'}"
    return Verdict.FAILED, parsed.summary or f"exit code {code}, no output"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
