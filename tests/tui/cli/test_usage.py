"""`looptop usage --by month`: each month beside the calendar month before it, and nothing made up where there is none."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

from store.store import open_store
from support.cli import CommandLine
from support.store_runs import call


def spend(looptop: CommandLine, *calls: tuple[str, int | None]) -> None:
    """Record calls, each by its month and its cost in micro-dollars."""

    async def work() -> None:
        async with open_store(looptop.home) as store:
            for number, (month, micros) in enumerate(calls):
                moment = datetime.fromisoformat(f"{month}-15T12:00:00").replace(tzinfo=UTC)
                await store.ledger.record(call(f"c{number}", micros, started_at=moment))

    asyncio.run(work())


def test_a_month_is_compared_with_the_calendar_month_before_it(looptop: CommandLine) -> None:
    spend(looptop, ("2025-12", 1_000_000), ("2026-01", 1_500_000), ("2026-03", 2_000_000))
    rows = {line.split()[0]: line for line in looptop("usage", "--by", "month").out.splitlines()}
    assert rows["2026-01"].endswith("+50% (was $1.00)")
    assert "was" not in rows["2025-12"]
    assert "was" not in rows["2026-03"]
    assert "was" not in rows["total"]
    before = [row["before"] for row in json.loads(looptop("usage", "--by", "month", "--json").out)]
    assert before[0] is None
    assert before[1]["cost_usd"] == 1.0
    assert before[2] is None


def test_sums_that_miss_a_price_are_not_compared(looptop: CommandLine) -> None:
    spend(looptop, ("2026-01", 1_000_000), ("2026-01", None), ("2026-02", 500_000))
    february = looptop("usage", "--by", "month").out.splitlines()[2]
    assert february.endswith("(was $1.00+?)")
    assert "%" not in february.partition("$")[2]


def test_other_sums_have_no_such_column(looptop: CommandLine) -> None:
    spend(looptop, ("2026-01", 1_000_000))
    assert "before" not in looptop("usage", "--by", "model").out
    assert "before" not in json.loads(looptop("usage", "--by", "model", "--json").out)[0]
