"""`looptop runs`: the latest runs, a line each."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from runtime.text import one_line
from store.history import RunLine
from store.store import Store
from tui.cli import echo_json
from tui.commands.store_access import with_store
from tui.commands.table import table
from tui.words import age, money, share, short_model, state, tokens


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Runs at most.")
def runs(as_json: bool, limit: int) -> None:
    """List runs, newest first."""

    async def work(store: Store, _: Path) -> list[RunLine]:
        return await store.history.runs(limit)

    lines = with_store(work)
    if as_json:
        echo_json([asdict(line) for line in lines])
        return
    if not lines:
        click.echo("no runs yet; `looptop demo` makes one", err=True)
        return
    click.echo(
        table(
            ("run", "age", "state", "model", "attempts", "tokens", "cost", "cache", "task"),
            map(_row, lines),
            "....>>>>.",
        )
    )


def _row(line: RunLine) -> tuple[str, ...]:
    word = line.reason or ("running" if line.owner_alive else "lost")
    return (
        line.run,
        age(line.queued_at, datetime.now(UTC)),
        state(word),
        short_model(line.model),
        str(line.attempt),
        tokens(line.tokens),
        money(line.cost_micros, line.cost_complete),
        share(line.cache_share),
        one_line(line.task, 60) or "make verify pass",
    )
