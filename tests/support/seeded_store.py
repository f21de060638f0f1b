"""A store with finished runs made to a shape: attempts, what they cost, and how they ended."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.curves.legs import Ended, Leg
from runtime.events.base import Event
from runtime.events.loop import AttemptFinished, AttemptStarted, LegStarted, RunFinished
from runtime.events.values import StopReason
from runtime.scope import scope
from runtime.usage import Usage
from store.store import Store
from support.store_runs import AT, call, queued

REASONS = {
    Ended.PASSED: StopReason.PASSED,
    Ended.CAP: StopReason.CAP_REACHED,
    Ended.BUDGET: StopReason.COST_BUDGET,
    Ended.OTHER: StopReason.ABORTED,
}


async def seed(store: Store, legs: Sequence[Leg], project: str = "parser") -> None:
    """A run for each leg, with a call for each attempt."""
    for number, leg in enumerate(legs):
        run = f"s{number:05}"
        seq = 1

        def record(event: Event, run: str = run) -> None:
            nonlocal seq
            seq += 1
            store.record.append(event.stamped(run, seq, AT, seq))

        store.record.append(queued(run, project=project, model=leg.model, category=leg.category, tenant=leg.tenant))
        record(LegStarted(leg=1, model=leg.model, provider="anthropic", cap=20, cap_source="a test"))
        for k, attempt in enumerate(leg.attempts, 1):
            record(AttemptStarted(attempt=k, leg=1, attempt_of_leg=k, model=leg.model))
            used = Usage(input=attempt.tokens, output=0, cache_read=0, cache_write_5m=0, cache_write_1h=0)
            with scope(project=project, run=run, leg=1, attempt=k, round=k, purpose="fix"):
                await store.ledger.record(call(f"{run}-{k}", attempt.micros, usage=used))
            record(AttemptFinished(attempt=k, passed=attempt.passed, verify_micros=attempt.verify_micros))
        made = len(leg.attempts)
        record(RunFinished(reason=REASONS[leg.ended], attempts=made, rounds=made, usage={}))
    await store.record.flush()
