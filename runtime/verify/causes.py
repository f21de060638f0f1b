"""Why a verify phase failed, in one word."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runtime.events.values import Cause, Comparison, Verdict
from runtime.verify.steps import StepResult


def differs(one: Sequence[StepResult], other: Sequence[StepResult]) -> bool:
    """Whether two phases over the same files came to different ends: then something in the checks is flaky.

    A step's own findings count, not its times; a step that only one of them reached counts as different.
    """
    return [_end(result) for result in one] != [_end(result) for result in other]


def _end(result: StepResult) -> tuple[Verdict, frozenset[str]]:
    return result.verdict, frozenset(finding.id for finding in result.findings)


def cause_of(
    results: Sequence[StepResult],
    comparison: Comparison,
    before: Collection[str],
    now: Collection[str],
    *,
    same_tree: bool,
    no_tests: bool,
) -> Cause:
    """Why a phase failed, the most telling cause first. `before` and `now` are ids of findings; `same_tree`: the files
    are those of the phase before, so that a difference comes from the checks.
    """
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
    if comparison.pre_existing and not comparison.still:
        return Cause.PRE_EXISTING
    if set(before) == set(now):
        return Cause.SAME
    return Cause.STILL_FAILING
