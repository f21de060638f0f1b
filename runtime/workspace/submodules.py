"""Submodules and large files: brought along where they lie on this machine, named where they don't."""

from __future__ import annotations

import os
import re
from pathlib import Path

from runtime.text import one_line
from runtime.workspace.git import Git
from runtime.workspace.repository import Repository

_POINTER = re.compile(rb"version https://git-lfs\S*\n(?:ext-\S+ \S+\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n")


async def bring_submodules(repository: Repository, tree: Path) -> list[str]:
    """Check submodules out from where they lie in the supervisor's tree; returns a note for each that doesn't."""
    listed = await repository.git().raw("ls-tree", "-r", "-z", "--full-tree", "HEAD")
    notes = []
    for entry in os.fsdecode(listed).split("\0"):
        head, _, path = entry.partition("\t")
        if not head.startswith("160000 "):
            continue
        commit = head.split(" ")[2]
        if not await _bring_one(repository.root / path, tree / path, commit):
            notes.append(
                f"the submodule {one_line(path)} isn't checked out on this machine and is missing in the workspace"
            )
    return notes


async def _bring_one(source: Path, target: Path, commit: str) -> bool:
    if not (source / ".git").exists():
        return False
    objects = await Git(source).ask("rev-parse", "--path-format=absolute", "--git-path", "objects")
    if not objects or await Git(source).ask("cat-file", "-e", f"{commit}^{{commit}}") is None:
        return False
    target.mkdir(parents=True, exist_ok=True)
    git = Git(target)
    await git.run("init", "-q", "--template=")
    info = target / ".git" / "objects" / "info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "alternates").write_text(f"{objects}\n")
    await git.run("reset", "-q", "--hard", commit, timeout_s=600)
    return True


async def bring_lfs(repository: Repository, tree: Path) -> list[str]:
    """Put the real content in the place of large-file pointers where it lies on this machine; names how many are missing."""
    attributes = await repository.git().ask("grep", "-l", "filter=lfs", "HEAD", "--", ".gitattributes")
    if not attributes:
        return []
    missing = 0
    for path in tree.rglob("*"):
        if (
            path.is_symlink()
            or not path.is_file()
            or ".git" in path.relative_to(tree).parts
            or path.stat().st_size > 1024
        ):
            continue
        found = _POINTER.fullmatch(path.read_bytes())
        if not found:
            continue
        name = found.group(1).decode()
        stored = repository.common / "lfs" / "objects" / name[:2] / name[2:4] / name
        if stored.is_file():
            path.write_bytes(stored.read_bytes())
        else:
            missing += 1
    return [f"{missing} large files (LFS) aren't on this machine; the workspace has their pointers"] if missing else []
