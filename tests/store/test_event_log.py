"""The record: batches, barriers, blocked disks, text that isn't, and runs that nobody executes any more."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runtime.errors import StoreError, UsageError
from runtime.events.base import Event
from runtime.events.loop import ChangeDelivered, RunFinished, TextDelta, ToolCalled
from runtime.events.supervision import CommandAccepted, RunResumed, UnknownEvent
from runtime.events.values import StopReason
from runtime.ports import RecordBlocked
from store.database import Database
from store.event_log import BATCH_EVENTS, EventLog
from store.owner import SILENT_SECONDS, Owner, _started, is_alive, this_process
from store.projections import HANDLERS
from store.store import Store, open_store
from support.sample_runs import fleet
from support.store_runs import AT, child, delta, finished, queued, results


async def kept(store: Store, run: str, after: int = 0) -> list[Event]:
    return [event async for event in store.record.read(run, after)]


async def test_what_is_appended_is_read_back(store: Store) -> None:
    runs = fleet()
    for events in zip(*(stream[:40] for stream in runs.values()), strict=False):
        for event in events:
            store.record.append(event)
    await store.record.flush()
    for run, stream in runs.items():
        read = await kept(store, run)
        assert read
        if run != "h0571":
            assert read == stream[: len(read)]
        assert await kept(store, run, after=5) == read[5:]


async def test_pages_are_bounded_by_number_and_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.event_log.PAGE", 7)
    events = [queued("r1"), *(delta("r1", seq) for seq in range(2, 41))]
    for event in events:
        store.record.append(event)
    await store.record.flush()
    assert await kept(store, "r1") == events
    monkeypatch.setattr("store.event_rows.PAGE_BYTES", 1)
    assert await store.record.page("r1", 3) == [events[3]]
    assert await store.record.page_before("r1", 10) == [events[8]]
    monkeypatch.undo()
    assert await store.record.page_before("r1", None, limit=3) == events[-3:]
    assert await store.record.page_before("r1", 3, limit=5) == events[:2]
    assert await store.record.page("r1", 0, until=4) == events[:4]
    assert await store.record.page("nobody") == []


async def test_events_go_in_batches_not_one_by_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    units: list[bool] = []
    write = Database.write

    async def counted(database: Database, unit: object, synced: bool = True) -> object:
        units.append(synced)
        return await write(database, unit, synced)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "write", counted)
    for seq in range(1, 3 * BATCH_EVENTS + 1):
        store.record.append(queued("r1") if seq == 1 else delta("r1", seq))
    await store.record.flush()
    # A run's beginning must survive a power cut; its deltas needn't.
    assert units == [True, False, False]
    await store.record.flush()
    assert len(units) == 3


async def test_appended_events_are_written_without_a_flush(store: Store) -> None:
    written = asyncio.Event()
    store.record.on_written = lambda events: written.set()
    store.record.append(queued("r1"))
    await asyncio.wait_for(written.wait(), 10)
    assert [event.seq for event in await kept(store, "r1")] == [1]


async def test_many_flush_at_once_and_some_go_away(store: Store) -> None:
    async def one(number: int) -> None:
        run = f"r{number}"
        store.record.append(queued(run))
        for seq in range(2, 12):
            store.record.append(delta(run, seq))
            await store.record.flush()
            assert len(await kept(store, run)) == seq

    tasks = [asyncio.create_task(one(number)) for number in range(12)]
    await asyncio.sleep(0)
    for task in tasks[::4]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [
        outcome for outcome in outcomes if outcome is not None and not isinstance(outcome, asyncio.CancelledError)
    ] == []
    await store.record.flush()


async def test_disk_full_loses_nothing(store: Store) -> None:
    store.record.append(queued("r1"))
    await store.record.flush()
    pages = (await store.database.rows("PRAGMA page_count"))[0][0]
    await store.database.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    events = [delta("r1", seq, "x" * 3_000) for seq in range(2, 60)]
    for event in events:
        store.record.append(event)
    for _ in range(2):
        with pytest.raises(RecordBlocked, match="has no room"):
            await store.record.flush()
    assert "Free some space" in store.record.blocked
    assert len(await kept(store, "r1")) == 1
    late = delta("r1", 60)
    store.record.append(late)
    await store.database.write(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchone())
    await store.record.flush()
    assert (await kept(store, "r1"))[1:] == [*events, late]
    assert store.record.blocked == ""


async def test_closing_on_a_full_disk_says_what_is_lost(home: Path) -> None:
    async def fill() -> None:
        async with open_store(home) as store:
            store.record.append(queued("r1"))
            await store.record.flush()
            pages = (await store.database.rows("PRAGMA page_count"))[0][0]
            await store.database.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone())
            for seq in range(2, 60):
                store.record.append(delta("r1", seq, "x" * 3_000))

    with pytest.raises(StoreError, match=r"58 events of r1 were not kept: .* has no room"):
        await fill()


async def test_text_that_cannot_be_stored_becomes_marks(store: Store) -> None:
    """A lone surrogate in one event must not keep any other from the record."""
    hostile = "a\ud800b\x00c"
    store.record.append(queued("r1", task=hostile))
    store.record.append(delta("r1", 2, hostile))
    call = ToolCalled(
        attempt=1, round=1, step=1, call_id="c", tool="shell", arguments={hostile: [hostile, {"k": hostile}]}
    )
    store.record.append(call.stamped("r1", 3, AT, 0))
    answer = CommandAccepted(command_id=hostile, command="steer", sender=hostile, effect=hostile)
    store.record.append(answer.stamped("r1", 4, AT, 0))
    store.record.append(queued("r2"))
    await store.record.flush()
    read = await kept(store, "r1")
    assert isinstance(read[1], TextDelta)
    assert read[1].text == "a\ufffdb\u2400c"
    assert isinstance(read[2], ToolCalled)
    assert read[2].arguments == {"a\ufffdb\u2400c": ["a\ufffdb\u2400c", {"k": "a\ufffdb\u2400c"}]}
    assert (await store.history.line("r1")).task == "a\ufffdb\u2400c"
    assert await store.history.command_ids("r1") == {"a\ufffdb\u2400c"}
    assert len(await kept(store, "r2")) == 1


async def test_numbers_and_values_that_cannot_be_stored(store: Store) -> None:
    store.record.append(queued("r1", budget_tokens=2**70))
    odd = ToolCalled(attempt=1, round=1, step=1, call_id="c", tool="shell", arguments={"x": object()})
    store.record.append(odd.stamped("r1", 2, AT, 0))
    store.record.append(delta("r1", 3))
    await store.record.flush()
    read = await kept(store, "r1")
    assert [event.seq for event in read] == [1, 2, 3]
    assert isinstance(read[1], UnknownEvent)
    assert read[1].type == "unstorable_tool_called"
    assert (await store.history.line("r1")).budget_tokens == 2**63 - 1


async def test_a_row_that_is_no_event_is_named(store: Store) -> None:
    store.record.append(queued("r1"))
    await store.record.flush()
    await store.database.write(lambda c: c.execute("UPDATE events SET body = '{'"))
    with pytest.raises(StoreError, match="Event 1 of run r1 can't be read"):
        await kept(store, "r1")


async def test_the_same_event_again_changes_nothing(store: Store) -> None:
    events = fleet()["p0a11"]
    await store.record.take_in(events)
    before = await store.history.line("p0a11")
    await store.record.take_in(events[3:9])
    await store.record.take_in(events[::-1])
    assert await store.history.line("p0a11") == before
    assert await kept(store, "p0a11") == events


async def test_another_event_under_the_same_number_is_refused(store: Store) -> None:
    store.record.append(queued("r1"))
    store.record.append(delta("r1", 2, "first"))
    await store.record.flush()
    store.record.append(delta("r1", 2, "second"))
    store.record.append(queued("r2"))
    with pytest.raises(StoreError, match="Event 2 of run r1 is in the store already"):
        await store.record.flush()
    # It is told once and stands in nobody's way afterwards.
    store.record.append(delta("r2", 2))
    await store.record.flush()
    assert len(await kept(store, "r2")) == 2
    with pytest.raises(StoreError, match="same id elsewhere"):
        await store.record.take_in([delta("r1", 2, "third")])
    assert [event.text for event in await kept(store, "r1") if isinstance(event, TextDelta)] == ["first"]


async def test_events_after_the_end_are_numbered_in_the_store(store: Store) -> None:
    store.record.append(queued("r1"))
    with pytest.raises(StoreError, match="is being executed by process"):
        await store.record.append_after_end(ChangeDelivered(how="discard", ok=True).stamped("r1", 0, AT, 0))
    store.record.append(finished("r1", 2))
    first, second = await asyncio.gather(
        store.record.append_after_end(ChangeDelivered(how="apply", ok=True).stamped("r1", 0, AT, 0)),
        store.record.append_after_end(ChangeDelivered(how="discard", ok=True).stamped("r1", 0, AT, 0)),
    )
    assert (first.seq, second.seq) == (3, 4)
    assert [event.seq for event in await kept(store, "r1")] == [1, 2, 3, 4]
    assert (await store.history.line("r1")).delivered == "discard"
    with pytest.raises(StoreError, match="no run r9"):
        await store.record.append_after_end(finished("r9", 0))


async def test_a_run_ends_once(store: Store) -> None:
    store.record.append(queued("r1"))
    store.record.append(finished("r1", 2))
    end = await store.record.append_after_end(finished("r1", 0, StopReason.INTERRUPTED))
    assert isinstance(end, RunFinished)
    assert (end.seq, end.reason) == (2, StopReason.PASSED)
    assert len(await kept(store, "r1")) == 2


WRITE_AND_WAIT = (
    "import asyncio, sys; from pathlib import Path; from store.store import open_store\n"
    "from support.store_runs import queued, delta\n"
    "async def main():\n"
    "    async with open_store(Path(sys.argv[1])) as store:\n"
    "        store.record.append(queued('r1'))\n"
    "        for seq in range(2, 10**9):\n"
    "            store.record.append(delta('r1', seq))\n"
    "            if seq % 25 == 0:\n"
    "                await store.record.flush()\n"
    "                print(seq, flush=True)\n"
    "asyncio.run(main())\n"
)


def killed_writer(home: Path, acknowledged: int) -> int:
    """Run a process that writes, kill it in the middle, and return the newest number that it knew to be durable."""
    process = child(WRITE_AND_WAIT, str(home))
    assert process.stdout is not None
    last = 0
    while last < acknowledged:
        last = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest = process.communicate(timeout=30)[0].split()
    return int(rest[-1]) if rest else last


async def test_kill_loses_nothing_that_was_acknowledged(home: Path) -> None:
    last = killed_writer(home, 1_000)
    async with open_store(home) as store:
        numbers = [event.seq for event in await kept(store, "r1")]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= last
        assert await store.database.rows("PRAGMA integrity_check") != []
        (line,) = await store.history.open_runs()
        assert line.last_seq == len(numbers)
        assert line.owner_alive is False
        # Whoever finds it ends it, and only one of several does.
        ends = await asyncio.gather(
            *(store.record.append_after_end(finished("r1", 0, StopReason.INTERRUPTED)) for _ in range(2))
        )
        assert {end.seq for end in ends} == {len(numbers) + 1}
        assert await store.history.open_runs() == []


async def test_resuming_is_for_one_process(home: Path) -> None:
    killed_writer(home, 100)
    async with open_store(home) as store:
        await store.record.append_after_end(finished("r1", 0, StopReason.INTERRUPTED))
        last = await store.claims.claim("r1")
        with pytest.raises(StoreError, match="is being executed"):
            await store.record.append_after_end(ChangeDelivered(how="discard", ok=True).stamped("r1", 0, AT, 0))
        code = (
            "import asyncio, sys; from pathlib import Path; from store.store import open_store\n"
            "from runtime.errors import UsageError\n"
            "async def main():\n"
            "    async with open_store(Path(sys.argv[1])) as store:\n"
            "        try:\n"
            "            await store.claims.claim('r1')\n"
            "        except UsageError as error:\n"
            "            print(error)\n"
            "asyncio.run(main())\n"
        )
        (said,) = results([child(code, str(home))])
        assert "Run r1 is being executed by process" in said
        store.record.append(RunResumed(resumed=True).stamped("r1", last + 1, AT, 0))
        store.record.append(finished("r1", last + 2))
        await store.record.flush()
        assert await store.claims.claim("r1") == last + 2
        with pytest.raises(UsageError, match="no run"):
            await store.claims.claim("r9")


async def test_two_processes_write_while_a_third_reads(home: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from store.store import open_store\n"
        "from support.store_runs import queued, delta, call\n"
        "async def main():\n"
        "    run = sys.argv[2]\n"
        "    async with open_store(Path(sys.argv[1])) as store:\n"
        "        store.record.append(queued(run))\n"
        "        for seq in range(2, 402):\n"
        "            store.record.append(delta(run, seq))\n"
        "            if seq % 4 == 0:\n"
        "                await store.record.flush()\n"
        "                await store.ledger.record(call(f'{run}-{seq}'))\n"
        "asyncio.run(main())\n"
    )
    async with open_store(home) as store:
        writers = [child(code, str(home), run) for run in ("r1", "r2")]
        done = asyncio.create_task(asyncio.to_thread(results, writers))
        while not done.done():
            for line in await store.history.runs():
                numbers = [event.seq for event in await kept(store, line.run)]
                assert numbers == list(range(1, len(numbers) + 1))
                assert len(numbers) >= line.last_seq
            await asyncio.wait([done], timeout=0.02)
        await done
        assert [len(await kept(store, run)) for run in ("r1", "r2")] == [401, 401]
        assert (await store.reports.total()).calls == 200


async def test_heartbeat_is_of_own_open_runs(store: Store) -> None:
    store.record.append(queued("r1"))
    store.record.append(queued("r2"))
    store.record.append(finished("r2", 2))
    await store.record.flush()
    await store.claims.beat()
    beats = {row["id"]: row["heartbeat"] for row in await store.database.rows("SELECT id, heartbeat FROM runs")}
    assert datetime.fromisoformat(beats["r1"]) > AT
    assert beats["r2"] == AT.isoformat()


def test_owners() -> None:
    now = datetime.now(UTC)
    here = this_process()
    assert is_alive(here) is True
    assert is_alive(Owner(here.host, here.pid, here.started + 60)) is False
    assert is_alive(Owner(here.host, 0, 0.0)) is False
    elsewhere = Owner("another-host", here.pid, here.started)
    assert is_alive(elsewhere) is None
    assert is_alive(elsewhere, now - timedelta(seconds=SILENT_SECONDS - 1), now) is True
    assert is_alive(elsewhere, now - timedelta(seconds=SILENT_SECONDS + 1), now) is False


def test_a_zombie_is_dead() -> None:
    process = child("import sys; sys.stdin.readline()")
    started = _started(process.pid)
    assert started is not None
    owner = Owner(this_process().host, process.pid, started)
    assert is_alive(owner) is True
    process.send_signal(signal.SIGKILL)
    # Nobody has waited for it yet: it is in the process table, and runs no more.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_alive(owner) is False
    process.communicate(timeout=10)


async def test_a_bug_in_what_is_derived_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: sqlite3.Connection, event: Event) -> None:
        raise KeyError("column")

    monkeypatch.setitem(HANDLERS, "run_queued", broken)
    store.record.append(queued("r1"))
    with pytest.raises(RecordBlocked, match=r"Events can't be written \(KeyError"):
        await store.record.flush()
    monkeypatch.undo()
    await store.record.flush()
    assert (await store.history.line("r1")).task == "fix it"


def test_log_needs_no_loop_to_be_made(tmp_path: Path) -> None:
    assert EventLog(Database(tmp_path / "x.db")).blocked == ""
