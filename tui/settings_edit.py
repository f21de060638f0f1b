"""Edits one key of a settings file and leaves everything else in it, comments included, as it is."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

from runtime.errors import UsageError
from runtime.settings import parse_settings
from runtime.settings_check import checked, suggestion, value_from_text
from runtime.settings_keys import SETTINGS

Place = tuple[str, ...]
TABLES = ("caps.defaults", "prices")


def place_of(key: str) -> Place:
    """Where a key stands in a file: its tables and its name. Also one prefix of caps.defaults and one model of prices."""
    if key in SETTINGS:
        if SETTINGS[key].kind in ("verify", "table"):
            raise UsageError(f"{key} is a table.", "Write it into the file itself.")
        return tuple(key.split("."))
    for table in TABLES:
        if key.startswith(f"{table}.") and key != f"{table}.":
            return (*table.split("."), key.removeprefix(f"{table}."))
    raise UsageError(f"There is no setting {key!r}.", suggestion(key))


def value_of(key: str, text: str) -> Any:
    """The value that a text means for a key. Raises UsageError."""
    *_, name = place_of(key)
    if key in SETTINGS:
        return checked(SETTINGS[key], value_from_text(SETTINGS[key], text, key), key)
    table = next(table for table in TABLES if key.startswith(f"{table}."))
    kind = SETTINGS["fix_verify_retry_cap"] if table == "caps.defaults" else SETTINGS[table]
    value = value_from_text(kind, text, key)
    return checked(SETTINGS[table], {name: value}, table)[name]


def edit(path: Path, key: str, value: Any, *, of_project: bool = False) -> bool:
    """Set a key, or take it out where the value is None; returns whether that changed anything. Raises UsageError.

    The file is checked whole before it is replaced, so that it can't be left in a state that looptop refuses.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        # The file that a link leads to is edited, the link stays.
        path = path.resolve()
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        document = tomlkit.parse(text)
        _change(document, place_of(key), value)
        new = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise UsageError(f"The configuration {path} is not TOML: {error}.") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"The configuration {path} can't be read: {reason}.") from error
    if value is not None:
        parse_settings(new, str(path), of_project=of_project)
    if new == text:
        return False
    try:
        _replace(path, new)
    except OSError as error:
        raise UsageError(f"The configuration {path} can't be written: {error.strerror}.") from error
    return True


def _change(document: Any, place: Place, value: Any) -> None:
    import tomlkit

    table: Any = document
    *outer, name = place
    for part in outer:
        if part not in table:
            if value is None:
                return
            table[part] = tomlkit.table()
        table = table[part]
        if not isinstance(table, dict):
            raise UsageError(f"{'.'.join(outer)} is not a table in the file.", "Take it out of the file first.")
    if value is None:
        table.pop(name, None)
    else:
        table[name] = value if not isinstance(value, dict) else _inline(value)


def _inline(value: dict[str, Any]) -> Any:
    import tomlkit

    table = tomlkit.inline_table()
    table.update(value)
    return table


def _replace(path: Path, text: str) -> None:
    """Write the file whole or not at all; its mode stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(name, path.stat().st_mode & 0o7777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
