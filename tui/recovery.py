"""What a dead process left behind: its processes are ended, its open calls settled, its runs marked interrupted."""

from __future__ import annotations

from datetime import UTC, datetime

from runtime.events.loop import RunFinished
from runtime.events.values import StopReason
from runtime.process.tree import reap_run
from runtime.usage import MICROS_PER_DOLLAR, Usage
from store.store import Store

NOTHING_USED = Usage(input=0, output=0, cache_read=0, cache_write_5m=0, cache_write_1h=0)


async def recover_lost(store: Store) -> list[str]:
    """Settle every run whose process died; returns their ids. Runs of processes that live are left alone."""
    await store.ledger.recover()
    found = []
    for line in await store.history.open_runs():
        if line.owner_alive is not False:
            continue
        ended, survivors = await reap_run(line.run)
        await store.record.append_after_end(await _interrupted(store, line.run, _left(ended, survivors)))
        found.append(line.run)
    return found


def _left(ended: int, survivors: tuple[int, ...]) -> str:
    """What a dead process left running, in words; empty where there was nothing."""
    parts = [f"{ended} of its processes still ran and were ended"] if ended else []
    if survivors:
        parts.append(f"these could not be ended: {', '.join(map(str, survivors))}")
    return "".join(f"; {part}" for part in parts)


async def _interrupted(store: Store, run: str, left: str) -> RunFinished:
    view = await store.history.view(run)
    total = await store.ledger.run_totals(run)
    # Without a call nothing was used; with calls, what their servers didn't report stays unknown.
    usage, money = (total.usage if total.calls else NOTHING_USED), total.money
    return RunFinished(
        reason=StopReason.INTERRUPTED,
        detail=f"the process that executed it died{left}",
        attempts=view.attempt,
        rounds=len(view.rounds),
        steps=view.steps_total,
        usage={
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
        },
        cost_usd=money.micros / MICROS_PER_DOLLAR if money.complete else None,
        cost_micros=money.micros if money.complete else None,
    ).stamped(run, 0, datetime.now(UTC), view.last_ms)
