"""Submodules and large files: brought along where they lie on this machine, named where they don't."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path

from runtime.text import one_line
from runtime.workspace.git import Git, quoted
from runtime.workspace.repository import Repository

_POINTER = re.compile(rb"version https://git-lfs\S*\n(?:ext-\S+ \S+\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n")
_POINTER_LIMIT = 1024
_DEPTH = 8


async def bring_submodules(repository: Repository, tree: Path) -> list[str]:
    """Check submodules out from where they lie in the supervisor's tree, theirs as well; returns a note for each that doesn't."""
    missing = await _bring_all(repository.git(), repository.head, tree, Path(), _DEPTH)
    return [
        f"the submodule {one_line(path)} isn't checked out on this machine and is missing in the workspace"
        for path in missing
    ]


async def _bring_all(source: Git, commit: str, target: Path, prefix: Path, depth: int) -> list[str]:
    listed = await source.raw("ls-tree", "-r", "-z", "--full-tree", commit)
    missing = []
    for entry in os.fsdecode(listed).split("\0"):
        head, _, path = entry.partition("\t")
        if not head.startswith("160000 "):
            continue
        wanted, inner = head.split(" ")[2], source.work_tree / path
        if depth and await _bring_one(inner, target / path, wanted):
            missing += await _bring_all(Git(inner), wanted, target / path, prefix / path, depth - 1)
        else:
            missing.append(str(prefix / path))
    return missing


async def _bring_one(source: Path, target: Path, commit: str) -> bool:
    if not (source / ".git").exists() or target.is_symlink():
        return False
    git = Git(source)
    objects = await git.ask("rev-parse", "--path-format=absolute", "--git-path", "objects")
    if not objects or await git.ask("cat-file", "-e", f"{commit}^{{commit}}") is None:
        return False
    kind = await git.ask("rev-parse", "--show-object-format") or "sha1"
    shallow = await git.ask("rev-parse", "--path-format=absolute", "--git-path", "shallow")
    target.mkdir(parents=True, exist_ok=True)
    fresh = Git(target)
    await fresh.run("init", "-q", "--template=", f"--object-format={kind}")
    info = target / ".git" / "objects" / "info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "alternates").write_text(f"{quoted(Path(objects))}\n")
    if shallow and Path(shallow).is_file():
        shutil.copyfile(shallow, target / ".git" / "shallow")
    await fresh.run("reset", "-q", "--hard", commit, timeout_s=600)
    return True


async def bring_lfs(repository: Repository, tree: Path) -> list[str]:
    """Put the real content in the place of large-file pointers where it lies on this machine; names how many are missing."""
    listed = os.fsdecode(await repository.git().raw("ls-tree", "-r", "-l", "-z", "--full-tree", repository.head))
    files = [(head.split(), path) for head, _, path in (entry.partition("\t") for entry in listed.split("\0")) if path]
    if not any(_names_lfs(tree / path) for _, path in files if Path(path).name == ".gitattributes"):
        return []
    small = [path for head, path in files if head[0].startswith("100") and int(head[3]) < _POINTER_LIMIT]
    missing = await asyncio.to_thread(_fill_pointers, tree, small, repository.common / "lfs" / "objects")
    return [f"{missing} large files (LFS) aren't on this machine; the workspace has their pointers"] if missing else []


def _names_lfs(path: Path) -> bool:
    try:
        return not path.is_symlink() and b"filter=lfs" in path.read_bytes()
    except OSError:
        return False


def _fill_pointers(tree: Path, paths: list[str], store: Path) -> int:
    missing = 0
    for name in paths:
        path = tree / name
        found = _POINTER.fullmatch(path.read_bytes())
        if not found:
            continue
        oid = found.group(1).decode()
        stored = store / oid[:2] / oid[2:4] / oid
        if stored.is_file():
            shutil.copyfile(stored, path)
        else:
            missing += 1
    return missing
