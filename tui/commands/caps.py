"""`looptop caps`: which retry cap holds for which model, and why."""

from __future__ import annotations

import os
from pathlib import Path

import click

from runtime.catalog.caps import default_fix_verify_cap
from runtime.settings import load_settings
from tui.commands.run import root_of
from tui.commands.table import table
from tui.places import config_of, here

EXAMPLES = ("claude-sonnet-5-5", "qwen3-coder", "local", "mistral-large")


@click.command()
@click.argument("models", nargs=-1)
def caps(models: tuple[str, ...]) -> None:
    """The retry caps in force here, for MODELS or some examples."""
    settings = load_settings(config_of(os.environ), root_of(Path(here())), os.environ)
    project = settings["fix_verify_retry_cap"]
    rows = []
    for model in models or EXAMPLES:
        cap = default_fix_verify_cap(model, settings["caps.defaults"])
        why = "the project's fix_verify_retry_cap" if project is not None else cap.source
        trial = "" if project is not None or not cap.on_trial else "on trial: no fix-rate curve yet"
        rows.append((model, str(project if project is not None else cap.value), why, trial))
    click.echo(table(("model", "cap", "from", ""), rows, ".>"))
