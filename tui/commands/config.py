"""`looptop config`: every setting with its value and origin; set and unset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from runtime.errors import UsageError
from runtime.settings import PROJECT_FILE, SETTINGS, Setting, checked, load_settings, suggestion, value_from_text
from tui.cli import echo_json
from tui.commands.run import root_of
from tui.commands.table import table
from tui.places import config_of, here


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_context
def config(ctx: click.Context, as_json: bool) -> None:
    """Every setting, its value and where it came from."""
    if ctx.invoked_subcommand is not None:
        return
    settings = load_settings(config_of(os.environ), root_of(here()), os.environ)
    if as_json:
        echo_json({key: {"value": value.value, "origin": value.origin} for key, value in settings.items()})
        return
    rows = [(key, _shown(value.value), value.origin) for key, value in settings.items()]
    click.echo(table(("setting", "value", "from"), rows))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _setting(key: str) -> Setting:
    if key not in SETTINGS:
        raise UsageError(f"There is no setting {key!r}.", suggestion(key))
    if SETTINGS[key].kind in ("table", "verify"):
        raise UsageError(f"{key} is a table.", "Write it into the file itself.")
    return SETTINGS[key]


def _file(project: bool) -> Path:
    return root_of(here()) / PROJECT_FILE if project else config_of(os.environ)


def _edit(path: Path, key: str, value: Any) -> None:
    """Change one key of a TOML file and leave everything else in it as it is; None takes the key out."""
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
        place: Any = document
        *tables, name = key.split(".")
        for part in tables:
            if part not in place:
                place[part] = tomlkit.table()
            place = place[part]
        if value is None:
            place.pop(name, None)
        else:
            place[name] = value
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomlkit.dumps(document), encoding="utf-8")
    except ParseError as error:
        raise UsageError(f"The configuration {path} is not TOML: {error}.") from error
    except OSError as error:
        raise UsageError(f"The configuration {path} can't be written: {error.strerror}.") from error


@config.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--project", is_flag=True, help="In the project's looptop.toml instead of the user's file.")
def set_(key: str, value: str, project: bool) -> None:
    """Set KEY to VALUE."""
    setting = _setting(key)
    path = _file(project)
    _edit(path, key, checked(setting, value_from_text(setting, value, key), key))
    click.echo(f"{key} = {value} in {path}")


@config.command("unset")
@click.argument("key")
@click.option("--project", is_flag=True, help="In the project's looptop.toml instead of the user's file.")
def unset(key: str, project: bool) -> None:
    """Take KEY out, so that the layer below counts again."""
    _setting(key)
    path = _file(project)
    if path.exists():
        _edit(path, key, None)
    click.echo(f"{key} is no longer set in {path}")
