"""Settings in layers: defaults, the user's file, the project's looptop.toml, LOOPTOP_* variables, options. Each value knows its origin."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.errors import UsageError
from runtime.settings_check import check_variables, checked, shown, suggestion, value_from_text
from runtime.settings_keys import SETTINGS

PROJECT_FILE = "looptop.toml"


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value and where it came from: "default", a file, a variable or an option."""

    value: Any
    origin: str


class Settings:
    """All settings in force, each with its origin."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        """A setting's value."""
        return self._values[key].value

    def origin(self, key: str) -> str:
        """Where a setting's value came from."""
        return self._values[key].origin

    def items(self) -> list[tuple[str, Value]]:
        """Every setting with its value and origin, in the order of their definition."""
        return [(key, self._values[key]) for key in SETTINGS]


def load_settings(
    user_file: Path, root: Path | None, env: Mapping[str, str], options: Mapping[str, Any] | None = None
) -> Settings:
    """Lay all layers over each other; later ones win. `root` is the project's folder. Raises UsageError for the first wrong value."""
    values = {key: Value(setting.default, "default") for key, setting in SETTINGS.items()}
    files = [(user_file, False)] if root is None else [(user_file, False), (root / PROJECT_FILE, True)]
    for path, of_project in files:
        for key, value in read_file(path, of_project=of_project).items():
            if not (of_project and SETTINGS[key].looser(value, values[key].value)):
                values[key] = Value(value, str(path))
    check_variables(env)
    for key, setting in SETTINGS.items():
        text = env.get(setting.variable)
        if text:
            parsed = value_from_text(setting, text, setting.variable)
            values[key] = Value(checked(setting, parsed, setting.variable), setting.variable)
    for key, value in (options or {}).items():
        if value is not None:
            setting = SETTINGS[key]
            values[key] = Value(checked(setting, value, setting.option), setting.option)
    return Settings(values)


def read_file(path: Path, *, of_project: bool = False) -> dict[str, Any]:
    """Settings of a TOML file, flat by key and checked; none where there is no file.

    Raises UsageError with the file, the place in it and what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"The configuration {path} can't be read: {reason}.") from error
    return parse_settings(text, str(path), of_project=of_project)


def parse_settings(text: str, where: str, *, of_project: bool = False) -> dict[str, Any]:
    """Settings of TOML text, flat by key and checked. Raises UsageError; `where` names the file."""
    try:
        data = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"The configuration {where} is not TOML: {reason}.") from error
    found: dict[str, Any] = {}
    for key, value in _flat(data, where).items():
        setting = SETTINGS[key]
        if setting.own and of_project:
            raise UsageError(
                f"{where} sets {key}, which a project's file can't: it could be anybody's.",
                f"Set it in your own configuration, or as {setting.variable}.",
            )
        found[key] = checked(setting, value, f"{where}: {key}")
    return found


def _flat(data: Mapping[str, Any], where: str, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        key = f"{prefix}{name}"
        group = any(known.startswith(f"{key}.") for known in SETTINGS)
        if key in SETTINGS:
            found[key] = value
        elif group and isinstance(value, dict):
            found |= _flat(value, where, f"{key}.")
        elif group:
            raise UsageError(f"{where}: {key} is {shown(value)}.", f"It must be a table: [{key}].")
        else:
            raise UsageError(f"{where} has the key {shown(key)}, which is not known.", suggestion(key))
    return found
