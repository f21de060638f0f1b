"""Lists, one run by the beginning of its id, and what was said and answered."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import timedelta

import pytest

from runtime.errors import UsageError
from runtime.events.loop import PromptAdded, RunFinished
from runtime.events.supervision import CommandAccepted, CommandRefused
from runtime.events.values import StopReason
from runtime.ports import Limit
from runtime.scope import scope
from runtime.usage import Usage
from store.database import Database
from store.ledger import _refusal
from store.lines import RunLine
from store.store import Store
from support.sample_runs import fleet
from support.store_runs import AT, call, finished, queued


async def many(store: Store, count: int) -> None:
    """Runs a minute apart, every third of them finished, in two projects."""
    for number in range(count):
        run = f"r{number:03}"
        at = AT + timedelta(minutes=number // 2)
        store.record.append(queued(run, task=f"Task {number}", project=f"p{number % 2}", at=at))
        if number % 3 == 0:
            store.record.append(finished(run, 2, StopReason.CAP_REACHED, at))
    await store.record.flush()


async def test_pages_newest_first_without_gap_or_repetition(store: Store) -> None:
    await many(store, 23)
    whole = await store.history.runs()
    assert [line.run for line in whole] == [f"r{number:03}" for number in reversed(range(23))]
    paged: list[RunLine] = []
    while page := await store.history.runs(5, before=paged[-1] if paged else None):
        paged += page
    assert paged == whole


async def test_filters(store: Store) -> None:
    await many(store, 12)
    assert {line.project for line in await store.history.runs(project="p1")} == {"p1"}
    assert [line.run for line in await store.history.runs(reason="cap_reached")] == ["r009", "r006", "r003", "r000"]
    assert len(await store.history.runs(reason="open", project="p1")) == 4
    assert [line.run for line in await store.history.runs(search="tASK 11")] == ["r011"]
    assert [line.run for line in await store.history.runs(search="r003")] == ["r003"]
    assert await store.history.runs(search="100%") == []
    assert [line.run for line in await store.history.open_runs()][:2] == ["r001", "r002"]
    store.record.append(queued("r99", task="ÄRGER in der Straße"))
    await store.record.flush()
    assert [line.run for line in await store.history.runs(search="ärger in der STRASSE")] == ["r99"]


async def test_a_line_has_sums_of_the_ledger(store: Store) -> None:
    store.record.append(queued("r1", cap=4, budget_micros=500_000))
    with scope(project="parser", run="r1", purpose="fix"):
        await store.ledger.record(call("c1", micros=1_500))
        await store.ledger.record(call("c2", micros=None))
    line = await store.history.line("r1")
    assert (line.tokens, line.cost_micros, line.cost_complete) == (920, 1_500, False)
    assert line.cache_share == 600 / 880
    assert (line.cap, line.budget_micros, line.worker, line.owner_alive) == (4, 500_000, "here", True)


async def test_a_run_without_calls_has_spent_nothing(store: Store) -> None:
    store.record.append(queued("r1"))
    await store.record.flush()
    line = await store.history.line("r1")
    assert (line.tokens, line.cost_micros, line.cost_complete, line.cache_share) == (0, 0, True, None)


async def test_calls_that_tell_nothing_have_no_sum(store: Store) -> None:
    store.record.append(queued("r1"))
    with scope(project="parser", run="r1", purpose="fix"):
        await store.ledger.record(call("c1", micros=None, usage=Usage()))
    line = await store.history.line("r1")
    assert (line.tokens, line.cost_micros, line.cost_complete) == (None, None, False)


async def test_lines_agree_with_the_fold(store: Store) -> None:
    for events in fleet().values():
        await store.record.take_in(events)
    for line in await store.history.runs():
        view = await store.history.view(line.run)
        assert line.task == view.task
        assert line.model == view.model
        assert line.attempt == view.attempt
        assert line.cap == view.cap
        assert line.budget_tokens == view.budget_tokens
        assert line.budget_micros == view.budget_micros
        assert line.rounds == max((row.round for row in view.rounds if row.outcome), default=0)
        assert line.reason == view.reason
        assert line.last_seq == view.seq
        assert line.summary == view.summary
        assert (line.held is not None) == (view.hold is not None)
        if not view.finished and view.state in ("held", "paused"):
            assert line.state == view.state


async def test_a_beginning_finds_one_run(store: Store) -> None:
    for run in ("r1a2b", "r1a3c", "r2", "r2f"):
        store.record.append(queued(run))
    await store.record.flush()
    assert await store.history.find("r1a2") == "r1a2b"
    assert await store.history.find("r2") == "r2"
    with pytest.raises(UsageError, match="several runs: r1a2b, r1a3c"):
        await store.history.find("r1")
    for nothing in ("x", "R1A2B"):
        with pytest.raises(UsageError, match="There is no run"):
            await store.history.find(nothing)
    for nonsense in ("", "r%", "r_", "../r1", "r1' OR '1"):
        with pytest.raises(UsageError, match="is not a run's id"):
            await store.history.find(nonsense)
    with pytest.raises(UsageError, match="There is no run"):
        await store.history.line("r9")
    with pytest.raises(UsageError, match="There is no run"):
        await store.history.view("r9")


async def test_ambiguity_names_a_few_and_says_that_there_are_more(store: Store) -> None:
    await many(store, 9)
    with pytest.raises(UsageError, match="r000, r001, r002, r003, r004 and more"):
        await store.history.find("r00")


async def test_conversation_of_a_project_is_its_turns_in_order(store: Store) -> None:
    for number, run in enumerate(("r1", "r2")):
        at = AT + timedelta(hours=number)
        store.record.append(queued(run, at=at))
        for seq, kind in enumerate(("task", "feedback", "steer"), start=2):
            prompt = PromptAdded(attempt=1, kind=kind, text=f"{kind} of {run}")
            store.record.append(prompt.stamped(run, seq, at + timedelta(seconds=seq), seq))
        end = RunFinished(reason=StopReason.PASSED, attempts=1, rounds=1, usage={}, summary=f"summary of {run}")
        store.record.append(end.stamped(run, 5, at + timedelta(seconds=9), 9))
    await store.record.flush()
    turns = await store.history.conversation("parser")
    assert [turn.text for turn in turns] == [
        f"{kind} of {run}" for run in ("r1", "r2") for kind in ("task", "steer", "summary")
    ]
    assert [turn.role for turn in turns[:3]] == ["user", "user", "assistant"]
    assert await store.history.conversation("parser", limit=2) == turns[-2:]
    assert await store.history.conversation("parser", run="r1") == turns[:3]
    assert await store.history.conversation("other") == []


async def test_a_command_delivered_again_has_its_first_answer(store: Store) -> None:
    store.record.append(queued("r1"))
    store.record.append(queued("r2"))
    first = CommandAccepted(command_id="c1", command="set_budget", sender="kim", effect="$1.00 to $2.00")
    again = CommandRefused(command_id="c1", command="set_budget", sender="kim", why="it was done already")
    store.record.append(first.stamped("r1", 2, AT, 0))
    store.record.append(again.stamped("r1", 3, AT, 0))
    store.record.append(again.stamped("r2", 2, AT, 0))
    await store.record.flush()
    answer = await store.history.command_answer("r1", "c1")
    assert answer is not None
    assert (answer.accepted, answer.answer, answer.sender) == (True, "$1.00 to $2.00", "kim")
    other = await store.history.command_answer("r2", "c1")
    assert other is not None
    assert not other.accepted
    assert await store.history.command_answer("r1", "c2") is None
    assert await store.history.command_ids("r1") == {"c1"}


async def test_rows_of_one_run(store: Store) -> None:
    await store.record.take_in(fleet()["r7f3a"])
    attempts = await store.history.attempts("r7f3a")
    view = await store.history.view("r7f3a")
    assert [row["attempt"] for row in attempts] == [row.attempt for row in view.attempts]
    verified = await store.history.verify_results("r7f3a")
    assert [row["verdict"] for row in verified] == [row.verdict for row in view.verifies if row.verdict]
    quotes = await store.history.recovery_quotes("r7f3a")
    assert [row["action"] for row in quotes] == [row.action for row in view.recoveries]
    assert quotes[0]["quotes"][0]["action"] == "reflect"
    scores = await store.history.stoploss_scores("r7f3a")
    assert [row["step"] for row in scores] == [row.step for row in view.scores]


async def test_screens_are_served_by_indexes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """At millions of events no question of a screen or a budget walks through a table."""
    asked: list[str] = []
    read = Database.read

    async def traced(database: Database, unit: Callable[[sqlite3.Connection], object]) -> object:
        def whole(connection: sqlite3.Connection) -> object:
            connection.set_trace_callback(asked.append)
            try:
                return unit(connection)
            finally:
                connection.set_trace_callback(None)

        return await read(database, whole)

    monkeypatch.setattr(Database, "read", traced)
    store.record.append(queued("r1"))
    await store.record.flush()
    (line,) = await store.history.runs()
    await store.history.runs(50, "parser", before=line)
    await store.history.open_runs()
    await store.history.find("r")
    await store.history.events_after("r1", 0, 10)
    await store.history.events_before("r1", None, 10)
    await store.history.view("r1")
    await store.history.conversation("parser")
    await store.ledger.run_totals("r1")
    await store.reports.usage("round", run="r1")
    await store.reports.usage("day", since="2026-03-01")
    with scope(project="parser", tenant="acme"):
        limits = [Limit(of, "micros", 10**9) for of in ("run", "project", "tenant", "day")]
        await store.database.read(lambda c: [_refusal(c, limit, "x", 1, "c1") for limit in limits])
    monkeypatch.undo()
    for sql in (sql for sql in asked if sql.startswith(("SELECT", "WITH"))):
        plan = [row["detail"] for row in await store.database.rows(f"EXPLAIN QUERY PLAN {sql}")]
        # Open reservations are a handful, and what is picked by an index may be walked through.
        walked = [step for step in plan if step.startswith("SCAN") and "INDEX" not in step]
        assert [step for step in walked if step not in ("SCAN reservations", "SCAN picked")] == [], (sql, plan)
    assert len(asked) > 20


async def test_projects_and_their_caps(store: Store) -> None:
    await many(store, 3)
    assert [(project.id, project.fix_verify_retry_cap, project.runs) for project in await store.projects.all()] == [
        ("p0", None, 2),
        ("p1", None, 1),
    ]
    assert await store.projects.set_cap("p0", "/src/p0", 7) is None
    assert await store.projects.set_cap("p0", "/src/p0", 1) == 7
    assert await store.projects.cap("p0") == await store.history.project_cap("p0") == 1
    for wrong in (0, 21, -1):
        with pytest.raises(UsageError, match=f"is {wrong}; it can be 1 to 20"):
            await store.projects.set_cap("p0", "/src/p0", wrong)
    assert await store.projects.set_cap("p0", "/src/p0", None) == 1
    assert await store.projects.cap("p0") is None
    assert await store.projects.set_cap("new", "/src/new", 20) is None
    assert await store.projects.cap("new") == 20
    assert await store.projects.cap("never") is None
