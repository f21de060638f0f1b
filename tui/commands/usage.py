"""`looptop usage`: sums of the ledger."""

from __future__ import annotations

from pathlib import Path

import click

from store.reports import KEYS, UsageRow
from store.store import Store
from tui.cli import echo_json
from tui.commands.store_access import with_store
from tui.commands.table import table
from tui.words import money, share


@click.command()
@click.option("--by", type=click.Choice(list(KEYS)), default="day", show_default=True, help="What to sum by.")
@click.option("--run", metavar="RUN", help="Only this run.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
def usage(by: str, run: str | None, as_json: bool) -> None:
    """Tokens and money. `+?` marks a sum in which a price isn't known, `?` what isn't known at all."""

    async def work(store: Store, _: Path) -> tuple[list[UsageRow], UsageRow]:
        found = await store.history.find(run) if run else None
        return await store.reports.usage(by, run=found), await store.reports.total(run=found)

    rows, total = with_store(work)
    if as_json:
        echo_json([_data(row) for row in rows])
        return
    if not rows:
        click.echo("no model call was made yet", err=True)
        return
    head = (by, "calls", "fresh", "written", "read", "output", "cache", "cost")
    click.echo(table(head, map(_row, [*rows, total] if len(rows) > 1 else rows), ".>>>>>>>"))
    if any(row.estimated for row in rows):
        click.echo("partly estimated: calls that broke off, or whose server reports no usage", err=True)


def _count(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _row(row: UsageRow) -> tuple[str, ...]:
    u = row.usage
    cost = money(row.money.micros if row.money.known else None, row.money.complete)
    counts = (_count(u.input), _count(u.cache_write), _count(u.cache_read), _count(u.output))
    return (row.key or "-", f"{row.calls:,}", *counts, share(u.cache_share), cost)


def _data(row: UsageRow) -> dict[str, object]:
    return {
        "key": row.key,
        "calls": row.calls,
        "input": row.usage.input,
        "output": row.usage.output,
        "cache_read": row.usage.cache_read,
        "cache_write": row.usage.cache_write,
        "cache_write_5m": row.usage.cache_write_5m,
        "cache_write_1h": row.usage.cache_write_1h,
        "cost_usd": row.money.micros / 1_000_000 if row.money.known else None,
        "cost_complete": row.money.complete,
        "estimated": row.estimated,
    }
