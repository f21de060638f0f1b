"""What the importers share: whole JSON or a sentence, money and texts as they come, and lines of a file with their numbers."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime.errors import UsageError
from runtime.text import storable

MOST_DOLLARS = 1e9
"""No run costs more: a sum beyond it is nonsense, as is one that isn't a number."""
MOST_BYTES = 2_000_000_000
"""A file that unpacks to more is not a recorded run."""


def bad(path: Path, what: str, line: int | None = None, hint: str = "") -> UsageError:
    """The error for a file that doesn't fit."""
    where = f"{path}, line {line}" if line is not None else str(path)
    return UsageError(f"{where}: {what}.", hint or "Nothing of the file was taken.")


def read_text(path: Path) -> str:
    """A file's text, unpacked where it is gzipped. Raises UsageError."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as packed:
                data = packed.read(MOST_BYTES)
        else:
            data = path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise bad(path, f"it can't be read ({getattr(error, 'strerror', None) or error})") from error
    return data.decode("utf-8", "replace")


def json_lines(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines with their line numbers. Raises UsageError at half a line."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise bad(path, "half a line, or not JSON", number) from error
        if not isinstance(value, dict):
            raise bad(path, "not a JSON object", number)
        yield number, value


def whole_json(path: Path, text: str) -> dict[str, Any]:
    """The object that a file holds. Raises UsageError."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad(path, "not whole JSON; it may have been cut") from error
    if not isinstance(value, dict):
        raise bad(path, "not a JSON object")
    return value


def words(value: Any) -> str:
    """Text as a format may hold it: a string, a list of parts with `text` or `content`, or nothing."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return "\n".join(part for part in map(words, value) if part)
    if isinstance(value, dict):
        return words(value.get("text") or value.get("content") or "")
    return ""


def micros(dollars: Any) -> int | None:
    """Dollars as micro-dollars; None for what isn't a sum of money."""
    if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars <= MOST_DOLLARS:
        return None
    return round(dollars * 1_000_000)


def whole(value: Any) -> int | None:
    """A count; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def flag(value: Any) -> bool | None:
    """A verdict; None for anything else."""
    return value if isinstance(value, bool) else None


def named(*values: Any) -> str:
    """The first of some values that is a text with something in it."""
    for value in values:
        if isinstance(value, str) and value.strip():
            return storable(value.strip())
    return ""
