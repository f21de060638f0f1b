"""StopLoss in the loop: held, stopped or only watched as calibrated; its cost in the ledger; nothing that a scorer does ends a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime import commands as c
from runtime.events.checks import StoplossScored
from runtime.events.loop import LegStarted, RoundStarted, ToolFinished
from runtime.events.supervision import CommandAccepted, CommandRefused, Notice, RunHeld
from runtime.events.values import HoldReason, StopReason
from runtime.models.base import Reply, Request
from runtime.stoploss.scorers.step_limit import score_of
from runtime.stoploss.threshold import Success, calibrate
from runtime.stoploss.transfer import Mode
from runtime.usage import Usage
from store.calibrations import STOPLOSS
from support.scripted_model import Step, say, use
from support.stage import Stage, stage

FIX = use("write_file", path="value.txt", content="fixed\n")
MODEL = "claude-sonnet-5-5"


def looking(request: Request) -> Reply:
    """Ever new calls without fruit."""
    return use("shell", f"call-{len(request.messages)}", command=f"echo look {len(request.messages)}")


@asynccontextmanager
async def calibrated(
    folder: Path, steps: list[Step], successes: int = 40, executor: str = MODEL, abort: str = "unmeasured"
) -> AsyncIterator[Stage]:
    """A stage whose project has a step limit from successes of at most five steps."""
    async with stage(folder, steps) as played:
        # The project's id is the repository's: a first run tells it.
        from runtime.workspace.repository import open_repository

        project = (await open_repository(played.repo)).project
        made = calibrate(
            [Success(5, score_of(5))] * successes,
            scorer="step-limit",
            by_steps=True,
            executor=executor,
            project=project,
        )
        body = made.to_json() | {"abort": abort}
        await played.cockpit.store.calibrations.add(STOPLOSS, body, successes, project=project, model=executor)
        yield played


async def test_in_ask_a_fruitless_run_is_held_at_step_eight_and_the_supervisor_ends_it(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [looking]) as played:
        handle = await played.start(stoploss="ask", hold_on_stoploss=True)
        hold = await played.until(RunHeld)
        assert hold.why is HoldReason.STOPLOSS
        assert "step-limit scores 0.29 at step 8, above the threshold of 0.20" in hold.text
        assert {"resume", "choose_recovery", "set_stoploss", "end_attempt", "abort"} <= set(hold.ends_with)
        assert len(played.of(ToolFinished)) == 8
        handle.send(c.EndAttempt())
        end = await handle.done
        assert end.reason is StopReason.STOPLOSS
        view = await played.cockpit.store.history.view(end.run)
        assert [(row.step, row.score, row.threshold) for row in view.scores] == [
            (5, score_of(5), score_of(5)),
            (8, score_of(8), score_of(5)),
        ]
        line = await played.cockpit.store.history.line(end.run)
        assert line.score == score_of(8)


@pytest.mark.parametrize(
    "decision",
    [c.Resume(), c.SetStoploss(threshold=0.9), c.SetStoploss(mode="watch")],
    ids=["go on", "threshold raised", "only watch"],
)
async def test_the_supervisor_may_let_it_go_on(tmp_path: Path, decision: c.Command) -> None:
    async with calibrated(tmp_path, [*[looking] * 8, FIX, say("done")]) as played:
        handle = await played.start(stoploss="ask", hold_on_stoploss=True)
        await played.until(RunHeld)
        assert isinstance(handle.send(decision), CommandAccepted)
        assert (await handle.done).reason is StopReason.PASSED
        assert len(played.of(RunHeld)) == 1


async def test_a_recovery_may_be_chosen_and_ends_the_fix_phase(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [*[looking] * 8, FIX, say("done")]) as played:
        handle = await played.start(stoploss="ask", hold_on_stoploss=True)
        await played.until(RunHeld)
        handle.send(c.ChooseRecovery(action="reflect"))
        end = await handle.done
        assert (end.reason, end.attempts) == (StopReason.PASSED, 2)


async def test_in_abort_it_is_stopped_where_that_was_chosen(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [looking]) as played:
        end = await played.run(stoploss="abort", stoploss_chosen=True)
        assert end.reason is StopReason.STOPLOSS
        assert end.steps == 8
        assert "above the threshold of 0.20" in end.detail
        assert len(played.of(RoundStarted)) == 8


async def test_as_a_default_abort_needs_a_measurement_in_its_favour(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [*[looking] * 9, FIX, say("done")]) as played:
        assert (await played.run(stoploss="abort")).reason is StopReason.PASSED
        notices = [e.text for e in played.of(Notice)]
        assert any("StopLoss is on ask" in text and "has not been measured" in text for text in notices)
        assert any("nobody is asked, so it goes on" in text for text in notices)


async def test_with_one_it_stops_unasked(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [looking], abort="allowed") as played:
        assert (await played.run(stoploss="abort")).reason is StopReason.STOPLOSS


async def test_a_run_that_succeeds_is_left_alone(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [looking, looking, FIX, say("done")]) as played:
        end = await played.run(stoploss="abort", stoploss_chosen=True)
        assert end.reason is StopReason.PASSED
        assert played.of(StoplossScored) == []


async def test_a_calibration_of_another_model_does_not_count(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [*[looking] * 9, FIX, say("done")], executor="claude-opus-5-5") as played:
        assert (await played.run(stoploss="abort", stoploss_chosen=True)).reason is StopReason.PASSED
        first = played.of(StoplossScored)[0]
        assert (first.mode, first.threshold, first.why) == ("watch", None, "there is no calibration yet")


async def test_a_changed_cap_makes_abort_ask(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [*[looking] * 9, FIX, say("done")]) as played:
        handle = await played.start(stoploss="abort", stoploss_chosen=True, hold_on_stoploss=True)
        await played.until(LegStarted)
        handle.send(c.SetCap(cap=7))
        hold = await played.until(RunHeld)
        assert hold.why is HoldReason.STOPLOSS
        assert played.of(StoplossScored)[-1].mode == "ask"
        assert "the retry cap was set to 7" in played.of(StoplossScored)[-1].why
        handle.send(c.Resume())
        assert (await handle.done).reason is StopReason.PASSED


async def test_off_scores_nothing_and_a_run_without_a_calibration_is_only_watched(tmp_path: Path) -> None:
    async with stage(tmp_path, [*[looking] * 9, FIX, say("done")]) as played:
        await played.run(stoploss="off")
        assert played.of(StoplossScored) == []
        handle = await played.start(stoploss="off")
        assert isinstance(handle.send(c.SetStoploss(mode="ask")), CommandRefused)
        await handle.done
        played.model.requests.clear()
        await played.run(stoploss="abort", stoploss_chosen=True)
        assert {e.mode for e in played.of(StoplossScored)} == {"watch"}
        assert all(e.score is not None and e.threshold is None for e in played.of(StoplossScored))


async def test_a_judge_is_paid_for_in_the_ledger_under_its_own_purpose(tmp_path: Path) -> None:
    judged = say("Continue", usage=Usage(input=700, output=1, cache_read=0, cache_write_5m=0, cache_write_1h=0))

    def answer(request: Request) -> Reply:
        if not request.tools:
            return judged
        return looking(request) if len(request.messages) < 12 else say("done")

    async with stage(tmp_path, [answer]) as played:
        end = await played.run(stoploss="watch", stoploss_scorer=f"judge:{MODEL}", cap=1)
        (scored,) = played.of(StoplossScored)
        assert (scored.score, scored.usage.input) == (0.0, 700)
        rows = {row.key: row for row in await played.cockpit.store.reports.usage("purpose", run=end.run)}
        assert rows["stoploss"].usage.input == 700
        assert rows["stoploss"].money.micros == scored.cost_micros
        view = await played.cockpit.store.history.view(end.run)
        total = await played.cockpit.store.reports.total(run=end.run)
        assert (view.usage.input, view.money.micros) == (total.usage.input, total.money.micros)
        assert end.cost_micros == total.money.micros


@pytest.mark.parametrize("scorer", ["embedded:/nowhere/weights.json", "served:monitor", "nonsense"])
async def test_a_scorer_that_cannot_be_had_is_said_and_the_run_goes_on(tmp_path: Path, scorer: str) -> None:
    async with stage(tmp_path, [FIX, say("done")]) as played:
        assert (await played.run(stoploss_scorer=scorer)).reason is StopReason.PASSED
        assert any("StopLoss doesn't monitor this run" in e.text for e in played.of(Notice))


async def test_what_a_supervisor_set_holds_in_a_process_that_takes_the_run_over(tmp_path: Path) -> None:
    async with calibrated(tmp_path, [looking]) as played:
        handle = await played.start(stoploss="ask", hold_on_stoploss=True)
        await played.until(RunHeld)
        handle.send(c.SetStoploss(mode="abort", threshold=0.6))
        handle.send(c.Abort())
        await handle.done
        state = handle.task.state
        assert played.cockpit.services().make_monitor is not None
        monitor = await played.cockpit._monitor(state, "any", lambda name: None)  # type: ignore[arg-type,return-value]
        assert monitor is not None
        assert (monitor.mode, monitor.threshold) == (Mode.ABORT, 0.6)
        assert monitor.step == len(played.of(ToolFinished))
        view = await played.cockpit.store.history.view(handle.run)
        assert view.unknown_events == 0
