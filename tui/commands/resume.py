"""`looptop resume`: go on with a run whose process died, in the dashboard or headless."""

from __future__ import annotations

import os
from pathlib import Path

import click

from runtime.catalog.caps import check_cap
from runtime.commands import Command, SetBudget, SetCap
from runtime.errors import ExitCode, UsageError
from runtime.loop.readback import ReadBack
from runtime.text import one_line
from store.store import Store
from tui.commands.run import has_terminal
from tui.commands.store_access import with_store
from tui.project import ProjectSettings, host_settings
from tui.resuming import quoted, read_back, request_of

SENDER = "supervisor"
WHY = "given with looptop resume"


@click.command()
@click.argument("run")
@click.option("--cap", type=int, metavar="1..20", help="Retry cap from now on.")
@click.option("--budget-tokens", type=int, metavar="N", help="Tokens of the whole run at most; 0 is off.")
@click.option("--budget-usd", type=float, metavar="X", help="Dollars of the whole run at most; 0 is off.")
@click.option("--budget-minutes", type=float, metavar="N", help="Minutes of the whole run at most; 0 is off.")
@click.option("--base-url", metavar="URL", help="Where an OpenAI-compatible server answers.")
@click.option("--headless", is_flag=True, help="No dashboard: progress on stderr, the report on stdout.")
@click.option("--json", "as_json", is_flag=True, help="One event per line on stdout; implies --headless.")
def resume(
    run: str,
    cap: int | None,
    budget_tokens: int | None,
    budget_usd: float | None,
    budget_minutes: float | None,
    base_url: str | None,
    headless: bool,
    as_json: bool,
) -> int:
    """Go on with the interrupted run RUN, in its own workspace; nothing is billed or executed twice."""
    if cap is not None:
        check_cap(cap, "--cap")
    commands = _limits(cap, budget_tokens, budget_usd, budget_minutes)
    headless = headless or as_json or not has_terminal()

    async def look(store: Store, _: Path) -> ReadBack:
        return await read_back(store, await store.history.find(run))

    back = with_store(look)
    assert back.queued is not None
    settings = ProjectSettings(os.environ, supervised=not headless)
    project = settings.of(Path(back.queued.repo), {"base_url": base_url}, back.queued.settings.category)
    request = request_of(back.view.run, project, commands)
    host = host_settings(project.settings)
    if headless:
        from tui.headless import resume_headless

        return resume_headless(request, host, as_json=as_json)
    from tui.dashboard import open_dashboard

    quote = quoted(back, host.prices, os.environ, host.base_url)
    click.echo(one_line(f"run {quote.run}: {quote.words}"), err=True)
    if not click.confirm("Go on with it?", default=True, err=True):
        return int(ExitCode.ABORTED)
    return open_dashboard(host=host, resume=request)


def _limits(cap: int | None, tokens: int | None, usd: float | None, minutes: float | None) -> tuple[Command, ...]:
    """The limits given by option, as commands: absolute, answered and recorded like any other."""
    commands: list[Command] = []
    if cap is not None:
        commands.append(SetCap(cap=cap, sender=SENDER, reason=WHY))
    for kind, value, factor in (("tokens", tokens, 1), ("micros", usd, 1_000_000), ("seconds", minutes, 60)):
        if value is None:
            continue
        if not 0 <= value < 1e12:
            option = {"tokens": "--budget-tokens", "micros": "--budget-usd", "seconds": "--budget-minutes"}[kind]
            raise UsageError(f"{option} {value} is out of range.", "0 turns the budget off.")
        commands.append(SetBudget(kind=kind, value=value * factor, sender=SENDER, reason=WHY))
    return tuple(commands)
