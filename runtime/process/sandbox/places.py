"""Where a sandbox puts what a run needs: the workspace at the repository's path, lent paths, git's borrowed objects."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INNER = Path("/run/looptop")
"""Where a sandbox shows what has no place of its own."""


@dataclass(frozen=True, slots=True)
class Places:
    """A run's folders: `tree` is shown at `root`; `lent` are paths below it that are the supervisor's."""

    root: Path
    tree: Path
    temporary: Path
    objects: Path
    links: Path
    """Folder of links to what is lent; the tree's own links lead here."""
    lent: tuple[str, ...] = ()


def keeps_place(name: str) -> bool:
    """Whether a lent path needs to be mounted at its own place: Node resolves links before it looks around."""
    return Path(name).name == "node_modules"


def clear_way(base: Path, below: Path) -> bool:
    """Make the folders from `base` down to `below`; False where a link or a file is in the way.

    Commands can write there: a mount point that is reached through their link could be made anywhere.
    """
    at = base
    for part in below.relative_to(base).parts:
        at = at / part
        if at.is_symlink() or (at.exists() and not at.is_dir()):
            return False
        at.mkdir(mode=0o700, exist_ok=True)
    return True


def force_way(base: Path, below: Path) -> None:
    """Make the folders from `base` down to `below`, whatever else had these names before."""
    at = base
    for part in below.relative_to(base).parts:
        at = at / part
        if at.is_symlink() or (at.exists() and not at.is_dir()):
            at.unlink()
        at.mkdir(mode=0o700, exist_ok=True)


def lent_mounts(places: Places) -> Iterator[tuple[Path, Path]]:
    """Source and place of every lent path; what commands did to the links and folders there is put right first."""
    for name in places.lent:
        source, own, link = places.root / name, places.tree / name, places.links / name
        if not source.exists():
            continue
        if not clear_way(places.tree, own.parent):
            continue
        if keeps_place(name) and source.is_dir():
            if own.is_symlink():
                own.unlink()
            own.mkdir(exist_ok=True)
            yield source, places.root / name
            continue
        link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not link.is_symlink():
            link.symlink_to(source)
        if not own.is_symlink() or os.readlink(own) != str(link):
            _remove(own)
            own.symlink_to(link)
        yield source, link


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def object_folders(objects: Path) -> tuple[Path, ...]:
    """An object folder and all that it borrows from, each once."""
    found: dict[Path, None] = {}
    waiting = [objects]
    while waiting:
        folder = Path(os.path.realpath(waiting.pop(0)))
        if folder in found or not folder.is_dir():
            continue
        found[folder] = None
        try:
            text = (folder / "info" / "alternates").read_text(errors="surrogateescape")
        except OSError:
            continue
        waiting += [folder / line for line in text.splitlines() if line and line[0] not in '#"']
    return tuple(found)
