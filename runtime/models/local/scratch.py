"""A copy of the workspace in which candidates run, so that nothing a candidate does can reach the workspace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from runtime.models.local.errors import CannotHelp

LINKED = frozenset({".venv", "venv", "env", "node_modules", ".tox", ".nox"})
LEFT_OUT = frozenset({".git", ".hg", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"})
MAX_BYTES = 512 << 20


def copy_workspace(workspace: Path, scratch: Path) -> Path:
    """Copy the workspace and return the copy's real path. Raises CannotHelp for one that is too large."""
    target = Path(os.path.realpath(scratch)) / "tree"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True, mode=0o700)
    budget = [MAX_BYTES]
    _copy(workspace, target, budget)
    return target


def _copy(source: Path, target: Path, budget: list[int]) -> None:
    for entry in sorted(os.scandir(source), key=lambda e: e.name):
        place = target / entry.name
        if entry.name in LEFT_OUT:
            continue
        if entry.is_symlink():
            real = os.path.realpath(entry.path)
            os.symlink(
                real if not os.path.lexists(target / os.readlink(entry.path)) else os.readlink(entry.path), place
            )
        elif entry.is_dir():
            if (
                entry.name in LINKED
                and (source / entry.name / ("pyvenv.cfg" if entry.name != "node_modules" else "")).exists()
            ):
                os.symlink(entry.path, place)
                continue
            place.mkdir()
            _copy(source / entry.name, place, budget)
        elif entry.is_file():
            budget[0] -= entry.stat().st_size
            if budget[0] < 0:
                raise CannotHelp(f"the workspace is larger than {MAX_BYTES >> 20} MiB, too large to copy for trials")
            shutil.copy2(entry.path, place)
