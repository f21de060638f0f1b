"""Old runs lose their events and nothing else, and say so."""

from __future__ import annotations

from datetime import timedelta

import pytest

from runtime.errors import StoreError, UsageError
from runtime.events.loop import ChangeDelivered
from runtime.scope import scope
from store.store import Store
from support.store_runs import AT, call, delta, finished, queued


async def test_empty_store(store: Store) -> None:
    held = await store.retention.holdings()
    assert (held.runs, held.events, held.oldest) == (0, 0, None)
    assert held.file_bytes > 0
    assert await store.retention.prune(AT) == []


async def test_old_finished_runs_are_pruned(store: Store) -> None:
    old = AT - timedelta(days=40)
    for run, at in (("old", old), ("open", old), ("new", AT)):
        store.record.append(queued(run, at=at))
        for seq in range(2, 60):
            store.record.append(delta(run, seq, "x" * 2_000, at))
        if run != "open":
            store.record.append(finished(run, 60, at=at))
    with scope(project="parser", run="old", purpose="fix"):
        await store.ledger.record(call("c1", started_at=old))
    await store.record.flush()
    before = await store.history.line("old")
    assert (await store.retention.holdings()).oldest == old
    assert await store.retention.prune(AT - timedelta(days=30)) == ["old"]
    assert await store.retention.prune(AT - timedelta(days=30)) == []
    held = await store.retention.holdings()
    assert (held.runs, held.pruned_runs, held.events) == (3, 1, 59 + 60)
    assert held.free_bytes > 50_000
    line = await store.history.line("old")
    assert line.pruned_at is not None
    assert (line.task, line.tokens, line.reason, line.last_seq) == (before.task, 460, "passed", 60)
    assert await store.record.page("old") == []
    assert len(await store.record.page("open")) == 59
    assert (await store.reports.total(run="old")).calls == 1


async def test_a_pruned_run_says_so(store: Store) -> None:
    store.record.append(queued("r1"))
    store.record.append(finished("r1", 2))
    await store.record.flush()
    await store.retention.prune(AT + timedelta(days=1))
    with pytest.raises(UsageError, match="events of run r1 were removed on"):
        await store.history.view("r1")
    with pytest.raises(UsageError, match="can't be resumed"):
        await store.claims.claim("r1")
    with pytest.raises(StoreError, match="none can be added"):
        await store.record.append_after_end(ChangeDelivered(how="apply", ok=True).stamped("r1", 0, AT, 0))
    # An event that comes once more from elsewhere doesn't bring a part of it back.
    await store.record.take_in([queued("r1")])
    assert await store.record.page("r1") == []
    assert (await store.history.line("r1")).reason == "passed"
