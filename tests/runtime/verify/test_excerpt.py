"""What the model reads of a failure: bounded, findings first, and every cut said."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runtime.events.values import Finding, Verdict, VerifySpec
from runtime.verify.excerpt import LIMIT, excerpt
from runtime.verify.steps import StepResult


def step(
    text: str, names: list[str] | None = None, *, setup: bool = False, verdict: Verdict = Verdict.FAILED
) -> StepResult:
    found = tuple(Finding(id=name, message="assert 1 == 2") for name in names or [])
    return StepResult(
        spec=VerifySpec(command="pytest -q", setup=setup),
        verdict=verdict,
        exit_code=1,
        findings=found,
        findings_total=len(found),
        collected=None,
        summary="2 failed",
        wall_ms=1,
        cpu_ms=1,
        output_path=Path("x"),
        output_bytes=len(text),
        dropped_bytes=0,
        text=text,
    )


@given(st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 300), st.booleans()), min_size=1, max_size=20))
def test_it_never_exceeds_its_limit(shapes: list[tuple[int, int, bool]]) -> None:
    steps = [step("x" * size, [f"test_{n}" for n in range(count)], setup=setup) for size, count, setup in shapes]
    assert len(excerpt(steps)) <= LIMIT


def test_findings_come_first_then_head_and_tail() -> None:
    text = "first line\n" + "middle\n" * 10_000 + "last line"
    got = excerpt([step(text, ["test_a", "test_b"])])
    assert got.startswith(
        "$ pytest -q\nfailed, exit code 1: 2 failed\n- test_a: assert 1 == 2\n- test_b: assert 1 == 2\nfirst"
    )
    assert got.endswith("last line")
    shown = got.split("[... ")[1].split(" ...]")[0]
    assert shown.endswith(f" of {len(text):,} characters shown")
    assert 11_000 < len(got) <= LIMIT


def test_a_short_output_is_whole_and_leaves_its_room_to_others() -> None:
    got = excerpt([step("short"), step("y" * 50_000)])
    assert "short\n\n$" in got
    assert len(got) > 11_500


def test_many_findings_are_counted() -> None:
    got = excerpt([step("z", [f"test_{n}" for n in range(100)])])
    assert "- test_39: " in got
    assert "- test_40: " not in got
    assert "- and 60 more" in got


def test_passed_steps_are_left_out() -> None:
    assert excerpt([step("fine", verdict=Verdict.PASSED)]) == ""
    assert "fine" not in excerpt([step("fine", verdict=Verdict.PASSED), step("bad")])


def test_a_failed_set_up_says_that_the_rest_did_not_run() -> None:
    assert excerpt([step("no", setup=True)]).endswith("The set-up step failed, so the steps after it did not run.")


def test_silence_is_said() -> None:
    assert excerpt([step("")]).endswith("(no output)")
