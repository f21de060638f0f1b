"""What a verify phase shows against the baseline and the attempt before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.events.values import Cause, Comparison, Finding, Verdict
from runtime.verify.steps import StepResult


def findings_by_id(results: Sequence[StepResult]) -> dict[str, Finding]:
    """All findings of a phase; equal ids of different steps are kept apart by the step's number."""
    found: dict[str, Finding] = {}
    for number, result in enumerate(results, 1):
        for finding in result.findings:
            key = finding.id if finding.id not in found else f"{finding.id} (step {number})"
            found[key] = finding
    return found


def compare(
    baseline: Mapping[str, Finding], before: Mapping[str, Finding], now: Mapping[str, Finding], *, task_given: bool
) -> Comparison:
    """Sort the findings of `baseline`, `before` (the attempt before; at the first the baseline) and `now` into four sets.

    Every finding of the three is in exactly one set:
    fixed: failed in the baseline or before, fails no more;
    new: fails, and did in neither;
    pre_existing: fails, and did in the baseline, in a run whose task is something else than making verify pass;
    still: every other finding that fails.
    """
    fixed = [name for name in {**baseline, **before} if name not in now]
    new = [name for name in now if name not in baseline and name not in before]
    pre_existing = [name for name in now if task_given and name in baseline]
    rest = {*new, *pre_existing}
    still = [name for name in now if name not in rest]
    return Comparison(fixed=tuple(fixed), new=tuple(new), still=tuple(still), pre_existing=tuple(pre_existing))


def lost_tests(results: Sequence[StepResult], baseline_collected: Mapping[int, int | None]) -> bool:
    """Whether a step that used to collect tests now collects none."""
    for number, result in enumerate(results, 1):
        if result.no_tests or (result.collected == 0 and (baseline_collected.get(number) or 0) > 0):
            return True
    return False


def cause_of(
    results: Sequence[StepResult],
    comparison: Comparison,
    before: Mapping[str, Finding],
    now: Mapping[str, Finding],
    *,
    same_tree: bool,
    no_tests: bool,
) -> Cause:
    """Why a phase failed, the most telling cause first. `same_tree`: the files are those of the phase before."""
    verdicts = {result.verdict for result in results}
    if Verdict.ERRORED in verdicts:
        return Cause.INFRASTRUCTURE
    if Verdict.TIMED_OUT in verdicts:
        return Cause.TIMED_OUT
    if no_tests:
        return Cause.NO_TESTS
    if same_tree and set(before) != set(now):
        return Cause.FLAKY
    if comparison.new:
        return Cause.NEW
    if set(before) == set(now):
        return Cause.SAME
    if comparison.pre_existing and not comparison.still:
        return Cause.PRE_EXISTING
    return Cause.STILL_FAILING
