"""What a verify phase shows against the baseline and the attempt before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from runtime.events.values import Comparison, Finding
from runtime.verify.steps import StepResult


def findings_by_id(results: Sequence[StepResult]) -> dict[str, Finding]:
    """All findings of a phase by an id that is unique in it; the ids of two steps that check the same are kept apart."""
    return {key: finding for _, key, finding in _keyed(results)}


def steps_by_id(results: Sequence[StepResult]) -> dict[str, int]:
    """For each key of `findings_by_id` the number of its step, from 1."""
    return {key: number for number, key, _ in _keyed(results)}


def silent_steps(results: Sequence[StepResult], of: int) -> set[int]:
    """Numbers of the `of` steps that say nothing about a finding by not naming it.

    They timed out, could not start, did not run after a failed set-up, ran in part, or print what can't be read.
    """
    return {number for number in range(1, of + 1) if number > len(results) or not results[number - 1].complete}


def _keyed(results: Sequence[StepResult]) -> list[tuple[int, str, Finding]]:
    keyed: list[tuple[int, str, Finding]] = []
    seen: set[str] = set()
    for number, result in enumerate(results, 1):
        for finding in result.findings:
            key = finding.id if finding.id not in seen else f"{finding.id} (step {number})"
            seen.add(key)
            keyed.append((number, key, finding))
    return keyed


def compare(
    baseline: Mapping[str, Finding],
    before: Mapping[str, Finding],
    now: Mapping[str, Finding],
    *,
    task_given: bool,
    unheard: Collection[str] = (),
) -> Comparison:
    """Sort the findings of `baseline`, `before` (the attempt before; at the first the baseline) and `now` into four sets.

    `unheard` are ids about which this phase says nothing, because their step didn't come to its end (`silent_steps`).
    Every finding of the three is in exactly one set:

    fixed: failed in the baseline or before, and is known to fail no more;
    new: fails, and did in neither;
    pre_existing: failed in the baseline and isn't fixed, in a run whose task is something else than making verify pass;
    still: every other finding that isn't fixed. Without a task this holds the baseline's: they are the task.
    """
    fixed, new, still, pre_existing = [], [], [], []
    for name in {**baseline, **before, **now}:
        if name not in now and name not in unheard:
            fixed.append(name)
        elif name not in baseline and name not in before:
            new.append(name)
        elif task_given and name in baseline:
            pre_existing.append(name)
        else:
            still.append(name)
    return Comparison(fixed=tuple(fixed), new=tuple(new), still=tuple(still), pre_existing=tuple(pre_existing))


def lost_tests(results: Sequence[StepResult], baseline_collected: Mapping[int, int | None]) -> bool:
    """Whether a step collected no tests although its runner expects some, or although it did in the baseline."""
    for number, result in enumerate(results, 1):
        if result.no_tests or (result.collected == 0 and (baseline_collected.get(number) or 0) > 0):
            return True
    return False
