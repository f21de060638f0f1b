"""A picture from a kept state equals the one folded from every event."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runtime.view
from runtime.events.base import Event
from runtime.view import RunView, fold_all
from store.event_log import EventLog
from store.event_rows import encode
from store.store import Store
from store.views import _FOLDED_BY, Views, fold_version, view_type
from support.sample_runs import fleet
from support.store_runs import delta, finished, queued


async def kept(store: Store, run: str) -> list[int]:
    return [
        row["seq"] for row in await store.database.rows("SELECT seq FROM snapshots WHERE run = ? ORDER BY seq", (run,))
    ]


def long_run(run: str, length: int) -> list[Event]:
    return [queued(run), *(delta(run, seq, f"word {seq} ") for seq in range(2, length)), finished(run, length)]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(fleet())), st.data())
def test_a_state_survives_being_kept_at_any_event(run: str, data: st.DataObject) -> None:
    """As read back from the store, which has no lone surrogates."""
    events = [encode(event)[0] for event in fleet()[run]]
    at = data.draw(st.integers(0, len(events)))
    state = fold_all(events[:at])
    again = view_type().validate_json(view_type().dump_json(state))
    assert again == state
    assert fold_all(events[at:], again) == fold_all(events)


async def test_opened_by_state_equals_opened_by_fold(store: Store) -> None:
    views = Views(store.database, store.record, every=20)
    for run, events in fleet().items():
        await store.record.take_in(events)
        first = await views.load(run)
        assert first == await views.load_fully(run)
        assert await views.load(run) == first
        if len(events) >= 20:
            assert await kept(store, run) != []


async def test_states_are_kept_while_a_run_is_written(store: Store) -> None:
    views = Views(store.database, store.record, every=100)
    events = long_run("r1", 950)
    for at in range(0, len(events), 50):
        for event in events[at : at + 50]:
            store.record.append(event)
        await store.record.flush()
        await asyncio.gather(*views._tasks.values())
    (seq,) = await kept(store, "r1")
    assert seq >= 900
    assert await views.load("r1") == await views.load_fully("r1")
    await views.close()


async def test_a_finished_run_opens_without_replay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for event in long_run("r1", 1_200):
        store.record.append(event)
    await store.record.flush()
    await asyncio.gather(*store.views._tasks.values())
    assert await kept(store, "r1") == [1_200]
    pages: list[int] = []
    page = EventLog.page

    async def counted(
        log: EventLog, run: str, after: int = 0, until: int | None = None, limit: int = 2_000
    ) -> list[Event]:
        found = await page(log, run, after, until, limit)
        pages.append(len(found))
        return found

    monkeypatch.setattr(EventLog, "page", counted)
    view = await store.history.view("r1")
    assert view.finished
    assert pages == [0]


async def test_a_state_of_another_edition_of_the_fold_is_not_built_upon(store: Store) -> None:
    await store.record.take_in(long_run("r1", 30))
    wrong = view_type().dump_json(RunView(run="r1", seq=29, task="of another edition")).decode()
    await store.database.write(
        lambda c: c.execute("INSERT INTO snapshots VALUES ('r1', 29, ?, ?)", (fold_version() - 1, wrong))
    )
    assert (await store.history.view("r1")).task == "fix it"


async def test_a_state_that_cannot_be_read_is_folded_anew(store: Store) -> None:
    await store.record.take_in(long_run("r1", 30))
    await store.database.write(
        lambda c: c.execute("INSERT INTO snapshots VALUES ('r1', 29, ?, '{')", (fold_version(),))
    )
    assert (await store.history.view("r1")) == await store.views.load_fully("r1")


async def test_a_run_with_a_gap_is_kept_only_once_it_is_whole(store: Store) -> None:
    views = Views(store.database, store.record, every=10)
    events = long_run("r1", 40)
    late = events.pop(4)
    await store.record.take_in(events)
    await views.load("r1")
    await views.close()
    assert await kept(store, "r1") == []
    await store.record.take_in([late])
    await views.load("r1")
    assert await kept(store, "r1") != []
    assert await views.load("r1") == fold_all(sorted([*events, late], key=lambda event: event.seq))


async def test_a_full_disk_does_not_keep_a_run_from_being_opened(store: Store) -> None:
    events: Sequence[Event] = long_run("r1", 60)
    await store.record.take_in(events)
    pages = (await store.database.rows("PRAGMA page_count"))[0][0]
    await store.database.write(lambda c: c.execute("CREATE TABLE filler AS SELECT hex(zeroblob(3000)) AS x"))
    pages = (await store.database.rows("PRAGMA page_count"))[0][0]
    await store.database.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    views = Views(store.database, store.record, every=10)
    assert (await views.load("r1")).seq == 60


def test_the_edition_is_of_everything_that_the_fold_is_made_of() -> None:
    assert 0 < fold_version() < 2**63
    folder = Path(str(runtime.view.__file__)).parent
    assert sorted(_FOLDED_BY["runtime.view"]) == sorted(path.stem for path in folder.glob("*.py"))
