"""Verify phases as the record tells them: for a run that goes on after a crash, without running anything again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.events.checks import VerifyFinished
from runtime.events.loop import AttemptFinished
from runtime.events.values import Cause, Finding, Verdict, VerifySpec
from runtime.loop.readback import ReadBack
from runtime.loop.state import Standing
from runtime.loop.verifying import Checked
from runtime.text import decode, plain, storable
from runtime.verify.compare import findings_by_id, steps_by_id
from runtime.verify.excerpt import excerpt
from runtime.verify.findings import parse
from runtime.verify.steps import TAIL_BYTES, StepResult

Steps = Mapping[int, VerifyFinished]
"""One verify phase: its steps by their number."""


def results_of(steps: Steps, verify: Sequence[VerifySpec]) -> tuple[StepResult, ...]:
    """The results of a phase. The kept output gives what the event had no room for, as long as it is there."""
    return tuple(_result(steps[number], verify) for number in sorted(steps))


def _result(event: VerifyFinished, verify: Sequence[VerifySpec]) -> StepResult:
    spec = verify[event.step - 1] if event.step <= len(verify) else VerifySpec(command=event.command, name=event.name)
    path = Path(event.output_path) if event.output_path else None
    text = _kept(path)
    findings = event.findings
    if len(findings) < (event.findings_total or 0) and text:
        findings = max(findings, parse(spec.command, text, event.verdict is not Verdict.PASSED).findings, key=len)
    return StepResult(
        spec=spec,
        verdict=event.verdict,
        exit_code=event.exit_code,
        findings=findings,
        findings_total=event.findings_total,
        collected=event.collected,
        summary=event.summary,
        wall_ms=event.wall_ms,
        cpu_ms=event.cpu_ms,
        output_path=path,
        output_bytes=event.output_bytes,
        dropped_bytes=event.dropped_bytes,
        text=text or event.excerpt,
    )


def _kept(path: Path | None) -> str:
    """The end of a kept output; empty where it is gone."""
    if path is None:
        return ""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            return storable(plain(decode(file.read())))
    except OSError:
        return ""


def standing_of(back: ReadBack, verify: Sequence[VerifySpec]) -> Standing:
    """What the verify phases have shown: the baseline's, and that of the last attempt that was judged. Kept outputs are read."""
    first, verdict = results_of(back.baseline, verify), verdict_of(back, verify)
    standing = Standing(
        baseline=findings_by_id(first),
        before=findings_by_id(first),
        baseline_collected={number: step.collected for number, step in sorted(back.baseline.items())},
        step_of=steps_by_id(first),
        verified_tree=back.base_tree,
    )
    if verdict is not None and back.judged is not None:
        standing.before = verdict.findings
        standing.step_of |= steps_by_id(verdict.results)
        standing.verified_tree = back.judged.tree
        standing.comparison, standing.diff, standing.excerpt = verdict.comparison, verdict.diff, verdict.excerpt
    return standing


def verdict_of(back: ReadBack, verify: Sequence[VerifySpec]) -> Checked | None:
    """The verify phase of the last attempt that was judged; None where none was. Its kept outputs are read once."""
    if back.judged is None:
        return None
    if back.verdict is None:
        back.verdict = _checked(back.judged, back.checked, verify)
    return back.verdict


def _checked(attempt: AttemptFinished, steps: Steps, verify: Sequence[VerifySpec]) -> Checked:
    results = results_of(steps, verify)
    findings: dict[str, Finding] = findings_by_id(results)
    return Checked(
        passed=attempt.passed or attempt.cause is Cause.TESTS_EDITED,
        results=results,
        findings=findings,
        comparison=attempt.comparison,
        cause=attempt.cause,
        excerpt=excerpt(results),
        first_failure=attempt.first_failure,
        tree=attempt.tree or "",
        diff=attempt.diff,
        edited=attempt.edited_tests,
    )
