"""What verify costs: nothing is made up without a price; with one, every sum and every dollar budget counts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime import commands as c
from runtime.events.checks import VerifyCharged
from runtime.events.loop import AttemptFinished
from runtime.events.supervision import RunAborted
from runtime.events.values import StopReason
from support.scripted_model import Step, say, use
from support.stage import stage

FIXED: list[Step] = [use("write_file", path="value.txt", content="fixed\n"), say("done")]
DOLLAR_A_MINUTE = 1_000_000


async def test_without_a_price_its_cost_is_unknown(tmp_path: Path) -> None:
    async with stage(tmp_path, FIXED) as played:
        await played.run()
        assert played.of(VerifyCharged) == []
        assert played.of(AttemptFinished)[0].verify_micros is None


async def test_with_a_price_every_sum_has_it_once(tmp_path: Path) -> None:
    async with stage(tmp_path, FIXED) as played:
        end = await played.run(verify_micros_per_minute=DOLLAR_A_MINUTE)
        baseline, verify = played.of(VerifyCharged)
        for charged in (baseline, verify):
            assert charged.cost_micros == pytest.approx(charged.wall_ms * DOLLAR_A_MINUTE / 60_000, abs=1)
        assert (baseline.attempt, verify.attempt) == (0, 1)
        rows = {row.key: row for row in await played.cockpit.store.reports.usage("purpose", run=end.run)}
        assert rows["verify"].money.micros == baseline.cost_micros + verify.cost_micros
        assert rows["verify"].calls == 0
        assert rows["verify"].usage.total == 0
        view = await played.cockpit.store.history.view(end.run)
        assert view.money.micros == end.cost_micros == sum(row.money.micros for row in rows.values())
        (attempt,) = view.attempts
        assert attempt.verify_micros == verify.cost_micros == played.of(AttemptFinished)[0].verify_micros
        assert attempt.cost.micros == attempt.money.micros + verify.cost_micros


async def test_a_dollar_budget_counts_it(tmp_path: Path) -> None:
    # A minute costs so much that the baseline alone uses the budget up: no call is made.
    async with stage(tmp_path, FIXED) as played:
        end = await played.run(verify_micros_per_minute=10**12, budget_micros=1_000_000)
        assert end.reason is StopReason.COST_BUDGET
        assert played.model.requests == []
        assert end.usage == {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}


async def test_a_verify_that_is_aborted_is_charged_too(tmp_path: Path) -> None:
    async with stage(tmp_path, FIXED) as played:
        handle = await played.start(verify=("sleep 300",), verify_micros_per_minute=10**12)
        handle.send(c.Abort())
        end = await handle.done
        assert played.of(RunAborted)
        view = await played.cockpit.store.history.view(end.run)
        assert view.money.micros == end.cost_micros == sum(e.cost_micros for e in played.of(VerifyCharged))
