"""Forward only, one transaction a step, with a copy before; from every earlier schema."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from runtime.errors import StoreError
from store.home import FILE_NAME
from store.migrations import APPLICATION_ID, migrate, schema_version
from store.schema import MIGRATIONS, SCHEMA_VERSION
from store.store import open_store

CHAIN = (
    ("CREATE TABLE a (x INTEGER)", "INSERT INTO a VALUES (1)"),
    ("ALTER TABLE a ADD COLUMN y INTEGER", "UPDATE a SET y = x + 1"),
    ("CREATE TABLE b AS SELECT y FROM a",),
)


def connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def schema_of(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Tables with their columns, and indexes, apart from the order in which columns were added."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    columns = {
        table: sorted(tuple(row[1:]) for row in connection.execute(f"PRAGMA table_info({table})")) for table in tables
    }
    columns["indexes"] = sorted(
        tuple(row) for row in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'")
    )
    return columns


@pytest.mark.parametrize("start", range(len(CHAIN) + 1))
def test_a_chain_from_every_start(tmp_path: Path, start: int) -> None:
    path = tmp_path / "chain.db"
    connection = connected(path)
    assert migrate(connection, path, CHAIN[:start]) == start
    assert migrate(connection, path, CHAIN) == len(CHAIN) - start
    assert migrate(connection, path, CHAIN) == 0
    assert schema_version(connection) == len(CHAIN)
    assert connection.execute("SELECT y FROM b").fetchall() == [(2,)]
    connection.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == (
        ["chain.db"] + ([f"chain.db.schema-{start}"] if 0 < start < len(CHAIN) else [])
    )


def test_copy_is_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "chain.db"
    connection = connected(path)
    migrate(connection, path, CHAIN[:1])
    connection.execute("INSERT INTO a VALUES (41)")
    migrate(connection, path, CHAIN)
    connection.close()
    target = tmp_path / "chain.db.schema-1"
    assert target.stat().st_mode & 0o777 == 0o600
    copy = connected(target)
    assert schema_version(copy) == 1
    assert copy.execute("SELECT * FROM a").fetchall() == [(1,), (41,)]
    copy.close()


def test_a_step_that_fails_leaves_its_predecessors_and_nothing_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "chain.db"
    connection = connected(path)
    broken = (*CHAIN[:2], ("CREATE TABLE c (z)", "INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, path, broken)
    assert schema_version(connection) == 2
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'c'").fetchone() == (0,)
    assert migrate(connection, path, CHAIN) == 1
    connection.close()


def test_newer_schema_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "chain.db"
    connection = connected(path)
    migrate(connection, path, CHAIN)
    with pytest.raises(StoreError, match=r"schema 3; this looptop knows up to 1"):
        migrate(connection, path, CHAIN[:1])
    assert schema_version(connection) == 3
    connection.close()


def test_another_process_that_comes_first(tmp_path: Path) -> None:
    """Its steps are seen inside the transaction, and not run twice."""
    path = tmp_path / "chain.db"
    first, second = connected(path), connected(path)
    migrate(first, path, CHAIN[:1])
    statements: list[str] = []

    def overtake(statement: str) -> None:
        if statement == "BEGIN IMMEDIATE" and not statements:
            statements.append(statement)
            migrate(first, path, CHAIN)

    second.set_trace_callback(overtake)
    assert migrate(second, path, CHAIN) == 0
    assert second.execute("SELECT count(*) FROM a").fetchone() == (1,)
    first.close()
    second.close()


def test_every_earlier_schema_becomes_the_present_one(tmp_path: Path) -> None:
    fresh = connected(tmp_path / "fresh.db")
    migrate(fresh, tmp_path / "fresh.db")
    wanted = schema_of(fresh)
    assert fresh.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    fresh.close()
    for start in range(1, SCHEMA_VERSION):
        path = tmp_path / f"from-{start}.db"
        connection = connected(path)
        migrate(connection, path, MIGRATIONS[:start])
        assert migrate(connection, path) == SCHEMA_VERSION - start
        assert schema_of(connection) == wanted
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


async def test_rows_of_the_first_schema_are_still_there(home: Path) -> None:
    home.mkdir(mode=0o700)
    connection = connected(home / FILE_NAME)
    migrate(connection, home / FILE_NAME, MIGRATIONS[:1])
    at = "2026-03-02T09:30:00+00:00"
    connection.execute(
        """INSERT INTO runs (id, project, repo, task, model, queued_at, last_at, last_seq, state)
           VALUES ('r1', 'p', '/p', 'fix', 'm', ?, ?, 1, 'fixing')""",
        (at, at),
    )
    connection.execute(
        "INSERT INTO commands VALUES ('c1', 'r1', ?, 'set_cap', 'kim', 1, 'cap 3 to 4')",
        (at,),
    )
    for number, request in ((1, "req_1"), (2, None)):
        connection.execute(
            """INSERT INTO llm_usage (call_id, at, day, provider, model, project, run, purpose, input, output, estimated,
               cost_micros, request_id, outcome) VALUES (?, ?, '2026-03-02', 'anthropic', 'm', 'p', 'r1', 'fix', 10, 5, '', 7, ?, 'ok')""",
            (f"call-{number}", at, request),
        )
    connection.execute(
        """INSERT INTO reservations (call_id, run, project, day, tokens, micros, at, host, pid, pid_started, scope)
           VALUES ('call-3', 'r1', 'p', '2026-03-02', 900, 90, ?, 'elsewhere', 1, 0.0, '{}')""",
        (at,),
    )
    connection.close()
    async with open_store(home) as store:
        (line,) = await store.history.runs()
        assert (line.run, line.tokens, line.cost_micros, line.summary) == ("r1", 30, 14, "")
        answer = await store.history.command_answer("r1", "c1")
        assert answer is not None
        assert answer.answer == "cap 3 to 4"
        # The host of the reservation was last heard of long ago.
        assert await store.ledger.recover() == ["r1"]
        assert (await store.ledger.run_totals("r1")).tokens == 930
    assert (home / f"{FILE_NAME}.schema-1").exists()
