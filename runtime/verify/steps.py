"""Run verify steps: each with its own timeout, its output kept, its verdict from the exit status."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.events.values import Finding, Verdict, VerifySpec
from runtime.process.run import Ending, ProcessResult, ProcessSpec, Sandbox, run_process, shell_argv
from runtime.text import decode, plain, storable
from runtime.verify.findings import Parsed, first_failure, parse

OUTPUT_CAP_BYTES = 64 * 1024 * 1024
PARSED_BYTES = 4 * 1024 * 1024
"""How much of a kept output is read for findings: its end, where runners sum up."""
PYTEST_NO_TESTS = 5
_MISSING = re.compile(
    r"(?:No module named|cannot find module|Cannot find module) ['\"]?(?:pytest|unittest|ruff|mypy|nose2?|tox|coverage)\b"
)
_NOT_FOUND = re.compile(r"command not found|No such file or directory|not found$|Permission denied", re.MULTILINE)


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


def step_name(spec: VerifySpec) -> str:
    """A step's name: its own, or its command."""
    return spec.name or spec.command


async def run_step(
    spec: VerifySpec, ctx: VerifyContext, label: str, on_output: Callable[[str], None] | None = None
) -> StepResult:
    """Run one step; `label` names its output file. Never raises for what the command does."""
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
    text = _text(result, path)
    failed = result.ending is not Ending.EXITED or result.exit_code != 0
    parsed = parse(spec.command, text, failed)
    verdict, summary = _verdict(result, parsed, text, spec)
    findings, total = parsed.findings, parsed.total
    if verdict is Verdict.PASSED:
        findings, total = (), 0
    elif not findings:
        findings = (Finding(id=f"{step_name(spec)}: {verdict.value}", kind="step", message=summary),)
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
        no_tests=parsed.no_tests or (parsed.runner == "pytest" and result.exit_code == PYTEST_NO_TESTS),
    )


def _text(result: ProcessResult, path: Path) -> str:
    """The output for reading: whole where it is short, else the end of what was kept."""
    if result.total_bytes <= len(result.head.encode("utf-8", "replace")) or not path.exists():
        return storable(plain(result.head + ("\n" + result.tail if result.tail else "")))
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - PARSED_BYTES))
        return storable(plain(decode(file.read())))


def _verdict(result: ProcessResult, parsed: Parsed, text: str, spec: VerifySpec) -> tuple[Verdict, str]:
    if result.ending is Ending.NOT_STARTED:
        return Verdict.ERRORED, f"could not start: {result.error}"
    if result.ending is Ending.TIMED_OUT:
        return Verdict.TIMED_OUT, f"timed out after {spec.timeout_s:g} s"
    if result.ending is Ending.OUTPUT_LIMIT:
        return Verdict.ERRORED, f"ended: it wrote more than {result.total_bytes - result.dropped_bytes:,} bytes"
    if result.exit_code == 0:
        return Verdict.PASSED, parsed.summary
    if result.exit_code in (126, 127) and _NOT_FOUND.search(text):
        return Verdict.ERRORED, f"could not start: {parsed.summary}"
    if not parsed.findings and (missing := _MISSING.search(text)):
        return Verdict.ERRORED, f"could not start: {missing.group()}"
    if parsed.no_tests or (parsed.runner == "pytest" and result.exit_code == PYTEST_NO_TESTS):
        return Verdict.FAILED, "no tests were collected"
    return Verdict.FAILED, parsed.summary
