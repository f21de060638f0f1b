"""Merge one path's change into what stands there now: modes, links, binary content, and files with other line endings."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from runtime.workspace.diff import ABSENT, EXECUTABLE, REGULAR
from runtime.workspace.git import Git

_FILES = {REGULAR, EXECUTABLE}


@dataclass(frozen=True, slots=True)
class State:
    """A path at one moment: git's mode (zeros: absent) and its bytes (a link's target)."""

    mode: str
    data: bytes = b""


NOTHING = State(ABSENT)


async def merge(present: State, old: State, new: State, git: Git) -> State | None:
    """The state that has both changes; None where they conflict."""
    if present in (new, old):
        return new
    old, new = _with_endings_of(present, old, new)
    if present in (new, old):
        return new
    if not {present.mode, old.mode, new.mode} <= _FILES:
        return None
    if new.data in (present.data, old.data):
        data = present.data
    elif present.data == old.data:
        data = new.data
    else:
        merged = await _merge_text(present.data, old.data, new.data, git)
        if merged is None:
            return None
        data = merged
    return State(new.mode if new.mode != old.mode else present.mode, data)


async def _merge_text(present: bytes, old: bytes, new: bytes, git: Git) -> bytes | None:
    if b"\0" in present + old + new:
        return None
    with tempfile.TemporaryDirectory(prefix="looptop-merge-") as folder:
        names = []
        for name, data in (("present", present), ("old", old), ("new", new)):
            path = Path(folder) / name
            path.write_bytes(data)
            names.append(str(path))
        done = await git.call("merge-file", "-p", *names)
    return done.stdout if done.exit_code == 0 else None


def _endings(data: bytes) -> str:
    """`crlf` or `lf` where all lines end alike; empty where they don't, where there are none, or where it is no text."""
    lines, returns = data.count(b"\n"), data.count(b"\r\n")
    if b"\0" in data or not lines or returns not in {0, lines}:
        return ""
    return "crlf" if returns else "lf"


def _with_endings_of(present: State, old: State, new: State) -> tuple[State, State]:
    """The change as it would be in the present file's line endings.

    A checkout with `core.autocrlf`, or a commit under an `eol` attribute, has the same lines with other ends. Where the
    change itself is about line ends nothing is translated.
    """
    if not {present.mode, old.mode} <= _FILES or new.mode not in {*_FILES, ABSENT}:
        return old, new
    here, there = _endings(present.data), _endings(old.data)
    if not here or not there or here == there or (b"\n" in new.data and _endings(new.data) != there):
        return old, new
    return replace(old, data=_translated(old.data, here)), replace(new, data=_translated(new.data, here))


def _translated(data: bytes, endings: str) -> bytes:
    lines = data.replace(b"\r\n", b"\n")
    return lines.replace(b"\n", b"\r\n") if endings == "crlf" else lines
