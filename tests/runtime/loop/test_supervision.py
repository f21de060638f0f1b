"""A supervisor's hand on a run: abort, pause, steer, caps and budgets raised while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime import commands as c
from runtime.events.base import Event
from runtime.events.loop import (
    AttemptFinished,
    AttemptStarted,
    RoundFinished,
    RoundStarted,
    ToolFinished,
    TransportRetried,
)
from runtime.events.supervision import (
    CommandAccepted,
    CommandRefused,
    RunAborted,
    RunHeld,
    RunPaused,
    SteerDelivered,
)
from runtime.events.values import HoldReason, StepStatus, StopReason
from runtime.models.base import CallFault, ModelCallError, Text
from runtime.process.tree import find_marked
from support.scripted_model import Step, say, use
from support.stage import Stage, stage
from tui.compose import HostSettings

FIX = use("write_file", path="value.txt", content="fixed\n")
WRONG = use("write_file", path="value.txt", content="wrong\n")


class Watch:
    """Waits for an event that is true of a condition."""

    def __init__(self, played: Stage) -> None:
        self._played = played

    async def until(self, kind: type[Event], test: Callable[[Event], bool] = lambda _: True) -> Event:
        seen: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

        def look(event: Event) -> None:
            if isinstance(event, kind) and test(event) and not seen.done():
                seen.set_result(event)

        unsubscribe = self._played.cockpit.bus.subscribe(look)
        for event in self._played.events:
            look(event)
        try:
            async with asyncio.timeout(20):
                return await seen
        finally:
            unsubscribe()


@asynccontextmanager
async def watched(folder: Path, steps: list[Step]) -> AsyncIterator[tuple[Stage, Watch]]:
    async with stage(folder, steps) as played:
        yield played, Watch(played)


async def test_abort_cuts_the_call_in_flight_and_keeps_what_it_cost(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [FIX, gate]) as (played, _):
        handle = await played.start()
        await played.model.waiting.wait()
        answer = handle.send(c.Abort(sender="ann", reason="wrong task"))
        assert isinstance(answer, CommandAccepted)
        end = await handle.done
        assert end.reason is StopReason.ABORTED
        receipt = played.of(RunAborted)[0].receipt
        assert receipt.call_in_flight
        assert receipt.call_in_flight_micros is not None
        assert receipt.kept_ref == f"refs/looptop/{end.run}"
        assert receipt.survivors == ()
        cut = played.of(RoundFinished)[-1]
        assert (cut.outcome, cut.usage.input, cut.usage.output) == ("interrupted", 100, 3)
        assert cut.usage.estimated == ("output",)
        rows = await played.cockpit.store.reports.usage("round", run=end.run)
        assert [row.calls for row in rows] == [1, 1]


async def test_abort_ends_a_command_with_its_whole_tree(tmp_path: Path) -> None:
    command = "(trap '' TERM; sleep 300) & setsid sleep 300 & sleep 300"
    async with watched(tmp_path, [use("shell", command=f"echo started; {command}")]) as (played, watch):
        from runtime.events.loop import OutputDelta

        handle = await played.start()
        await watch.until(OutputDelta, lambda e: "started" in getattr(e, "text", ""))
        began = asyncio.get_running_loop().time()
        handle.send(c.Abort())
        end = await handle.done
        assert asyncio.get_running_loop().time() - began < 4
        assert end.reason is StopReason.ABORTED
        assert find_marked(end.run) == []
        assert played.of(ToolFinished)[0].status is StepStatus.INTERRUPTED
        assert played.of(RunAborted)[0].receipt.ended_processes >= 3


async def test_a_paused_run_sends_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate, FIX, say("done")]) as (played, watch):
        handle = await played.start()
        await played.model.waiting.wait()
        handle.send(c.Pause(sender="ann"))
        gate.set()
        await watch.until(RoundFinished)
        assert len(played.model.requests) == 1
        assert len(played.of(RunPaused)) == 1
        assert isinstance(handle.send(c.Pause()), CommandRefused)
        handle.send(c.Resume())
        end = await handle.done
        assert end.reason is StopReason.PASSED


async def test_pause_now_cuts_the_call_and_the_round_is_made_again(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate, FIX, say("done")]) as (played, watch):
        handle = await played.start()
        await played.model.waiting.wait()
        handle.send(c.Pause(now=True))
        await watch.until(RoundFinished)
        assert played.of(RoundFinished)[0].outcome == "interrupted"
        handle.send(c.Resume())
        assert (await handle.done).reason is StopReason.PASSED


async def test_steering_now_interrupts_and_is_the_next_thing_the_model_reads(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate, FIX, say("done")]) as (played, _):
        handle = await played.start()
        await played.model.waiting.wait()
        handle.send(c.Steer(id="s1", text="Look at value.txt", when="now"))
        await handle.done
        last = played.model.requests[1].messages[-1].blocks[-1]
        assert isinstance(last, Text)
        assert last.text == "Look at value.txt"
        assert [(e.command_id, e.round) for e in played.of(SteerDelivered)] == [("s1", 2)]


async def test_steering_for_the_next_attempt_comes_with_its_feedback(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate, FIX, say("done")]) as (played, _):
        handle = await played.start()
        await played.model.waiting.wait()
        handle.send(c.Steer(text="Try value.txt"))
        gate.set()
        end = await handle.done
        assert (end.reason, end.attempts) == (StopReason.PASSED, 2)
        texts = [b.text for b in played.model.requests[1].messages[-1].blocks if isinstance(b, Text)]
        assert texts[-1] == "Try value.txt"
        assert texts[-2].startswith("Verify failed")


async def test_a_steering_message_that_comes_too_late_is_said_to_be_dropped(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate]) as (played, _):
        handle = await played.start()
        await played.model.waiting.wait()
        handle.send(c.Steer(text="never read"))
        handle.send(c.Abort())
        await handle.done
        assert [(e.round, e.dropped) for e in played.of(SteerDelivered)] == [(None, "the run ended")]


async def test_the_cap_can_be_raised_in_the_hold_after_it(tmp_path: Path) -> None:
    async with watched(tmp_path, [WRONG, say("done"), FIX, say("done")]) as (played, watch):
        handle = await played.start(cap=None, hold_on_cap=True)
        handle.send(c.SetCap(cap=2))
        played.model.steps[2:2] = [WRONG, say("again")]
        held = await watch.until(RunHeld)
        assert isinstance(held, RunHeld)
        assert held.why is HoldReason.CAP
        assert set(held.ends_with) >= {"set_cap", "end_attempt", "abort"}
        assert isinstance(handle.send(c.Resume()), CommandRefused)
        assert isinstance(handle.send(c.SetCap(cap=1)), CommandRefused)
        answer = handle.send(c.SetCap(cap=3, reason="nearly there"))
        assert isinstance(answer, CommandAccepted)
        assert (answer.old, answer.new) == ("2", "3")
        end = await handle.done
        assert (end.reason, end.attempts) == (StopReason.PASSED, 3)


async def test_the_hold_at_the_cap_can_end_the_run(tmp_path: Path) -> None:
    async with watched(tmp_path, [say("nothing")]) as (played, watch):
        handle = await played.start(cap=2, hold_on_cap=True)
        await watch.until(RunHeld)
        handle.send(c.EndAttempt())
        assert (await handle.done).reason is StopReason.CAP_REACHED


async def test_a_cap_of_one_never_holds(tmp_path: Path) -> None:
    async with watched(tmp_path, [say("nothing")]) as (played, _):
        assert (await played.run(cap=1, hold_on_cap=True)).reason is StopReason.CAP_REACHED


async def test_the_token_budget_stops_before_the_call_that_may_break_it(tmp_path: Path) -> None:
    async with watched(tmp_path, [use("shell", command="echo 1"), use("shell", command="echo 2")]) as (played, _):
        end = await played.run(budget_tokens=20_000, max_output_tokens=16_000, max_rounds=9)
        assert end.reason is StopReason.TOKEN_BUDGET
        assert end.detail.startswith("stopped at the token budget: ")
        assert (
            "limit 20,000. Split the task into smaller ones, or ask whoever sets the limit to raise it." in end.detail
        )
        used = sum(v or 0 for v in end.usage.values())
        assert 0 < used <= 20_000
        assert f"{used:,} used" in end.detail
        assert end.attempts == 1


async def test_a_budget_can_be_raised_in_its_hold(tmp_path: Path) -> None:
    async with watched(tmp_path, [FIX, say("done")]) as (played, watch):
        handle = await played.start(budget_tokens=10_000, max_output_tokens=16_000, hold_on_budget=True)
        held = await watch.until(RunHeld)
        assert isinstance(held, RunHeld)
        assert "stopped at the token budget: 0 used" in held.text
        assert played.model.requests == []
        handle.send(c.SetBudget(kind="tokens", value=100_000))
        assert (await handle.done).reason is StopReason.PASSED


async def test_the_dollar_budget_counts_the_worst_case(tmp_path: Path) -> None:
    async with watched(tmp_path, [FIX]) as (played, _):
        end = await played.run(budget_micros=100_000, max_output_tokens=16_000)
        assert end.reason is StopReason.COST_BUDGET
        assert "limit $0.1000" in end.detail
        assert played.model.requests == []


@pytest.mark.parametrize("count", [2, 5])
async def test_a_command_id_acts_once(tmp_path: Path, count: int) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate, FIX, say("done")]) as (played, _):
        handle = await played.start()
        await played.model.waiting.wait()
        command = c.SetBudget(id="same", kind="tokens", value=500_000)
        answers = [handle.send(command) for _ in range(count)]
        assert all(answer is answers[0] for answer in answers)
        gate.set()
        await handle.done
        assert len([e for e in played.of(CommandAccepted) if e.command_id == "same"]) == 1


async def test_verify_now_shows_the_findings_without_ending_the_attempt(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate, FIX, say("done")]) as (played, _):
        played.model.steps[0] = use("shell", command="echo look")
        handle = await played.start()
        handle.send(c.VerifyNow())
        end = await handle.done
        assert (end.reason, end.attempts) == (StopReason.PASSED, 1)


async def test_switching_the_model_starts_a_leg_with_its_own_cap(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [gate, FIX, say("done")]) as (played, _):
        from runtime.events.loop import LegStarted

        handle = await played.start()
        await played.model.waiting.wait()
        played.model.name = "qwen3-coder"
        handle.send(c.SwitchModel(model="qwen3-coder"))
        end = await handle.done
        assert end.reason is StopReason.PASSED
        assert [(e.leg, e.model, e.cap) for e in played.of(LegStarted)] == [
            (1, "claude-sonnet-5-5", 3),
            (2, "qwen3-coder", 6),
        ]


async def test_closing_the_cockpit_aborts_what_runs_and_keeps_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [FIX, gate]) as (played, _):
        handle = await played.start()
        await played.model.waiting.wait()
    assert handle.done.done()
    assert handle.done.result().reason is StopReason.ABORTED


async def test_the_end_of_the_task_itself_still_settles_the_run(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with watched(tmp_path, [FIX, gate]) as (played, _):
        handle = await played.start()
        await played.model.waiting.wait()
        handle.done.cancel()
        end = await handle.done
        assert end.reason is StopReason.ABORTED
        assert played.of(RoundStarted)[-1].round == end.rounds


async def test_the_time_budget_cuts_a_verify_that_hangs(tmp_path: Path) -> None:
    async with watched(tmp_path, [FIX]) as (played, _):
        end = await played.run(verify=("sleep 300",), budget_seconds=0.5)
        assert end.reason is StopReason.TIME_BUDGET
        assert "stopped at the time budget" in end.detail
        assert find_marked(end.run) == []
        assert played.model.requests == []


def overloaded() -> ModelCallError:
    return ModelCallError(CallFault.OVERLOADED, "overloaded", status=529, retry_after_s=30.0)


async def test_a_run_paused_while_a_try_waits_sends_it_only_after_the_pause(tmp_path: Path) -> None:
    async with watched(tmp_path, [overloaded(), FIX, say("done")]) as (played, watch):
        slept = asyncio.Event()

        async def sleep(_: float) -> None:
            await slept.wait()

        played.cockpit._transport.sleep = sleep
        handle = await played.start()
        await watch.until(TransportRetried)
        handle.send(c.Pause(sender="ann"))
        slept.set()
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(played.model.requests) == 1
        handle.send(c.Resume(sender="ann"))
        assert (await handle.done).reason is StopReason.PASSED


async def test_a_try_that_was_billed_is_reserved_for_anew(tmp_path: Path) -> None:
    # The broken try may have cost its whole prompt: with that spent, the budget can't pay for one more.
    async with stage(tmp_path, [overloaded(), FIX, say("done")]) as played:
        played.cockpit._transport.sleep = lambda _: asyncio.sleep(0)
        end = await played.run(budget_tokens=1_200, max_output_tokens=100)
        assert end.reason is StopReason.TOKEN_BUDGET
        assert len(played.model.requests) == 1
        total = await played.cockpit.store.ledger.run_totals(end.run)
        assert total.tokens <= 1_200
        (row,) = await played.cockpit.store.reports.usage("round", run=end.run)
        assert row.calls == 2


async def test_a_model_that_takes_over_reads_the_task_and_what_failed(tmp_path: Path) -> None:
    steps: list[Step] = [WRONG, say("done"), FIX, say("done")]
    async with watched(tmp_path, steps) as (played, watch):
        handle = await played.start("make value.txt say what it should", cap=1, hold_on_cap=True)
        await watch.until(AttemptStarted)
        assert isinstance(handle.send(c.SwitchModel(model="claude-opus-5-5")), CommandAccepted)
        end = await handle.done
        assert end.reason is StopReason.PASSED
        first = played.model.requests[-2].messages[0].blocks[0]
        assert isinstance(first, Text)
        assert first.text.startswith("make value.txt say what it should")


async def test_an_abort_that_is_accepted_is_the_reason(tmp_path: Path) -> None:
    async with watched(tmp_path, [FIX, say("done")]) as (played, watch):
        handle = await played.start()
        # The verify that passes is over when the abort comes: nothing is left to cut.
        await watch.until(AttemptFinished)
        answer = handle.send(c.Abort(sender="ann"))
        end = await handle.done
        assert isinstance(answer, CommandAccepted) == (end.reason is StopReason.ABORTED)


async def test_a_safe_default_cap_says_since_when_it_is_on_trial(tmp_path: Path) -> None:
    from runtime.events.loop import LegStarted

    served = HostSettings(base_url="http://127.0.0.1:9/v1")
    async with stage(tmp_path, [FIX, say("done")], settings=served) as played:
        played.model.name = "mistral-large"
        await played.run()
        await played.run()
        first, second = [e.on_trial for e in played.of(LegStarted)]
        assert first == "no finished run yet"
        assert second == f"since {played.events[0].at.date().isoformat()}, 1 run"
