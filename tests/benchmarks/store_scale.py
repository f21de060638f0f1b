"""The history at five million events: opened, searched, one run opened; and the start after a kill.

Run: `.venv/bin/python -P tests/benchmarks/store_scale.py [EVENTS]`. The store is made with looptop's own writing code. Limits that
a person feels: 100 ms for a list, a search and an ordinary run, one second for the start after a kill.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from runtime.events.base import Event  # noqa: E402
from runtime.scope import Scope  # noqa: E402
from store.database import WAL_BOUND_BYTES  # noqa: E402
from store.event_rows import insert_events  # noqa: E402
from store.home import FILE_NAME  # noqa: E402
from store.ledger import insert_row  # noqa: E402
from store.store import Store, open_store  # noqa: E402
from support.store_runs import AT, call, child, delta, finished, queued  # noqa: E402

OF_A_RUN = 1_000
LONG = 100_000
T = TypeVar("T")


def a_run(number: int, length: int) -> list[Event]:
    """One run of many."""
    run, at = f"r{number:05x}", AT + timedelta(minutes=7 * number)
    middle = [delta(run, seq, "some words of a reply that streams in, " * 3, at) for seq in range(2, length)]
    return [queued(run, f"Fix the parser, part {number}", f"p{number % 20}", at), *middle, finished(run, length, at=at)]


async def fill(store: Store, events: int) -> int:
    """Write runs of 1,000 events, and one long one; returns how many runs there are."""
    runs = max(1, (events - LONG) // OF_A_RUN)

    def unit(connection: sqlite3.Connection, numbers: range) -> None:
        for number in numbers:
            insert_events(connection, a_run(number, OF_A_RUN), None)
            at = AT + timedelta(minutes=7 * number)
            for round_ in range(15):
                scope = Scope(project=f"p{number % 20}", run=f"r{number:05x}", attempt=1, round=round_, purpose="fix")
                insert_row(connection, call(f"{number}-{round_}", started_at=at), scope)

    for first in range(0, runs, 10):
        await store.database.write(lambda c, first=first: unit(c, range(first, min(first + 10, runs))))  # type: ignore[misc]
    long = a_run(runs, LONG)
    for at in range(0, LONG, 5_000):
        await store.record.take_in(long[at : at + 5_000])
    return runs + 1


async def timed(name: str, question: Callable[[], Awaitable[T]]) -> T:
    """Ask five times; print the first answer's time and the best of the others."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        answer = await question()
        times.append((time.perf_counter() - began) * 1e3)
    print(f"  {name:<52} first {times[0]:8.1f} ms   then {min(times[1:]):8.1f} ms")
    return answer


async def ask(home: Path, runs: int) -> None:
    """Everything that a screen asks for."""
    began = time.perf_counter()
    async with open_store(home) as store:
        print(f"  {'open the store':<52} first {(time.perf_counter() - began) * 1e3:8.1f} ms")
        page = await timed("history, the newest 50", lambda: store.history.runs(50))
        await timed("history, the next 50", lambda: store.history.runs(50, before=page[-1]))
        await timed("history of one project", lambda: store.history.runs(50, "p7"))
        await timed("search for a task, one hit", lambda: store.history.runs(50, search=f"part {runs // 3}"))
        await timed("search without a hit", lambda: store.history.runs(50, search="nowhere to be found"))
        await timed("find a run by its beginning", lambda: store.history.find(f"r{runs // 2:05x}"))
        numbers = iter(random.Random(1).sample(range(runs - 1), 5))
        await timed(f"open a run of {OF_A_RUN:,} events", lambda: store.history.view(f"r{next(numbers):05x}"))
        await timed(f"open a run of {LONG:,} events", lambda: store.history.view(f"r{runs - 1:05x}"))
        await timed("the newest 100 events of it", lambda: store.history.events_before(f"r{runs - 1:05x}", None, 100))
        await timed("usage by month", lambda: store.reports.usage("month"))
        await timed("usage of one run by round", lambda: store.reports.usage("round", run="r00007"))


KILLED = """
import asyncio, sys; from pathlib import Path; from store.store import open_store
from support.store_runs import queued, delta
async def write(store, run):
    store.record.append(queued(run))
    for seq in range(2, 10**9):
        store.record.append(delta(run, seq, 'x' * 1_000))
        if seq % 100 == 0:
            await store.record.flush()
            print(store.database.wal_bytes(), flush=True)
async def main():
    async with open_store(Path(sys.argv[1])) as store:
        await asyncio.gather(*(write(store, f'k{n}') for n in range(8)))
asyncio.run(main())
"""


async def after_a_kill(home: Path) -> None:
    """Kill eight writing runs while a result is half read; measure the log and the next start."""
    largest, until = 0, time.monotonic() + 10
    async with open_store(home) as store:
        await store.history.runs(50)
        process = child(KILLED, str(home))
        assert process.stdout is not None
        while time.monotonic() < until:
            largest = max(largest, int(await asyncio.to_thread(process.stdout.readline)))
        process.kill()
        process.communicate()
    print(
        f"  largest log beside an open history, 8 runs writing   {largest / 1e6:8.1f} MB (bound {WAL_BOUND_BYTES / 1e6:.1f} MB)"
    )
    began = time.perf_counter()
    async with open_store(home) as store:
        left = await store.history.open_runs()
        seconds = time.perf_counter() - began
    print(f"  start after the kill, {len(left)} runs found interrupted      {seconds * 1e3:8.1f} ms")


async def main(events: int) -> None:
    """Make the store, ask, kill, ask again."""
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        home = Path(folder) / "home"
        began = time.perf_counter()
        async with open_store(home) as store:
            runs = await fill(store, events)
        size = (home / FILE_NAME).stat().st_size / 1e6
        print(f"{runs:,} runs, {events:,} events, {size:,.0f} MB, written in {time.perf_counter() - began:,.0f} s")
        await ask(home, runs)
        await after_a_kill(home)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000))
