"""`looptop show`: one run's report, events or diff."""

from __future__ import annotations

from pathlib import Path

import click

from runtime.errors import UsageError
from runtime.events.codec import event_to_json
from store.store import Store
from tui.cli import json_line
from tui.commands.store_access import with_store
from tui.delivering import run_diff
from tui.report import report


@click.command()
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Its events, one per line, as they were recorded.")
@click.option("--diff", "as_diff", is_flag=True, help="Its change as a unified diff.")
def show(run: str, as_json: bool, as_diff: bool) -> None:
    """Show a run. RUN may be the beginning of its id."""
    if as_json and as_diff:
        raise UsageError("--json and --diff exclude each other.", "Give one of them.")

    async def work(store: Store, home: Path) -> None:
        found = await store.history.find(run)
        if as_json:
            async for event in store.history.events(found):
                click.echo(json_line(event_to_json(event)))
        elif as_diff:
            click.echo(await run_diff(store, home, found), nl=False)
        else:
            click.echo(report(await store.history.view(found)))

    with_store(work)
