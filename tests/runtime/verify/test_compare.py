"""Fixed, new, still failing, pre-existing: four sets that are disjoint and cover everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.events.values import Cause, Comparison, Finding, Verdict, VerifySpec
from runtime.verify.causes import cause_of, differs
from runtime.verify.compare import compare, findings_by_id, lost_tests, silent_steps, steps_by_id
from runtime.verify.steps import StepResult

IDS = st.sets(st.sampled_from("abcdefgh"), max_size=8)


def findings(names: set[str] | str) -> dict[str, Finding]:
    return {name: Finding(id=name) for name in sorted(names)}


def result(
    verdict: Verdict = Verdict.FAILED,
    names: str = "",
    *,
    complete: bool = True,
    collected: int | None = None,
    no_tests: bool = False,
) -> StepResult:
    return StepResult(
        spec=VerifySpec(command="check"),
        verdict=verdict,
        exit_code=None,
        findings=tuple(findings(names).values()),
        findings_total=len(names),
        collected=collected,
        summary="",
        wall_ms=1,
        cpu_ms=None,
        output_path=Path("x"),
        output_bytes=0,
        dropped_bytes=0,
        text="",
        no_tests=no_tests,
        complete=complete,
    )


@given(IDS, IDS, IDS, st.booleans(), IDS)
def test_the_four_sets_are_disjoint_and_cover_everything(
    baseline: set[str], before: set[str], now: set[str], task: bool, unheard: set[str]
) -> None:
    got = compare(findings(baseline), findings(before), findings(now), task_given=task, unheard=unheard)
    sets = [set(got.fixed), set(got.new), set(got.still), set(got.pre_existing)]
    assert sum(map(len, sets)) == len(set().union(*sets))
    assert set().union(*sets) == baseline | before | now
    assert set(got.fixed) == (baseline | before) - now - unheard
    assert set(got.new) == now - baseline - before
    assert set(got.pre_existing) == (((baseline & now) | (baseline & unheard)) if task else set())


def test_without_a_task_what_failed_at_first_is_the_task() -> None:
    got = compare(findings("abc"), findings("abc"), findings("bcx"), task_given=False)
    assert got == Comparison(fixed=("a",), new=("x",), still=("b", "c"), pre_existing=())


def test_with_a_task_it_was_there_before() -> None:
    got = compare(findings("abc"), findings("abx"), findings("bx"), task_given=True)
    assert got == Comparison(fixed=("a", "c"), new=(), still=("x",), pre_existing=("b",))


def test_what_a_step_says_nothing_about_is_not_fixed() -> None:
    phases = [result(names="ab"), result(names="c")]
    steps = steps_by_id(phases)
    assert steps == {"a": 1, "b": 1, "c": 2}
    timed_out = [result(Verdict.TIMED_OUT, "t", complete=False), result(Verdict.PASSED)]
    silent = silent_steps(timed_out, of=2)
    assert silent == {1}
    unheard = {name for name, step in steps.items() if step in silent}
    before = findings_by_id(phases)
    got = compare(before, before, findings_by_id(timed_out), task_given=False, unheard=unheard)
    assert got == Comparison(fixed=("c",), new=("t",), still=("a", "b"))
    assert silent_steps([result()], of=3) == {2, 3}


def test_equal_ids_of_two_steps_are_kept_apart() -> None:
    assert list(findings_by_id([result(names="ab"), result(names="b")])) == ["a", "b", "b (step 2)"]


@pytest.mark.parametrize(
    ("now", "baseline", "lost"),
    [
        (result(Verdict.PASSED, collected=0), {1: 5}, True),
        (result(Verdict.PASSED, collected=0), {1: 0}, False),
        (result(Verdict.PASSED, collected=0), {1: None}, False),
        (result(Verdict.PASSED, collected=0), {}, False),
        (result(Verdict.PASSED, collected=None), {1: 5}, False),
        (result(Verdict.PASSED, collected=2), {1: 5}, False),
        (result(no_tests=True), {}, True),
    ],
)
def test_tests_that_are_gone(now: StepResult, baseline: dict[int, int | None], lost: bool) -> None:
    assert lost_tests([now], baseline) is lost


@pytest.mark.parametrize(
    ("results", "before", "now", "same_tree", "no_tests", "cause"),
    [
        ([result(Verdict.ERRORED)], "a", "a", False, False, Cause.INFRASTRUCTURE),
        ([result(Verdict.TIMED_OUT)], "a", "ab", False, False, Cause.TIMED_OUT),
        ([result()], "a", "x", False, True, Cause.NO_TESTS),
        ([result()], "ab", "a", True, False, Cause.FLAKY),
        ([result()], "ab", "ax", False, False, Cause.NEW),
        ([result()], "ab", "ab", False, False, Cause.SAME),
        ([result()], "ab", "ab", True, False, Cause.SAME),
        ([result()], "ab", "a", False, False, Cause.STILL_FAILING),
    ],
)
def test_the_most_telling_cause_comes_first(
    results: list[StepResult], before: str, now: str, same_tree: bool, no_tests: bool, cause: Cause
) -> None:
    comparison = compare(findings(before), findings(before), findings(now), task_given=False)
    got = cause_of(results, comparison, set(before), set(now), same_tree=same_tree, no_tests=no_tests)
    assert got is cause


def test_what_failed_before_the_task_is_its_own_cause() -> None:
    comparison = compare(findings("ab"), findings("ab"), findings("ab"), task_given=True)
    assert cause_of([result()], comparison, "ab", "ab", same_tree=False, no_tests=False) is Cause.PRE_EXISTING


def test_flaky_is_what_differs_over_the_same_files() -> None:
    assert not differs([result(names="ab")], [result(names="ab")])
    assert differs([result(names="ab")], [result(names="a")])
    assert differs([result(names="ab")], [result(Verdict.PASSED)])
    assert differs([result(names="a"), result(Verdict.PASSED)], [result(names="a")])
