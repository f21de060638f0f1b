"""`looptop apply`, `branch` and `discard`: what becomes of a finished run's change."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runtime.errors import UsageError
from store.store import Store
from tui.commands.store_access import with_store
from tui.delivering import How, deliver_run
from tui.words import plural


def _deliver(run: str, how: How, name: str | None = None) -> None:
    async def work(store: Store, home: Path) -> str:
        return await deliver_run(store, home, await store.history.find(run), how, name)

    click.echo(with_store(work))


@click.command()
@click.argument("run")
def apply(run: str) -> None:
    """Put a run's change into the working tree; conflicts are told and nothing is overwritten."""
    _deliver(run, "apply")


@click.command()
@click.argument("run")
@click.argument("name")
def branch(run: str, name: str) -> None:
    """Keep a run's change as the branch NAME."""
    _deliver(run, "branch", name)


@click.command()
@click.argument("run")
@click.option("--yes", is_flag=True, help="Don't ask.")
def discard(run: str, yes: bool) -> None:
    """Remove a run's workspace and change. Its record stays."""

    async def look(store: Store, _: Path) -> str:
        view = await store.history.view(await store.history.find(run))
        files = view.diff.files if view.diff else 0
        kept = f" ({view.delivered})" if view.delivered else ""
        return f"Run {view.run} changed {plural(files, 'file')}{kept}. Its workspace {view.workspace} will be removed."

    if not yes:
        text = with_store(look)
        if not sys.stdin.isatty():
            raise UsageError(text, "Say --yes to remove it.")
        click.confirm(f"{text} Remove it?", abort=True, err=True)
    _deliver(run, "discard")
