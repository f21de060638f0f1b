"""Any change: what is recorded, applied, put on a branch and reset is the same set, to the byte and the mode."""

from __future__ import annotations

import os
import random
import shutil
import stat
from pathlib import Path

import pytest

from runtime.workspace.clone import reset_workspace
from runtime.workspace.deliver import apply_change, branch_change
from support.git_fixtures import MakeWorkspace, git

NAMES = ("a", "b", "c d", "é", "-x", "new\nline", "b'\udcff", "README.md", "src", "data", "[1]")


def content(rng: random.Random) -> bytes:
    return rng.choice(
        [
            b"",
            b"no end",
            b"one\ntwo\n",
            b"one\r\ntwo\r\n",
            bytes(rng.randrange(256) for _ in range(300)),
            b"".join(b"line %d\n" % rng.randrange(9) for _ in range(30)),
        ]
    )


def clear(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def make_room(root: Path, path: Path) -> None:
    """Folders above a path, in the place of files and links that are there."""
    for parent in reversed(path.relative_to(root).parents[:-1]):
        if (root / parent).is_symlink() or (root / parent).is_file():
            (root / parent).unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    clear(path)


def act(rng: random.Random, root: Path) -> None:
    """One random change below a folder."""
    path = root.joinpath(*(rng.choice(NAMES) for _ in range(rng.choice((1, 1, 2, 3)))))
    there = sorted(p for p in root.rglob("*") if ".git" not in p.parts and not p.is_dir() and not p.is_symlink())
    what = rng.choice(("write", "write", "delete", "mode", "link", "move", "edit", "folder"))
    if what == "write":
        make_room(root, path)
        path.write_bytes(content(rng))
    elif what == "link":
        make_room(root, path)
        path.symlink_to(rng.choice(("src", "nowhere", "../..", "/etc")))
    elif what == "folder":
        make_room(root, path)
        path.mkdir()
    elif there:
        chosen = rng.choice(there)
        if what == "delete":
            chosen.unlink()
        elif what == "mode":
            chosen.chmod(rng.choice((0o644, 0o755)))
        elif what == "edit":
            chosen.write_bytes(chosen.read_bytes() + b"more\n")
        elif not chosen.is_relative_to(path) and not path.is_relative_to(chosen):
            data, mode = chosen.read_bytes(), chosen.stat().st_mode
            chosen.unlink()
            make_room(root, path)
            path.write_bytes(data)
            path.chmod(stat.S_IMODE(mode))


def files(root: Path) -> dict[str, tuple[str, bytes]]:
    """Every file and link with its kind and content; git's own folder and empty folders apart."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *folders]:
            path = Path(folder, name)
            if path.is_symlink():
                found[str(path.relative_to(root))] = ("link", os.fsencode(os.readlink(path)))
            elif path.is_file():
                kind = "program" if path.stat().st_mode & stat.S_IXUSR else "file"
                found[str(path.relative_to(root))] = (kind, path.read_bytes())
    return found


@pytest.mark.parametrize("seed", range(20))
async def test_a_random_change(make: MakeWorkspace, repo: Path, seed: int) -> None:
    rng = random.Random(seed)
    dirty = bool(seed % 2)
    for _ in range(rng.randrange(1, 12) if dirty else 0):
        act(rng, repo)
    before = files(repo)
    index = (repo / ".git" / "index").read_bytes()
    workspace = await make(include_dirty=True)
    assert files(workspace.tree) == before
    for _ in range(rng.randrange(1, 15)):
        act(rng, workspace.tree)
        if not rng.randrange(5):
            await workspace.book.snapshot()
    wanted = files(workspace.tree)
    book = workspace.book
    end = await book.snapshot()
    change = await book.change(workspace.start_tree, end)
    changed = {path for path in before.keys() | wanted.keys() if before.get(path) != wanted.get(path)}
    assert {file.path for file in change.files} | {file.old_path for file in change.files if file.old_path} == changed
    base = (workspace.repository, workspace.start_tree, end)
    done = await branch_change(book, *base, "fix", "Fix")
    # What stands on uncommitted work conflicts with the base, or comes to the branch without that work.
    assert done.ok or dirty
    if not dirty:
        git(repo, "worktree", "add", "-q", "--detach", str(repo.parent / "there"), "fix")
        on_branch = files(repo.parent / "there")
        on_branch.pop(".git", None)
        assert {path: on_branch.get(path) for path in changed} == {path: wanted.get(path) for path in changed}
    done = await apply_change(book, *base)
    assert done.ok
    assert files(repo) == wanted
    assert (repo / ".git" / "index").read_bytes() == index
    assert (await apply_change(book, *base)).written == ()
    await reset_workspace(workspace)
    assert files(workspace.tree) == before
    assert await book.snapshot() == workspace.start_tree
