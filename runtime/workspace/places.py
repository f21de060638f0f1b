"""Files of the supervisor's tree: how they stand now, and a set of them written together or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runtime.errors import GitError
from runtime.text import one_line
from runtime.workspace.diff import ABSENT, EXECUTABLE, LINK, REGULAR
from runtime.workspace.merge import NOTHING, State


@dataclass(frozen=True, slots=True)
class Write:
    """One path that changes from a state to another."""

    path: str
    present: State
    wanted: State


def safe(path: str) -> bool:
    """Whether a path of a tree may be written: inside the work tree, and not git's own."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and not any(p == ".." or p.lower() == ".git" for p in parts)


def state_on_disk(root: Path, path: str, gone: frozenset[str] = frozenset()) -> State | None:
    """The path as it stands; None where something in its way is no file, and isn't among the paths that go (`gone`)."""
    parents = list(PurePosixPath(path).parents)[:-1]
    for parent in reversed(parents):
        place = root / parent
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return NOTHING if str(parent) in gone else None
    target = root / path
    try:
        info = target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    if stat.S_ISLNK(info.st_mode):
        return State(LINK, os.fsencode(os.readlink(target)))
    if stat.S_ISDIR(info.st_mode):
        return NOTHING if _empties(root, target, gone) else None
    if not stat.S_ISREG(info.st_mode):
        return None
    return State(EXECUTABLE if info.st_mode & stat.S_IXUSR else REGULAR, target.read_bytes())


def _empties(root: Path, folder: Path, gone: frozenset[str]) -> bool:
    """Whether no file is left in a folder once the paths that go are gone; empty folders make room, as for git."""
    inside = [(place, name) for place, folders, names in os.walk(folder) for name in (*names, *_links(place, folders))]
    return all(str(Path(place, name).relative_to(root)) in gone for place, name in inside)


def _links(place: str, folders: list[str]) -> list[str]:
    return [name for name in folders if Path(place, name).is_symlink()]


def write_all(root: Path, writes: Iterable[Write]) -> None:
    """Write every path, or put back what was written and raise GitError. A path that meanwhile changed stops it as well."""
    # Deletions first: a file may have to make room for a folder, or a folder for a file.
    ordered = sorted(writes, key=lambda write: write.wanted.mode != ABSENT)
    gone = frozenset(write.path for write in ordered if write.wanted.mode == ABSENT)
    done: list[Write] = []
    try:
        for write in ordered:
            if state_on_disk(root, write.path, gone) != write.present:
                raise OSError(f"{one_line(write.path)} was changed meanwhile")
            done.append(write)
            _put(root, write.path, write.wanted)
    except OSError as error:
        left = _put_back(root, done)
        what = f"these could not be put back: {', '.join(left)}" if left else "nothing was changed"
        raise GitError(f"The change could not be written, {what}: {error.strerror or error}.") from error


def _put_back(root: Path, done: list[Write]) -> list[str]:
    left = []
    for write in reversed(done):
        try:
            if state_on_disk(root, write.path) != write.present:
                _put(root, write.path, write.present)
        except OSError:
            left.append(one_line(write.path))
    return left


def _put(root: Path, path: str, state: State) -> None:
    target = root / path
    if state.mode == ABSENT:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            target.unlink()
        with contextlib.suppress(OSError):
            for parent in list(PurePosixPath(path).parents)[:-1]:
                (root / parent).rmdir()
        return
    if target.is_dir() and not target.is_symlink():
        _remove_empty(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".looptop-", dir=target.parent) as folder:
        fresh = Path(folder) / "file"
        if state.mode == LINK:
            fresh.symlink_to(os.fsdecode(state.data))
        else:
            fresh.write_bytes(state.data)
            _dress(fresh, target, state.mode)
        os.replace(fresh, target)


def _remove_empty(folder: Path) -> None:
    for place, _, _ in os.walk(folder, topdown=False):
        os.rmdir(place)


def _dress(fresh: Path, target: Path, mode: str) -> None:
    """Owner and permission bits: what the file had, with the executable bits that the change asks for."""
    bits = stat.S_IMODE(fresh.stat().st_mode)
    if target.is_file() and not target.is_symlink():
        info = target.stat()
        bits = stat.S_IMODE(info.st_mode)
        with contextlib.suppress(OSError):
            os.chown(fresh, info.st_uid, info.st_gid)
    readers = (bits & 0o444) >> 2
    fresh.chmod(bits | readers if mode == EXECUTABLE else bits & ~0o111)
