"""What lies between two trees: changed paths, their kinds and sizes, and the difference as text that hides nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.events.values import DiffStat
from runtime.text import visible

Kind = Literal["added", "modified", "deleted", "renamed", "mode", "type"]
ABSENT = "000000"
LINK = "120000"
EXECUTABLE = "100755"
REGULAR = "100644"
GITLINK = "160000"
_CARRIAGE_RETURN = "\u240d"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed path between two trees, renames not paired. Modes as git writes them; an id of zeros is no file."""

    status: str
    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One line of a change for the reader. `added` and `removed` are lines; None in a binary file."""

    kind: Kind
    path: str
    old_path: str | None
    old_mode: str
    new_mode: str
    added: int | None
    removed: int | None

    @property
    def binary(self) -> bool:
        """Whether git takes its content for something other than text."""
        return self.added is None


@dataclass(frozen=True, slots=True)
class Change:
    """Everything that differs between two trees. Paths are as they are on disk: make them visible before showing them."""

    files: tuple[ChangedFile, ...]
    text: str
    """The unified difference, safe to show."""
    stat: DiffStat


def parse_raw(raw: bytes) -> list[FileChange]:
    """Read `diff-tree -z --raw` without renames."""
    parts = os.fsdecode(raw).split("\0")
    found = []
    for head, path in zip(parts[0::2], parts[1::2], strict=False):
        old_mode, new_mode, old_id, new_id, status = head.removeprefix(":").split(" ")
        found.append(FileChange(status, path, old_mode, new_mode, old_id, new_id))
    return found


def parse_files(raw: bytes, numbers: bytes) -> tuple[ChangedFile, ...]:
    """Read `diff-tree -z --raw -M` together with `diff-tree -z --numstat -M` of the same trees."""
    counts = _parse_numbers(numbers)
    parts = iter(os.fsdecode(raw).split("\0"))
    files = []
    for head in parts:
        if not head:
            continue
        old_mode, new_mode, _, _, status = head.removeprefix(":").split(" ")
        path = next(parts)
        old_path = path if status.startswith("R") else None
        path = next(parts) if old_path is not None else path
        added, removed = counts.get(path, (0, 0))
        kind = _kind(status, old_mode, new_mode, added, removed)
        files.append(ChangedFile(kind, path, old_path, old_mode, new_mode, added, removed))
    return tuple(files)


def _parse_numbers(raw: bytes) -> dict[str, tuple[int | None, int | None]]:
    parts = iter(os.fsdecode(raw).split("\0"))
    counts: dict[str, tuple[int | None, int | None]] = {}
    for entry in parts:
        if not entry:
            continue
        added, removed, path = entry.split("\t", 2)
        if not path:  # a rename: old and new name follow
            next(parts)
            path = next(parts)
        counts[path] = (None, None) if added == "-" else (int(added), int(removed))
    return counts


def _kind(status: str, old_mode: str, new_mode: str, added: int | None, removed: int | None) -> Kind:
    if status.startswith("R"):
        return "renamed"
    if status in "AD":
        return "added" if status == "A" else "deleted"
    if status == "T":
        return "type"
    return "mode" if old_mode != new_mode and added == removed == 0 else "modified"


def stat_of(files: Sequence[ChangedFile]) -> DiffStat:
    """Files and lines of a change."""
    return DiffStat(
        files=len(files),
        added=sum(file.added or 0 for file in files),
        removed=sum(file.removed or 0 for file in files),
        binary=sum(file.binary for file in files),
    )


def readable(raw: bytes) -> str:
    """A unified difference for the reader, every character of it visible.

    Carriage returns are shown, unless all lines of a file end in one: then they say nothing.
    """
    sections = re.split(r"(?m)^(?=diff --git )", os.fsdecode(raw))
    return visible("".join(map(_with_endings, sections)))


def _with_endings(section: str) -> str:
    if "\r" not in section:
        return section
    lines = section.split("\n")
    body = next((at for at, line in enumerate(lines) if line.startswith("@@")), len(lines))
    content = [line for line in lines[body:] if line[:1] in {" ", "+", "-"}]
    if content and all(line.endswith("\r") for line in content):
        lines = [line.removesuffix("\r") for line in lines]
    return "\n".join(lines).replace("\r", _CARRIAGE_RETURN)
