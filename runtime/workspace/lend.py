"""What git ignores but verify needs: lent by link, copied, and the check for installs that point at the real tree."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import UsageError
from runtime.text import one_line

PROPOSED = (".venv", "venv", "node_modules")


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
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
            shared.append(name)
    for name in dict.fromkeys(copy):
        source, target = _inside(root, name, "workspace.copy"), tree / name
        if not source.exists():
            notes.append(f"workspace.copy: {one_line(name)} is not there")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
        copied.append(name)
    if shared:
        notes.append(f"lent without write protection (no sandbox): {', '.join(map(one_line, shared))}")
    return Lent(tuple(shared), tuple(copied), tuple(notes))


def editable_installs(root: Path, environments: tuple[Path, ...]) -> list[str]:
    """Packages that a virtual environment installs from the real tree, by name.

    Without a mount at the repository's path, tests would import these and judge the wrong code.
    """
    root = root.resolve()
    found: set[str] = set()
    for environment in environments:
        for site in environment.glob("lib/python*/site-packages"):
            found |= _by_metadata(site, root) | _by_path_files(site, root)
    return sorted(found)


def _by_metadata(site: Path, root: Path) -> set[str]:
    found = set()
    for file in site.glob("*.dist-info/direct_url.json"):
        try:
            data = json.loads(file.read_text())
        except (OSError, ValueError):
            continue
        url = str(data.get("url", "")) if isinstance(data, dict) else ""
        info = data.get("dir_info") if isinstance(data, dict) else None
        if isinstance(info, dict) and info.get("editable") and _points_into(url.removeprefix("file://"), root):
            found.add(file.parent.name.partition("-")[0])
    return found


def _by_path_files(site: Path, root: Path) -> set[str]:
    found = set()
    for file in site.glob("*.pth"):
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError:
            continue
        if any(line.startswith("/") and _points_into(line.strip(), root) for line in lines):
            found.add(re.sub(r"^__editable__\.|-[\d.]+$", "", file.stem))
    return found


def _points_into(text: str, root: Path) -> bool:
    path = Path(text)
    return path == root or root in path.parents
