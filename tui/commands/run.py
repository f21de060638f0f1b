"""`looptop run`: check the request, then the dashboard on the run, or headless with a report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from runtime.approval.modes import MODES
from runtime.errors import UsageError


def has_terminal() -> bool:
    """Whether there is a terminal to draw on and to read from."""
    return sys.stdout.isatty() and sys.stdin.isatty()


@click.command()
@click.argument("task", default="")
@click.option("--repo", type=click.Path(path_type=Path), default=Path(), help="The repository (default: here).")
@click.option("--verify", multiple=True, metavar="CMD", help="A verify command; may be given several times.")
@click.option("--model", metavar="M", help="local, claude-*, anthropic/..., openai/..., or a name with --base-url.")
@click.option("--base-url", metavar="URL", help="Where an OpenAI-compatible server answers.")
@click.option("--cap", type=int, metavar="1..20", help="Retry cap: attempts at most.")
@click.option("--budget-tokens", type=int, metavar="N", help="Tokens at most; 0 is off.")
@click.option("--budget-usd", type=float, metavar="X", help="Dollars at most; 0 is off.")
@click.option("--budget-minutes", type=float, metavar="N", help="Minutes at most, without waits; 0 is off.")
@click.option("--max-rounds", type=int, metavar="N", help="Model calls of one attempt.")
@click.option("--headless", is_flag=True, help="No dashboard: progress on stderr, the report on stdout.")
@click.option("--json", "as_json", is_flag=True, help="One event per line on stdout; implies --headless.")
@click.option("--apply", "apply_", is_flag=True, help="Put a passed change into the working tree.")
@click.option("--branch", metavar="NAME", help="Keep a passed change as a branch.")
@click.option("--include-dirty", is_flag=True, default=None, help="Start from the uncommitted changes too.")
@click.option("--continue", "continues", metavar="RUN", help="Go on from what was said up to that run.")
@click.option("--category", metavar="C", help="A label of the task.")
@click.option("--tenant", metavar="T", help="A label of who the run is for.")
@click.option("--recovery", metavar="R", help="What follows a failed attempt: fixed:reflect.")
@click.option("--approval", type=click.Choice(MODES), help="What runs unasked: all, or only what provably reads.")
@click.option(
    "--stoploss",
    type=click.Choice(["off", "watch", "ask", "abort"]),
    help="What follows when the run looks like failing, as far as that is calibrated.",
)
@click.option("--ttl", type=click.Choice(["5m", "1h"]), help="Lifetime of cache entries.")
@click.option("--allow-test-edits", is_flag=True, default=None, help="Let a change of tests pass.")
def run(
    task: str,
    repo: Path,
    verify: tuple[str, ...],
    apply_: bool,
    branch: str | None,
    headless: bool,
    as_json: bool,
    category: str | None,
    tenant: str | None,
    continues: str | None,
    **options: Any,
) -> int:
    """Fix a repository until its verify commands pass. TASK says what is to be fixed; without it: make verify pass."""
    from runtime.catalog.caps import check_cap
    from tui.compose import RunRequest
    from tui.project import ProjectSettings, host_settings

    if apply_ and branch is not None:
        raise UsageError("--apply and --branch exclude each other.", "Give one of them.")
    for option, text in (("--branch", branch), ("--category", category), ("--tenant", tenant)):
        if text is not None and not text.strip():
            raise UsageError(f"{option} is empty.", "Give it a name, or leave it out.")
    headless = headless or as_json or not has_terminal()
    keys = {
        "model": options["model"],
        "base_url": options["base_url"],
        "budget.tokens": options["budget_tokens"],
        "budget.usd": options["budget_usd"],
        "budget.minutes": options["budget_minutes"],
        "max_rounds": options["max_rounds"],
        "include_dirty": options["include_dirty"],
        "recovery": options["recovery"],
        "approval": options["approval"],
        "stoploss.mode": options["stoploss"],
        "ttl": options["ttl"],
        "allow_test_edits": options["allow_test_edits"],
        "verify": [{"command": command} for command in verify] or None,
    }
    cap = options["cap"]
    if cap is not None:
        check_cap(cap, "--cap")
    project = ProjectSettings(os.environ, supervised=not headless).of(root_of(repo), keys, category)
    deliver = "apply" if apply_ else f"branch:{branch}" if branch else None
    settings = project.run.model_copy(update={"cap": cap, "tenant": tenant, "deliver": deliver})
    request = RunRequest(
        repo=repo,
        task=task,
        settings=settings,
        verify=project.verify,
        lent=project.lent,
        project_cap=project.cap,
        continues=continues,
    )
    host = host_settings(project.settings)
    if headless:
        from tui.headless import run_headless

        return run_headless(request, host, as_json=as_json)
    import asyncio

    from store.home import FILE_NAME, prepare_home
    from tui.compose import check_request
    from tui.dashboard import open_dashboard
    from tui.places import home_of

    # What is wrong is told here, where it stays on the terminal, and not in a dashboard that has nothing to show.
    asyncio.run(check_request(request, host, os.environ))
    prepare_home(home_of(os.environ), FILE_NAME)
    return open_dashboard(request, host)


def root_of(repo: Path) -> Path:
    """The folder whose looptop.toml counts: the nearest one upwards with a .git, else the folder itself."""
    try:
        folder = repo.expanduser().resolve()
    except (OSError, RuntimeError):
        return repo
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
