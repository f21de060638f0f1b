"""Sums over the ledger's rows: one piece of SQL and one reading of it, for totals, reports and lists alike."""

from __future__ import annotations

import sqlite3

from runtime.ports import RunTotals
from runtime.usage import FREE, Money, Usage

_REPORTED = (
    "CASE WHEN cache_read IS NOT NULL THEN coalesce(input, 0) + cache_read + coalesce(cache_write_5m, 0) "
    "+ coalesce(cache_write_1h, 0) END"
)
SUM_COLUMNS = f"""count(call_id) AS entries, coalesce(sum(purpose <> 'verify'), 0) AS calls,
    sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read, sum(cache_write_5m) AS w5,
    sum(cache_write_1h) AS w1, coalesce(sum(cost_micros), 0) AS micros, count(call_id) - count(cost_micros) AS unpriced,
    coalesce(sum(estimated <> ''), 0) AS estimated, sum({_REPORTED}) AS reported,
    coalesce(sum(call_id IS NOT NULL AND (input IS NULL OR output IS NULL)), 0) AS unmetered"""
SUMS = f"SELECT {SUM_COLUMNS} FROM llm_usage"


def totals_of(row: sqlite3.Row) -> RunTotals:
    """Sums of a query over llm_usage. Nothing was used where there were no entries; unknown is what no call reported.

    What verify cost stands among the entries, so that no sum of money misses it; it is no model call.
    """
    if not row["entries"]:
        return RunTotals(usage=FREE, tokens=0, money=Money(), calls=0)
    usage = Usage(
        input=row["input"],
        output=row["output"],
        cache_read=row["cache_read"],
        cache_write_5m=row["w5"],
        cache_write_1h=row["w1"],
        estimated=("some",) if row["estimated"] else (),
    )
    money = Money(micros=int(row["micros"]), complete=not row["unpriced"])
    return RunTotals(usage=usage, tokens=usage.total or 0, money=money, calls=int(row["calls"]))


def cache_share_of(row: sqlite3.Row) -> float | None:
    """Share of the prompts read from cache, over the calls that report it; None where none does."""
    return row["cache_read"] / row["reported"] if row["reported"] else None
