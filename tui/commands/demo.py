"""`looptop demo`: a bundled broken project, fixed by the embedded model. No key, no network."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import sys

import click


@click.command()
@click.option("--headless", is_flag=True, help="No dashboard, also in a terminal.")
def demo(headless: bool) -> int:
    """The dashboard on a bundled broken project; without a terminal, a report."""
    from runtime.events.values import RunSettings, VerifySpec
    from store.home import FILE_NAME, prepare_home
    from tui.commands.run import has_terminal
    from tui.compose import HostSettings, RunRequest
    from tui.demo.prepare import prepare
    from tui.places import home_of

    home = home_of(os.environ)
    prepare_home(home, FILE_NAME)
    repo = asyncio.run(prepare(home / "demo" / f"tapedeck-{secrets.token_hex(2)}"))
    supervised = has_terminal() and not headless
    request = RunRequest(
        repo=repo,
        task="",
        settings=RunSettings(model="local", hold_on_cap=supervised, hold_on_budget=supervised),
        verify=(VerifySpec(command=f"{shlex.quote(sys.executable)} -m pytest -q", name="pytest"),),
    )
    click.echo(f"the demo's repository: {repo}", err=True)
    if supervised:
        from tui.dashboard import open_dashboard

        return open_dashboard(request, HostSettings())
    from tui.headless import run_headless

    return run_headless(request, HostSettings(), as_json=False)
