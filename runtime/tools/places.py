"""Paths that a model names, confined to the workspace: links resolved, never into .git."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.text import one_line
from runtime.tools.base import ToolContext, ToolFault


def place(ctx: ToolContext, name: str) -> Path:
    """The real file behind a name, links resolved. Raises ToolFault where it lies outside the workspace or inside .git."""
    if not name.strip() or "\0" in name:
        raise ToolFault("The path is empty or has a NUL byte.")
    asked = Path(name)
    root = ctx.workspace.resolve()
    if asked.is_absolute():
        asked = _below(asked, (ctx.shown_root, ctx.workspace, root)) or asked
    # What isn't there yet is resolved as far as it exists; a link in the middle counts.
    real = Path(os.path.realpath(root / asked))
    if real != root and root not in real.parents:
        raise ToolFault(f"{one_line(name, 200)} is outside the repository; only files inside it can be used.")
    if any(part.lower() in ctx.protected for part in real.relative_to(root).parts):
        raise ToolFault(f"{one_line(name, 200)} belongs to git's own data, which the file tools don't touch.")
    return real


def _below(path: Path, roots: tuple[Path, ...]) -> Path | None:
    for root in roots:
        if path == root or root in path.parents:
            return path.relative_to(root)
    return None


def shown(ctx: ToolContext, real: Path) -> str:
    """A file's name as the model should read it: relative to the repository."""
    return one_line(str(real.relative_to(ctx.workspace.resolve())))
