"""Events a second into the store, beside bare sqlite3 writing the same rows, in one run and on one disk.

Run: `.venv/bin/python -P tests/benchmarks/store_rates.py [EVENTS]`. Both commit 500 rows at a time and wait for the disk in the same
cases (deltas: no; every batch: the line before). Bare sqlite3 gets rows that are ready; looptop makes them from events and derives
what follows. Target: a third of the bare rate or more.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from runtime.events.base import Event  # noqa: E402
from runtime.events.codec import event_to_json  # noqa: E402
from runtime.scope import scope  # noqa: E402
from store.store import Store, open_store  # noqa: E402
from support.store_runs import call, delta, queued  # noqa: E402

BATCH = 500
CALLS = 200


def bare(path: Path, events: list[Event], level: str) -> tuple[float, float]:
    """Wall and CPU seconds of bare sqlite3."""
    rows = [(e.run, e.seq, e.type, e.at.isoformat(), e.mono_ms, event_to_json(e)) for e in events]
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={level}")
    connection.execute(
        "CREATE TABLE events (run TEXT, seq INTEGER, type TEXT, at TEXT, mono_ms INTEGER, body TEXT, PRIMARY KEY (run, seq)) "
        "WITHOUT ROWID"
    )
    wall, cpu = time.perf_counter(), time.process_time()
    for at in range(0, len(rows), BATCH):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows[at : at + BATCH])
        connection.execute("COMMIT")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    connection.close()
    return wall, cpu


async def ours(store: Store, events: list[Event]) -> tuple[float, float, float]:
    """Wall and CPU seconds of looptop's record, and the seconds that `append` itself took."""
    appending = 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    for at in range(0, len(events), BATCH):
        began = time.perf_counter()
        for event in events[at : at + BATCH]:
            store.record.append(event)
        appending += time.perf_counter() - began
        await store.record.flush()
    return time.perf_counter() - wall, time.process_time() - cpu, appending


async def reading(store: Store, times: list[float]) -> None:
    """A history screen beside it."""
    while True:
        began = time.perf_counter()
        await store.history.runs(50)
        times.append(time.perf_counter() - began)
        await asyncio.sleep(0.05)


async def main(count: int) -> None:
    """Measure and print."""
    events: list[Event] = [
        queued(f"r{run}") if seq == 1 else delta(f"r{run}", seq, "some words of a reply that streams in, " * 4)
        for seq in range(1, count // 8 + 1)
        for run in range(8)
    ]
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        synced_wall, synced_cpu = bare(Path(folder) / "synced.db", events, "FULL")
        bare_wall, bare_cpu = bare(Path(folder) / "bare.db", events, "NORMAL")
        async with open_store(Path(folder) / "home") as store:
            wall, cpu, appending = await ours(store, events)
        async with open_store(Path(folder) / "beside") as store:
            times: list[float] = []
            reader = asyncio.create_task(reading(store, times))
            await ours(store, events)
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
            await store.views.close()
            began = time.perf_counter()
            with scope(project="p", run="r1", purpose="fix"):
                for number in range(CALLS):
                    await store.ledger.try_reserve(f"c{number}", "r1", 1_000, 500)
                    await store.ledger.record(call(f"c{number}"))
            per_call = (time.perf_counter() - began) / CALLS
    times.sort()
    total = len(events)
    print(f"events, {BATCH} a commit                                     wall/s        CPU/s")
    print(f"  bare sqlite3, rows ready, every commit synced  {total / synced_wall:12,.0f} {total / synced_cpu:12,.0f}")
    print(f"  bare sqlite3, rows ready                       {total / bare_wall:12,.0f} {total / bare_cpu:12,.0f}")
    print(f"  looptop, from events, with what is derived     {total / wall:12,.0f} {total / cpu:12,.0f}")
    print(f"  ratio                                          {bare_wall / wall:12.2f} {bare_cpu / cpu:12.2f}")
    print(f"append, on the loop's own time: {appending / total * 1e6:.2f} us an event")
    p99 = times[int(len(times) * 0.99)]
    print(f"a list of 50 runs read beside it: median {statistics.median(times) * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms")
    print(f"a call reserved and durably recorded: {per_call * 1e3:.2f} ms")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 80_000))
