"""Failure analysis: a bad end is summed up once, under its own purpose, within the budgets, and changes no reason."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime import commands as c
from runtime.events.checks import FailureAnalysed
from runtime.events.loop import RunFinished
from runtime.events.values import StopReason
from runtime.models.base import CallFault, ModelCallError, Request, Text
from runtime.usage import Usage
from support.scripted_model import Step, say, use
from support.stage import Stage, stage

CHEAP = "anthropic/claude-haiku-5-5"
WRONG = use("write_file", path="value.txt", content="wrong\n")
USED = Usage(input=900, output=60, cache_read=0, cache_write_5m=0, cache_write_1h=0)
ATTEMPT: list[Step] = [WRONG, say("it is fixed")]


def analysis(played: Stage) -> FailureAnalysed:
    (event,) = played.of(FailureAnalysed)
    return event


def said(request: Request) -> str:
    return "".join(block.text for message in request.messages for block in message.blocks if isinstance(block, Text))


async def test_a_bad_end_is_summed_up_without_any_task(tmp_path: Path) -> None:
    async with stage(tmp_path, [*ATTEMPT, say("value.txt says wrong, not fixed", usage=USED)]) as played:
        end = await played.run(cap=1, failure_analysis=CHEAP)
        assert end.reason is StopReason.CAP_REACHED
        assert analysis(played).text == "value.txt says wrong, not fixed"
        asked = said(played.model.requests[-1])
        assert "make the verify commands pass" in asked
        assert "value is wrong" in asked
        assert not played.model.requests[-1].tools
        view = await played.cockpit.store.history.view(end.run)
        assert view.analysis == "value.txt says wrong, not fixed"


async def test_the_last_verify_output_is_cut_to_what_may_be_read(tmp_path: Path) -> None:
    files = {
        "value.txt": "broken\n",
        "check.py": "print('x' * 79 + '\\n', end='') if 0 else [print('line', i) for i in range(20000)]\nraise SystemExit(1)\n",
    }
    async with stage(tmp_path, [*ATTEMPT, say("much output")], files) as played:
        await played.run(cap=1, failure_analysis=CHEAP)
        output = said(played.model.requests[-1]).partition("Last verify output:\n")[2]
        assert 8_000 < len(output) <= 12_000
        assert "line 0" in output
        assert "line 19999" in output


async def test_it_has_its_own_purpose_and_every_sum_agrees(tmp_path: Path) -> None:
    async with stage(tmp_path, [*ATTEMPT, say("summed up", usage=USED)]) as played:
        end = await played.run(cap=1, failure_analysis=CHEAP)
        rows = {row.key: row for row in await played.cockpit.store.reports.usage("purpose", run=end.run)}
        assert set(rows) == {"fix", "failure_analysis"}
        assert rows["failure_analysis"].usage.input == 900
        assert rows["failure_analysis"].calls == 1
        view = await played.cockpit.store.history.view(end.run)
        total = await played.cockpit.store.reports.total(run=end.run)
        assert view.usage == total.usage
        assert view.money == total.money
        assert end.cost_micros == total.money.micros
        assert analysis(played).cost_micros == rows["failure_analysis"].money.micros


@pytest.mark.parametrize("steps", [[use("write_file", path="value.txt", content="fixed\n"), say("done")]])
async def test_a_good_end_asks_nothing(tmp_path: Path, steps: list[Step]) -> None:
    async with stage(tmp_path, [*steps, say("never asked")]) as played:
        assert (await played.run(failure_analysis=CHEAP)).reason is StopReason.PASSED
        assert not played.of(FailureAnalysed)
        assert len(played.model.requests) == 2


async def test_without_a_model_for_it_nothing_is_asked(tmp_path: Path) -> None:
    async with stage(tmp_path, [*ATTEMPT, say("never asked")]) as played:
        await played.run(cap=1)
        assert not played.of(FailureAnalysed)
        assert len(played.model.requests) == 2


async def test_it_counts_against_the_budget_and_is_left_out_beyond_it(tmp_path: Path) -> None:
    async with stage(tmp_path, [*ATTEMPT, say("never asked")]) as played:
        # Two rounds use 2,340 tokens; what is left is less than the analysis may need.
        end = await played.run(cap=1, failure_analysis=CHEAP, budget_tokens=4_000, max_output_tokens=100)
        assert end.reason is StopReason.CAP_REACHED
        assert analysis(played).error == "no failure analysis: not asked: it doesn't fit into the token budget"
        assert len(played.model.requests) == 2
        rows = await played.cockpit.store.reports.usage("purpose", run=end.run)
        assert [row.key for row in rows] == ["fix"]


async def test_a_call_that_fails_is_said_and_changes_no_reason(tmp_path: Path) -> None:
    broken = ModelCallError(CallFault.AUTHENTICATION, "the key is not valid", status=401, sent=False)
    async with stage(tmp_path, [*ATTEMPT, broken]) as played:
        end = await played.run(cap=1, failure_analysis=CHEAP)
        assert end.reason is StopReason.CAP_REACHED
        assert analysis(played).error == "no failure analysis: the key is not valid"
        assert analysis(played).cost_micros == 0


async def test_an_abort_during_it_ends_at_once_and_its_cost_is_kept(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with stage(tmp_path, [*ATTEMPT, never]) as played:
        handle = await played.start(cap=1, failure_analysis=CHEAP)
        await played.model.waiting.wait()
        handle.send(c.Abort(sender="me"))
        end: RunFinished = await handle.done
        assert end.reason is StopReason.ABORTED
        rows = {row.key: row for row in await played.cockpit.store.reports.usage("purpose", run=end.run)}
        assert rows["failure_analysis"].usage.input == 100
        view = await played.cockpit.store.history.view(end.run)
        total = await played.cockpit.store.reports.total(run=end.run)
        assert view.usage.input == total.usage.input
