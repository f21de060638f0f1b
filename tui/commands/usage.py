"""`looptop usage`: sums of the ledger."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from store.reports import KEYS, UsageRow, span_of
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
    before = _months_before(rows) if by == "month" else None
    if as_json:
        echo_json([_data(row) if before is None else _data(row) | _data_before(before, row) for row in rows])
        return
    if not rows:
        click.echo("no model call was made yet", err=True)
        return
    head: tuple[str, ...] = (by, "calls", "fresh", "written", "read", "output", "cache", "cost")
    cells = [_row(row) for row in ([*rows, total] if len(rows) > 1 else rows)]
    if before is not None:
        head = (*head, "against the month before")
        cells = [(*line, _against(before.get(line[0]), row)) for line, row in zip(cells, [*rows, total], strict=False)]
    click.echo(table(head, cells, ".>>>>>>>."))
    if any(row.estimated for row in rows):
        click.echo("partly estimated: calls that broke off, or whose server reports no usage", err=True)


def _months_before(rows: list[UsageRow]) -> dict[str, UsageRow]:
    """By month, the usage of the calendar month before it, where there was any."""
    by_key = {row.key: row for row in rows}
    found: dict[str, UsageRow] = {}
    for key in by_key:
        _, before = span_of("month", date.fromisoformat(f"{key}-01"))
        if (row := by_key.get(before.isoformat()[:7])) is not None:
            found[key] = row
    return found


def _against(before: UsageRow | None, row: UsageRow) -> str:
    """How a month compares in money: "+12% (was $1.20)"; nothing where there is no month before it."""
    if before is None:
        return ""
    was = money(before.money.micros if before.money.known else None, before.money.complete)
    comparable = before.money.complete and row.money.complete and before.money.micros
    change = f"{(row.money.micros / before.money.micros - 1) * 100:+.0f}% " if comparable else ""
    return f"{change}(was {was})"


def _data_before(before: dict[str, UsageRow], row: UsageRow) -> dict[str, object]:
    """The month before; null where there was none."""
    return {"before": _data(before[row.key]) if row.key in before else None}


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
