"""Spans against the spans before them, and sums that say what they lack."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from runtime.errors import UsageError
from runtime.scope import scope
from runtime.usage import FREE
from store.reports import KEYS, span_of
from store.store import Store
from support.store_runs import call


async def test_empty_store_gives_empty_rows(store: Store) -> None:
    for by in KEYS:
        assert await store.reports.usage(by) == []
    total = await store.reports.total()
    assert (total.calls, total.usage, total.money.micros, total.money.complete) == (0, FREE, 0, True)
    compared = await store.reports.compare("model", "month", date(2026, 3, 2))
    assert compared.rows == ()
    assert [row.key for row in compared.days] == ["2026-03-01", "2026-03-02"]
    assert compared.total.calls == compared.before.calls == 0


async def test_another_key_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match=r"by 'mood'"):
        await store.reports.usage("mood")


def test_spans() -> None:
    wednesday = date(2026, 3, 4)
    assert span_of("day", wednesday) == (wednesday, date(2026, 3, 3))
    assert span_of("week", wednesday) == (date(2026, 3, 2), date(2026, 2, 23))
    assert span_of("month", wednesday) == (date(2026, 3, 1), date(2026, 2, 1))
    assert span_of("month", date(2026, 1, 31)) == (date(2026, 1, 1), date(2025, 12, 1))


async def test_a_month_against_the_one_before(store: Store) -> None:
    days = [(2026, 1, 31), (2026, 2, 1), (2026, 2, 28), (2026, 3, 1), (2026, 3, 3), (2026, 3, 3), (2026, 3, 9)]
    with scope(project="p", run="r1", purpose="fix"):
        for number, day in enumerate(days):
            at = datetime(*day, 23, 59, tzinfo=UTC)
            micros = None if number == 1 else 10**number
            await store.ledger.record(call(f"c{number}", micros=micros, started_at=at, model=f"m{number % 2}"))
    compared = await store.reports.compare("model", "month", date(2026, 3, 4))
    assert (compared.total.calls, compared.total.money.micros) == (3, 111_000)
    assert compared.total.money.complete
    assert (compared.before.calls, compared.before.money.micros, compared.before.money.complete) == (2, 100, False)
    assert [(row.key, row.money.micros) for row in compared.rows] == [("m1", 101_000), ("m0", 10_000)]
    assert [row.calls for row in compared.days] == [1, 0, 2, 0]
    months = await store.reports.usage("month", project="p")
    assert [(row.key, row.calls) for row in months] == [("2026-01", 1), ("2026-02", 2), ("2026-03", 4)]


async def test_a_day_is_a_day_in_utc(store: Store) -> None:
    late = datetime.fromisoformat("2026-03-02T23:30:00-05:00")
    await store.ledger.record(call("c1", started_at=late))
    assert [row.key for row in await store.reports.usage("day")] == ["2026-03-03"]
    assert (await store.reports.total(until="2026-03-02")).calls == 0
    assert (await store.reports.total(since="2026-03-03", until="2026-03-03")).calls == 1
