"""`looptop apply`, `branch` and `discard`: what becomes of a finished run's change."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runtime.errors import ExitCode, UsageError
from store.store import Store
from tui.commands.store_access import with_store
from tui.delivering import How, deliver_run, what_discard_loses


def _deliver(run: str, how: How, name: str | None = None, *, agreed: bool = False) -> None:
    async def work(store: Store, home: Path) -> str:
        return await deliver_run(store, home, await store.history.find(run), how, name, agreed=agreed)

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
def discard(run: str, yes: bool) -> int:
    """Remove a run's workspace and change. Its record stays."""

    async def look(store: Store, home: Path) -> str:
        view = await store.history.view(await store.history.find(run))
        return "; ".join(await what_discard_loses(home, view)) if view.finished else ""

    if not yes:
        lost = with_store(look)
        if lost and not sys.stdin.isatty():
            raise UsageError(
                f"Run {run} holds what exists nowhere else: {lost}.", "Say --yes to remove it all the same."
            )
        if lost and not click.confirm(f"Run {run} holds what exists nowhere else: {lost}. Remove it?", err=True):
            click.echo("nothing was removed", err=True)
            return int(ExitCode.ABORTED)
    _deliver(run, "discard", agreed=True)
    return int(ExitCode.OK)
