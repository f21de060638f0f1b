"""What is derived follows from the events alone: in whatever batches, order and number they come."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.events import checks, loop, supervision
from runtime.events.base import Event
from runtime.events.values import Action, Cause, Comparison, DiffStat, HoldReason, RunSettings, StopReason, Verdict
from runtime.usage import Usage
from store.event_rows import insert_events
from store.owner import Owner
from store.projections import DERIVED, rebuild
from store.schema import MIGRATIONS
from support.sample_runs import fleet
from support.store_runs import AT

OWNER = Owner("host", 42, 7.5)
small = st.integers(0, 6)
words = st.text(max_size=12)
names = st.lists(st.sampled_from(["t::a", "t::b", "t::c"]), max_size=3, unique=True).map(tuple)

MIDDLES: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        loop.RunPrepared, workspace=words, base_commit=words, branch=words, sandbox=words, baseline_failing=small
    ),
    st.builds(loop.LegStarted, leg=small, model=words, provider=words, cap=small, cap_source=words),
    st.builds(loop.AttemptStarted, attempt=small, leg=small, attempt_of_leg=small, model=words),
    st.builds(
        loop.AttemptFinished,
        attempt=small,
        passed=st.booleans(),
        comparison=st.builds(Comparison, fixed=names, new=names, still=names, pre_existing=names),
        cause=st.none() | st.sampled_from(Cause),
        diff=st.builds(DiffStat, files=small, added=small, removed=small),
        first_failure=words,
    ),
    st.builds(
        loop.RoundFinished,
        attempt=small,
        round=small,
        leg=small,
        model=words,
        stop=words,
        usage=st.just(Usage()),
        latency_ms=small,
    ),
    st.builds(loop.TextDelta, round=small, text=words),
    st.builds(checks.VerifyStarted, attempt=small, step=small, of=small, name=words, command=words),
    st.builds(
        checks.VerifyFinished,
        attempt=small,
        step=small,
        of=small,
        name=words,
        command=words,
        verdict=st.sampled_from(Verdict),
        findings_total=st.none() | small,
    ),
    st.builds(checks.RecoveryDecided, attempt=small, action=st.sampled_from(Action), router=words, why=words),
    st.builds(
        checks.StoplossScored,
        step=small,
        scorer=st.sampled_from(["limit", "ours"]),
        score=st.none() | st.floats(0, 1),
        mode=words,
    ),
    st.builds(supervision.CommandAccepted, command_id=small.map(str), command=words, sender=words, effect=words),
    st.builds(supervision.CommandRefused, command_id=small.map(str), command=words, sender=words, why=words),
    st.builds(supervision.CapChanged, old=small, new=small, source=words),
    st.builds(
        supervision.BudgetChanged,
        kind=st.sampled_from(["tokens", "micros", "seconds"]),
        old=st.none(),
        new=st.none() | st.floats(0, 9),
    ),
    st.builds(supervision.RunHeld, why=st.sampled_from(HoldReason), text=words),
    st.builds(supervision.RunPaused, sender=words),
    st.builds(supervision.RunResumed, from_hold=st.booleans(), resumed=st.booleans()),
    st.builds(loop.PromptAdded, attempt=small, kind=st.sampled_from(["task", "feedback", "steer"]), text=words),
    st.builds(loop.ChangeDelivered, how=st.sampled_from(["apply", "branch", "discard"]), ok=st.booleans()),
    st.builds(
        loop.RunFinished,
        reason=st.sampled_from(StopReason),
        attempts=small,
        rounds=small,
        usage=st.just({}),
        summary=words,
    ),
)
OPENING = loop.RunQueued(task="fix", repo="/src/p", project="p", settings=RunSettings(model="m"))


def stream(run: str, middles: Sequence[Event]) -> list[Event]:
    return [event.stamped(run, seq, AT, seq) for seq, event in enumerate([OPENING, *middles], start=1)]


def opened() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for step in MIGRATIONS:
        for statement in step:
            connection.execute(statement)
    return connection


def tables(connection: sqlite3.Connection) -> dict[str, list[Any]]:
    return {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in (*DERIVED, "events")}


def in_order(*streams: Sequence[Event]) -> dict[str, list[Any]]:
    connection = opened()
    for events in streams:
        assert insert_events(connection, events, OWNER) == []
    found = tables(connection)
    connection.close()
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(MIDDLES, max_size=40), st.randoms(use_true_random=False))
def test_batches_don_t_matter_and_rebuilding_gives_the_same(middles: list[Event], rnd: random.Random) -> None:
    events = stream("r1", middles)
    other = stream("r2", middles[::-1])
    wanted = in_order(events, other)
    connection = opened()
    mixed = sorted([*events, *other], key=lambda event: (event.seq, rnd.random()))
    at = 0
    while at < len(mixed):
        size = rnd.randint(1, 9)
        assert insert_events(connection, mixed[at : at + size], OWNER) == []
        at += size
    assert tables(connection) == wanted
    rebuild(connection, "r1")
    rebuild(connection, "r2")
    assert tables(connection) == wanted
    connection.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(MIDDLES, max_size=25), st.randoms(use_true_random=False))
def test_events_twice_and_out_of_order_change_no_total(middles: list[Event], rnd: random.Random) -> None:
    events = stream("r1", middles)
    wanted = in_order(events)
    connection = opened()
    delivered = [*events, *rnd.choices(events, k=len(events) // 2)]
    rnd.shuffle(delivered)
    for event in delivered:
        assert insert_events(connection, [event], None) == []
    found = tables(connection)
    ownerless = connection.execute("SELECT host, pid, pid_started FROM runs").fetchone()
    assert ownerless == (None, None, None)
    # Who executes it isn't known here; everything else is the same.
    connection.execute("UPDATE runs SET host = ?, pid = ?, pid_started = ?", (OWNER.host, OWNER.pid, OWNER.started))
    found = tables(connection)
    assert found == wanted
    connection.close()


def test_sample_runs_are_derived() -> None:
    found = in_order(*fleet().values())
    runs = len(fleet())
    assert len(found["runs"]) == runs
    assert [table for table in DERIVED if not found[table]] == ["commands"]
