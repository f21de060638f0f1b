"""`looptop config`: every setting with its value and origin; set and unset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtime.errors import LooptopError, UsageError
from runtime.settings import PROJECT_FILE, Value, load_settings
from runtime.settings_keys import SETTINGS
from runtime.text import one_line
from tui.cli import echo_json
from tui.commands.run import root_of
from tui.commands.table import table
from tui.places import config_of, here, home_of
from tui.settings_edit import edit, place_of, value_of

if TYPE_CHECKING:
    from store.store import Store

CAP = "fix_verify_retry_cap"
# A value may begin with a minus, and is then no option.
VALUES = {"ignore_unknown_options": True}


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_context
def config(ctx: click.Context, as_json: bool) -> None:
    """Every setting, its value and where it came from."""
    if ctx.invoked_subcommand is not None:
        return
    settings = load_settings(config_of(os.environ), root_of(here()), os.environ)
    values = dict(settings.items())
    if values[CAP].value is None and (cap := _cap_in_store()) is not None:
        values[CAP] = Value(cap, "this project, in the store")
    if as_json:
        echo_json({key: {"value": value.value, "origin": value.origin} for key, value in values.items()})
        return
    rows = [(key, _shown(value.value), value.origin) for key, value in values.items()]
    click.echo(table(("setting", "value", "from"), rows))


def _cap_in_store() -> int | None:
    """The override that the Projects screen set for the repository here; None where there is none, or nothing to ask."""
    from store.home import FILE_NAME

    if not (home_of(os.environ) / FILE_NAME).exists():
        return None
    from runtime.workspace.repository import open_repository
    from tui.commands.store_access import with_store

    async def read(store: Store, _: Path) -> int | None:
        return await store.projects.cap((await open_repository(here())).project)

    try:
        return with_store(read)
    except LooptopError:
        # Outside of a repository, or with a store that can't be read, the files alone count; other commands say why.
        return None


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _file(key: str, project: bool) -> Path:
    if not project:
        return config_of(os.environ)
    if key in SETTINGS and SETTINGS[key].own:
        raise UsageError(f"{key} can't be set by a project.", "Leave --project out: that file could be anybody's.")
    return root_of(here()) / PROJECT_FILE


@config.command("set", context_settings=VALUES)
@click.argument("key")
@click.argument("value")
@click.option("--project", is_flag=True, help="In the project's looptop.toml instead of the user's file.")
def set_(key: str, value: str, project: bool) -> None:
    """Set KEY to VALUE. KEY may also be caps.defaults.PREFIX, or prices.MODEL with a table as VALUE."""
    path = _file(key, project)
    edit(path, key, value_of(key, value), of_project=project)
    click.echo(one_line(f"{key} = {value} in {path}"))


@config.command("unset")
@click.argument("key")
@click.option("--project", is_flag=True, help="In the project's looptop.toml instead of the user's file.")
def unset(key: str, project: bool) -> None:
    """Take KEY out, so that the layer below counts again."""
    place_of(key)
    path = _file(key, project)
    gone = path.exists() and edit(path, key, None, of_project=project)
    click.echo(one_line(f"{key} is no longer set in {path}" if gone else f"{key} was not set in {path}"))
