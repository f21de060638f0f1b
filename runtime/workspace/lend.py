"""What git ignores but verify needs: lent by link, or copied."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import UsageError
from runtime.text import one_line

PROPOSED = (".venv", "venv", "node_modules")
UNPROTECTED = "lent without write protection (no sandbox)"
"""How the note begins that holds only where no sandbox stands around the commands."""


@dataclass(frozen=True, slots=True)
class Lent:
    """Paths of the workspace that are the supervisor's (shared) or copies of theirs."""

    shared: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All of them; none belongs to the run's change."""
        return self.shared + self.copied


def propose(root: Path) -> tuple[str, ...]:
    """Folders that a verify command will most likely need."""
    return tuple(name for name in PROPOSED if (root / name).is_dir())


def _inside(root: Path, name: str, key: str) -> Path:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or path.parts[:1] == (".git",) or not path.parts:
        raise UsageError(f"{key} has {name!r}.", "Give paths relative to the repository, inside it.")
    return root / path


def lend(root: Path, tree: Path, share: tuple[str, ...], copy: tuple[str, ...]) -> Lent:
    """Link shared paths into the workspace and copy the others. Raises UsageError for a path outside the repository."""
    shared, copied, notes = [], [], []
    for name in dict.fromkeys(share):
        source, target = _inside(root, name, "workspace.share"), tree / name
        if not source.exists():
            notes.append(f"workspace.share: {one_line(name)} is not there")
        elif not target.exists() and not target.is_symlink():
            _make_parents(tree, target, "workspace.share")
            target.symlink_to(source)
            shared.append(name)
    for name in dict.fromkeys(copy):
        source, target = _inside(root, name, "workspace.copy"), tree / name
        if not source.exists():
            notes.append(f"workspace.copy: {one_line(name)} is not there")
            continue
        _make_parents(tree, target, "workspace.copy")
        _copy(source, target)
        copied.append(name)
    if shared:
        notes.append(f"{UNPROTECTED}: {', '.join(map(one_line, shared))}")
    return Lent(tuple(shared), tuple(copied), tuple(notes))


def _make_parents(tree: Path, target: Path, key: str) -> None:
    """Make the folders above a lent path; a link among them could lead out of the workspace."""
    for parent in reversed(list(target.relative_to(tree).parents)[:-1]):
        if (tree / parent).is_symlink():
            raise UsageError(
                f"{key} has {str(target.relative_to(tree))!r}, which lies behind the link {str(parent)!r}."
            )
    target.parent.mkdir(parents=True, exist_ok=True)


def _copy(source: Path, target: Path) -> None:
    if target.is_symlink() or target.is_file():
        target.unlink()
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=_special_files)
    else:
        shutil.copy2(source, target)


def _special_files(folder: str, names: list[str]) -> list[str]:
    """Sockets, pipes and devices: nothing to copy."""
    places = {name: Path(folder, name) for name in names}
    return [n for n, p in places.items() if not (p.is_symlink() or p.is_file() or p.is_dir())]
