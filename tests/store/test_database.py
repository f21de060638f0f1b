"""The writer: units whole or not at all, whoever is cancelled, and others on the same file."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.errors import StoreError
from runtime.ports import RecordBlocked
from store import database as database_module
from store.connection import connect
from store.database import WAL_BOUND_BYTES, Database
from store.home import FILE_NAME

Unit = Callable[[sqlite3.Connection], None]


@pytest.fixture
async def rows(database: Database) -> Database:
    """A database with a table of pairs, in which both halves of a unit leave a row."""
    await database.write(lambda c: c.execute("CREATE TABLE pairs (unit INTEGER, half INTEGER)"))
    return database


def pair(unit: int, between: Callable[[], object] = lambda: None) -> Unit:
    def write(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO pairs VALUES (?, 1)", (unit,))
        between()
        connection.execute("INSERT INTO pairs VALUES (?, 2)", (unit,))

    return write


async def halves(database: Database) -> dict[int, int]:
    return {row["unit"]: row["n"] for row in await database.rows("SELECT unit, count(*) AS n FROM pairs GROUP BY unit")}


async def test_cancelled_waiter_leaves_unit_whole_and_next_one_unhindered(rows: Database) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert go_on.wait(10)

    task = asyncio.create_task(rows.write(pair(1, wait)))
    await asyncio.to_thread(inside.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    following = asyncio.create_task(rows.write(pair(2)))
    go_on.set()
    await following
    assert await halves(rows) == {1: 2, 2: 2}


async def test_cancelled_between_write_and_commit_a_hundred_times(rows: Database) -> None:
    for number in range(100):
        inside = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell(inside: asyncio.Event = inside, loop: asyncio.AbstractEventLoop = loop) -> None:
            loop.call_soon_threadsafe(inside.set)

        task = asyncio.create_task(rows.write(pair(number, tell)))
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await rows.write(pair(100))
    assert await halves(rows) == dict.fromkeys(range(101), 2)


async def test_a_unit_cancelled_while_queued_is_still_whole(rows: Database) -> None:
    """The writer decides when it runs; a waiter that went away can't make half of it."""
    gate = threading.Event()
    first = asyncio.create_task(rows.write(pair(1, lambda: gate.wait(10))))
    queued = asyncio.create_task(rows.write(pair(2)))
    await asyncio.sleep(0)
    queued.cancel()
    gate.set()
    await first
    await rows.write(pair(3))
    assert set((await halves(rows)).values()) == {2}


async def test_failed_unit_rolls_back_and_its_neighbours_stay(rows: Database) -> None:
    def fails() -> None:
        raise ValueError("in the middle")

    outcomes = await asyncio.gather(
        rows.write(pair(1)), rows.write(pair(2, fails)), rows.write(pair(3)), return_exceptions=True
    )
    assert isinstance(outcomes[1], ValueError)
    assert await halves(rows) == {1: 2, 3: 2}


async def test_twenty_units_at_once_do_not_mix(rows: Database) -> None:
    await asyncio.gather(*(rows.write(pair(number)) for number in range(20)))
    assert await halves(rows) == dict.fromkeys(range(20), 2)


async def test_a_reader_sees_no_half_of_a_unit(rows: Database) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert go_on.wait(10)

    writing = asyncio.create_task(rows.write(pair(1, wait)))
    await asyncio.to_thread(inside.wait, 10)
    assert await halves(rows) == {}
    go_on.set()
    await writing
    assert await halves(rows) == {1: 2}


async def test_read_unit_sees_one_state_throughout(rows: Database) -> None:
    first_read, go_on = threading.Event(), threading.Event()

    def twice(connection: sqlite3.Connection) -> tuple[int, int]:
        before = connection.execute("SELECT count(*) FROM pairs").fetchone()[0]
        first_read.set()
        assert go_on.wait(10)
        return before, connection.execute("SELECT count(*) FROM pairs").fetchone()[0]

    reading = asyncio.create_task(rows.read(twice))
    await asyncio.to_thread(first_read.wait, 10)
    await rows.write(pair(1))
    go_on.set()
    assert await reading == (0, 0)
    assert await halves(rows) == {1: 2}


async def test_cancelled_read_is_ended_and_holds_nothing(rows: Database) -> None:
    started = threading.Event()

    def endless(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM pairs").fetchone()
        started.set()
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        ).fetchone()

    reading = asyncio.create_task(rows.read(endless))
    await asyncio.to_thread(started.wait, 10)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await rows.write(pair(1))
    await rows.close()
    assert rows.wal_bytes() == 0


async def test_read_that_takes_too_long_is_ended(rows: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.readers.READ_LIMIT_S", 0.05)
    with pytest.raises(StoreError, match="took too long"):
        await rows.rows("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
    assert await rows.rows("SELECT 1 AS one")


async def test_readers_cannot_write(rows: Database) -> None:
    with pytest.raises(StoreError, match="read-only"):
        await rows.rows("INSERT INTO pairs VALUES (1, 1) RETURNING unit")


async def test_lock_of_another_process_is_waited_for(rows: Database) -> None:
    other = sqlite3.connect(rows.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(rows.write(pair(1)))
        # Longer than SQLite's own wait, so that the unit has to ask again.
        done, _ = await asyncio.wait([writing], timeout=database_module.BUSY_WAIT_MS / 1000 * 1.5)
        assert not done
        other.execute("COMMIT")
        await writing
    finally:
        other.close()
    assert await halves(rows) == {1: 2}


async def test_lock_that_never_ends_is_told_in_words(rows: Database) -> None:
    rows._patience = 0.05
    other = sqlite3.connect(rows.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RecordBlocked, match="Another process has kept the store") as caught:
            await rows.write(pair(1))
        assert "locked" not in str(caught.value)
    finally:
        other.close()
    await rows.write(pair(1))
    assert await halves(rows) == {1: 2}


async def test_disk_full_says_which_filesystem_and_passes(rows: Database) -> None:
    pages = await rows.write(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    await rows.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone())

    def large(connection: sqlite3.Connection) -> None:
        connection.executemany("INSERT INTO pairs VALUES (?, 1)", ((number,) for number in range(10_000)))

    with pytest.raises(RecordBlocked, match="has no room") as caught:
        await rows.write(large)
    assert str(rows.path.parent) in caught.value.text
    assert "MB free" in caught.value.text
    assert await halves(rows) == {}
    await rows.write(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchone())
    await rows.write(large)
    assert len(await halves(rows)) == 10_000


async def test_log_stays_bounded_beside_a_half_read_result(rows: Database) -> None:
    """A page of a history that somebody left open holds no transaction, however long it stays on the screen."""
    await rows.write(lambda c: c.execute("CREATE TABLE texts (body TEXT)"))
    page = await rows.rows("SELECT * FROM texts LIMIT 10")
    largest = 0

    async def writer() -> None:
        nonlocal largest
        for _ in range(20):
            await rows.write(lambda c: c.executemany("INSERT INTO texts VALUES (?)", [("x" * 1_000,)] * 500))
            largest = max(largest, rows.wal_bytes())

    await asyncio.gather(*(writer() for _ in range(8)))
    assert page == []
    assert rows.path.stat().st_size > 2 * WAL_BOUND_BYTES
    assert 0 < largest < WAL_BOUND_BYTES


async def test_log_is_cut_again_once_a_foreign_reader_lets_go(rows: Database) -> None:
    await rows.write(lambda c: c.execute("CREATE TABLE texts (body TEXT)"))
    other = sqlite3.connect(rows.path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM texts").fetchone()

    async def write() -> None:
        await rows.write(lambda c: c.executemany("INSERT INTO texts VALUES (?)", [("x" * 1_000,)] * 500))

    try:
        while rows.wal_bytes() < 2 * database_module.CHECKPOINT_BYTES:
            await write()
    finally:
        other.close()
    for _ in range(4):
        await write()
    assert rows.wal_bytes() < database_module.CHECKPOINT_BYTES


async def test_files_are_the_users_alone(rows: Database) -> None:
    await rows.write(pair(1))
    names = {path.name: path.stat().st_mode & 0o777 for path in rows.path.parent.iterdir()}
    assert names == {FILE_NAME: 0o600, f"{FILE_NAME}-wal": 0o600, f"{FILE_NAME}-shm": 0o600}
    assert rows.path.parent.stat().st_mode & 0o777 == 0o700


async def test_what_must_survive_a_power_cut_waits_for_the_disk(rows: Database) -> None:
    def level(connection: sqlite3.Connection) -> int:
        return int(connection.execute("PRAGMA synchronous").fetchone()[0])

    assert [await rows.write(level, synced) for synced in (True, False, True)] == [2, 1, 2]
    assert await rows.write(level) == 2
    assert await rows.write(lambda c: c.execute("PRAGMA wal_autocheckpoint").fetchone()[0]) == 0


async def test_closed_store_says_so(home: Path) -> None:
    database = Database(home / FILE_NAME)
    await database.open()
    await database.write(lambda c: None)
    await database.close()
    await database.close()
    with pytest.raises(StoreError, match="closed"):
        await database.write(lambda c: None)
    with pytest.raises(StoreError, match="closed"):
        await database.rows("SELECT 1")


async def test_closing_finishes_what_is_queued(home: Path) -> None:
    database = Database(home / FILE_NAME)
    await database.open()
    await database.write(lambda c: c.execute("CREATE TABLE pairs (unit INTEGER, half INTEGER)"))
    writes = [asyncio.create_task(database.write(pair(number))) for number in range(50)]
    await asyncio.sleep(0)
    await database.close()
    await asyncio.gather(*writes)
    again = Database(home / FILE_NAME)
    await again.open()
    assert await halves(again) == dict.fromkeys(range(50), 2)
    await again.close()


async def test_what_bare_aiosqlite_does(home: Path) -> None:
    """Why units exist: a task cancelled between a write and its commit leaves a ghost for the next one's commit."""
    home.mkdir()
    connection = await connect((home / "bare.db").as_uri())
    try:
        await connection.execute("CREATE TABLE t (who TEXT)")
        written = asyncio.Event()

        async def cancelled() -> None:
            await connection.execute("BEGIN")
            await connection.execute("INSERT INTO t VALUES ('ghost')")
            written.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(cancelled())
        await written.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert connection.in_transaction
        await connection.execute("INSERT INTO t VALUES ('next')")
        await connection.commit()
        ghosts = [row[0] for row in await connection.execute_fetchall("SELECT who FROM t")]
        assert ghosts == ["ghost", "next"]
    finally:
        await connection.close()
