"""Themes of the user's own: YAML files beside the configuration, checked with one sentence each, read again when they change."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from runtime.errors import UsageError
from tui.widgets.palette import BASES, DECORATION

FOLDER = "themes"
LARGEST_BYTES = 65_536
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
COLOURS = (
    "primary", "secondary", "accent", "success", "warning", "error", "foreground", "background", "surface", "panel", "boost",
)  # fmt: skip


def folder_of(config: Path) -> Path:
    """Where the user's themes lie: a folder beside the configuration file."""
    return config.parent / FOLDER


@dataclass
class UserThemes:
    """The themes of a folder. `read` looks for what changed since it was called last."""

    folder: Path
    themes: dict[Path, Theme] = field(default_factory=dict)
    _seen: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def read(self) -> tuple[list[Theme], list[str]]:
        """Themes that are new or changed, and a sentence for each file that can't be used. A file is told of once per change."""
        changed: list[Theme] = []
        wrong: list[str] = []
        present = self._present()
        for path in self._seen.keys() - present.keys():
            del self._seen[path]
            self.themes.pop(path, None)
        for path, mark in sorted(present.items()):
            if self._seen.get(path) == mark:
                continue
            self._seen[path] = mark
            try:
                theme = theme_of(path)
            except UsageError as error:
                wrong.append(str(error))
                continue
            self.themes[path] = theme
            changed.append(theme)
        return changed, wrong

    def _present(self) -> dict[Path, tuple[int, int]]:
        found: dict[Path, tuple[int, int]] = {}
        try:
            paths = [path for path in self.folder.iterdir() if path.suffix in (".yaml", ".yml")]
            for path in paths:
                stat = path.stat()
                found[path] = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            # No folder, or a file that went away meanwhile: the next look tells.
            pass
        return found


def theme_of(path: Path) -> Theme:
    """The theme of a file. Raises UsageError with the file, the key and what is wrong."""
    import yaml

    try:
        with path.open("rb") as file:
            data = yaml.safe_load(file.read(LARGEST_BYTES))
    except OSError as error:
        raise UsageError(f"The theme {path} can't be read: {error.strerror}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"The theme {path} is not YAML: {what}.") from error
    if not isinstance(data, dict):
        raise UsageError(
            f"The theme {path} is no table of keys.", "Write name: mine, dark: true, primary: '#5cc0c7', ..."
        )
    return checked(data, path)


def checked(data: Mapping[Any, Any], path: Path) -> Theme:
    """A theme of parsed data. Raises UsageError."""
    unknown = [key for key in data if key not in (*COLOURS, "name", "dark", "variables")]
    if unknown:
        raise UsageError(
            f"The theme {path} has the key {unknown[0]!r}, which is not known.",
            f"Known: name, dark, variables, {', '.join(COLOURS)}.",
        )
    name = data.get("name", path.stem)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(
            f"The theme {path} is called {name!r}.", "A name has small letters, digits, - and _, at most 40."
        )
    dark = data.get("dark", True)
    if not isinstance(dark, bool):
        raise UsageError(f"The theme {path}: dark is {dark!r}.", "It must be true or false.")
    if "primary" not in data:
        raise UsageError(f"The theme {path} has no primary colour.", "Write primary: '#5cc0c7'.")
    colours: dict[str, Any] = {key: _colour(data[key], key, path) for key in COLOURS if key in data}
    variables = data.get("variables") or {}
    if not isinstance(variables, dict):
        raise UsageError(f"The theme {path}: variables is {variables!r}.", "It must be a table of colours.")
    known = {f"looptop-{role}" for role in ("cursor", *BASES, *DECORATION)}
    for key in variables:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            meant = (
                f"Did you mean {near[0]!r}?"
                if near
                else "looptop-ROLE sets the colour of a role, such as looptop-thinking."
            )
            raise UsageError(f"The theme {path}: there is no variable {key!r}.", meant)
    own = {key: _colour(value, f"variables.{key}", path) for key, value in variables.items()}
    return Theme(name=name, dark=dark, variables=own, **colours)


def _colour(value: object, key: str, path: Path) -> str:
    try:
        if not isinstance(value, str):
            raise ColorParseError("not a text")
        return Color.parse(value).hex6
    except ColorParseError:
        raise UsageError(f"The theme {path}: {key} is {value!r}.", "It must be a colour such as '#5cc0c7'.") from None
