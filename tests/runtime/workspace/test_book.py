"""The record of a workspace's files: the whole change, nothing but the change, whatever was done to git."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.errors import GitError
from runtime.workspace.clone import Workspace
from runtime.workspace.diff import readable
from support.git_fixtures import MakeWorkspace, git, make_repository, write

BINARY = bytes(range(256)) * 20


def hostile_user_config(home: Path, repo: Path, mark: Path) -> None:
    """A user's and a repository's configuration that would change or replace what a difference says."""
    program = f"sh -c 'touch {mark}; exit 1' --"
    text = (
        f"[diff]\n\texternal = {program}\n\tnoprefix = true\n\tmnemonicPrefix = true\n\trenames = false\n"
        "[color]\n\tui = always\n\tdiff = always\n[core]\n\tautocrlf = true\n\tquotePath = true\n"
        f"\tpager = {program}\n\tfsmonitor = {program}\n\thooksPath = {home}/hooks\n"
        f'[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n[diff "x"]\n\ttextconv = {program}\n'
        "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n"
    )
    (home / ".gitconfig").write_text(text)
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "attributes").write_text("* filter=x diff=x\n")
    with (repo / ".git" / "config").open("a") as file:
        file.write(text)


def change_everything(tree: Path) -> None:
    """Each kind of change that a run can make."""
    write(tree, {"new.py": "print('new')\n", "empty.txt": "", "pic.bin": BINARY, "build/out.o": "x", "run.log": "x"})
    write(tree, {".env": "TOKEN=secret\n", "README.md": "# Project\nmore\n"})
    (tree / "data" / "table.csv").unlink()
    (tree / "src" / "util.py").rename(tree / "src" / "helpers.py")
    (tree / "src" / "app.py").chmod(0o755)
    (tree / "link").symlink_to("src/app.py")


async def kinds(workspace: Workspace) -> dict[str, str]:
    book = workspace.book
    change = await book.change(workspace.start_tree, await book.snapshot())
    return {file.path: file.kind for file in change.files}


async def test_every_kind_of_change_is_in_it_and_nothing_else(
    make: MakeWorkspace, repo: Path, home: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    hostile_user_config(tmp_path / "user", repo, mark)
    workspace = await make()
    change_everything(workspace.tree)
    book = workspace.book
    change = await book.change(workspace.start_tree, await book.snapshot())
    assert {file.path: file.kind for file in change.files} == {
        "new.py": "added",
        "empty.txt": "added",
        "pic.bin": "added",
        "README.md": "modified",
        "data/table.csv": "deleted",
        "src/helpers.py": "renamed",
        "src/app.py": "mode",
        "link": "added",
    }
    by_path = {file.path: file for file in change.files}
    assert by_path["src/helpers.py"].old_path == "src/util.py"
    assert by_path["pic.bin"].binary
    assert (by_path["README.md"].added, by_path["README.md"].removed) == (1, 0)
    assert change.stat.files == 8
    assert change.stat.binary == 1
    assert change.stat.added == 3
    assert change.stat.removed == 2
    assert "diff --git a/README.md b/README.md" in change.text
    assert "\n+more\n" in change.text
    assert "\x1b" not in change.text
    assert "secret" not in change.text
    assert not mark.exists()


async def test_what_looks_like_a_secret_is_named(make: MakeWorkspace) -> None:
    workspace = await make()
    write(workspace.tree, {".env": "A=1\n", "certs/dev.pem": "x", "build/x.pem": "x", ".env.example": "A=\n"})
    assert await kinds(workspace) == {".env.example": "added"}
    assert await workspace.book.withheld() == (".env", "certs/dev.pem")


async def test_no_ignore_file_brings_a_secret_in(make: MakeWorkspace, repo: Path) -> None:
    write(repo, {".env": "TOKEN=the supervisor's\n"})
    git(repo, "add", "-f", ".env")
    workspace = await make(include_dirty=True)
    assert not (workspace.tree / ".env").exists()
    write(
        workspace.tree,
        {".env": "A=1\n", ".gitignore": "!.env\n!*.pem\n", "sub/.gitignore": "!.env\n", "sub/.env": "B=1\n"},
    )
    assert await kinds(workspace) == {".gitignore": "modified", "sub/.gitignore": "added"}
    assert await workspace.book.withheld() == (".env", "sub/.env")


async def test_two_who_look_at_once_see_the_same(make: MakeWorkspace) -> None:
    workspace = await make()
    make_repository(workspace.tree / "made", {"a.py": "a\n"})
    write(workspace.tree, {"README.md": "changed\n", **{f"n/{n}.txt": f"{n}\n" for n in range(50)}})
    trees = await asyncio.gather(*(workspace.book.snapshot() for _ in range(6)))
    assert len(set(trees)) == 1
    assert len(await workspace.book.changes(workspace.start_tree, trees[0])) == 52


async def test_a_folder_replaced_by_a_link_is_not_followed(make: MakeWorkspace, tmp_path: Path) -> None:
    workspace = await make()
    outside = tmp_path / "outside"
    write(outside, {"precious.txt": "x\n"})
    workspace.tree.rename(tmp_path / "moved")
    workspace.tree.symlink_to(outside)
    for attempt in (workspace.book.snapshot(), workspace.book.reset_to(workspace.start_tree)):
        with pytest.raises(GitError, match="was replaced by a link"):
            await attempt
    assert [path.name for path in outside.iterdir()] == ["precious.txt"]


async def test_files_tracked_at_the_start_stay_in_it_although_ignored(make: MakeWorkspace, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {".gitignore": "*.log\n.env\n", "kept.log": "a\n", ".env": "A=1\n"})
    workspace = await make(root=root)
    write(workspace.tree, {"kept.log": "b\n", "other.log": "x\n", ".env": "A=2\n"})
    assert await kinds(workspace) == {"kept.log": "modified", ".env": "modified"}


async def test_the_users_own_ignore_rules_hold(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "user" / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n")
    (tmp_path / "user" / "ignored").write_text("*.swp\n")
    (repo / ".git" / "info" / "exclude").write_text("notes/\n")
    workspace = await make()
    write(workspace.tree, {"a.swp": "x", "notes/n.txt": "x", "b.txt": "x"})
    assert await kinds(workspace) == {"b.txt": "added"}
    assert git(workspace.tree, "status", "--porcelain") == "?? b.txt"


async def test_the_users_own_attributes_change_no_file(make: MakeWorkspace, tmp_path: Path) -> None:
    (tmp_path / "user" / ".config" / "git").mkdir(parents=True)
    (tmp_path / "user" / ".config" / "git" / "attributes").write_text("*.md text eol=crlf\n")
    workspace = await make()
    assert (workspace.tree / "README.md").read_bytes() == b"# Project\n"


def git_elsewhere(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    (tree / ".git").write_text("gitdir: /etc\n")


@pytest.mark.parametrize(
    "damage",
    [
        lambda tree: shutil.rmtree(tree / ".git"),
        lambda tree: (tree / ".git" / "HEAD").write_text("nonsense"),
        lambda tree: (tree / ".git" / "index").write_bytes(b"DIRC broken"),
        lambda tree: (tree / ".git" / "index.lock").write_bytes(b""),
        lambda tree: (tree / ".git" / "config").write_text("[broken"),
        git_elsewhere,
    ],
    ids=["deleted", "head", "index", "lock", "config", "file"],
)
async def test_a_broken_git_in_the_workspace_changes_nothing(
    make: MakeWorkspace, damage: Callable[[Path], object]
) -> None:
    workspace = await make()
    write(workspace.tree, {"README.md": "changed\n", "new.txt": "x\n"})
    damage(workspace.tree)
    assert await kinds(workspace) == {"README.md": "modified", "new.txt": "added"}


async def test_what_the_agent_commits_is_still_the_change(make: MakeWorkspace) -> None:
    workspace = await make()
    write(workspace.tree, {"README.md": "changed\n", "new.txt": "x\n"})
    git(workspace.tree, "add", "-A")
    git(workspace.tree, "commit", "-q", "-m", "mine")
    git(workspace.tree, "checkout", "-q", "--orphan", "other")
    assert await kinds(workspace) == {"README.md": "modified", "new.txt": "added"}


async def test_no_program_of_the_workspaces_configuration_runs(make: MakeWorkspace, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    workspace = await make()
    tree = workspace.tree
    nested = make_repository(tree / "vendor" / "lib", {"inner.py": "x = 1\n"})
    for root in (tree, nested):
        hooks = root / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for hook in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
            (hooks / hook).write_text(f"#!/bin/sh\ntouch {mark}\n")
            (hooks / hook).chmod(0o755)
        for name, value in (
            ("filter.x.clean", f"touch {mark}"),
            ("filter.x.smudge", f"touch {mark}"),
            ("filter.x.process", f"touch {mark}"),
            ("filter.x.required", "true"),
            ("core.fsmonitor", f"touch {mark}; false"),
            ("core.pager", f"touch {mark}"),
            ("diff.external", f"touch {mark}"),
            ("diff.x.textconv", f"touch {mark}"),
            ("core.alternateRefsCommand", f"touch {mark}"),
        ):
            git(root, "config", name, value)
        write(root, {".gitattributes": "* filter=x diff=x\n"})
    write(tree, {"README.md": "changed\n"})
    write(nested, {"inner.py": "x = 2\n"})
    book = workspace.book
    for _ in range(2):
        tried = await book.snapshot()
        await book.change(workspace.start_tree, tried)
        write(nested, {"inner.py": "x = 3\n", "again.py": "y\n"})
    await book.reset_to(workspace.start_tree)
    assert not mark.exists()
    assert (tree / "README.md").read_text() == "# Project\n"


async def test_a_repository_inside_is_recorded_by_its_files(make: MakeWorkspace) -> None:
    workspace = await make()
    make_repository(workspace.tree / "made", {"a.py": "a\n", "deep/b.py": "b\n", "x.log": "ignored\n"})
    git(workspace.tree, "init", "-q", "unborn")
    write(workspace.tree, {"unborn/c.py": "c\n"})
    make_repository(workspace.tree / "made" / "inner", {"d.py": "d\n"})
    git(workspace.tree, "init", "-q", "hollow")
    wanted = {"made/a.py": "added", "made/deep/b.py": "added", "unborn/c.py": "added", "made/inner/d.py": "added"}
    assert await kinds(workspace) == wanted
    write(workspace.tree, {"made/e.py": "e\n"})
    assert await kinds(workspace) == {**wanted, "made/e.py": "added"}


async def test_a_repository_in_the_place_of_a_file_and_the_other_way_round(make: MakeWorkspace) -> None:
    workspace = await make()
    (workspace.tree / "README.md").unlink()
    make_repository(workspace.tree / "README.md", {"a.py": "a\n"})
    shutil.rmtree(workspace.tree / "data")
    make_repository(workspace.tree / "data", {"b.py": "b\n"})
    wanted = {"README.md": "deleted", "README.md/a.py": "added", "data/table.csv": "deleted", "data/b.py": "added"}
    assert await kinds(workspace) == wanted
    assert await kinds(workspace) == wanted
    shutil.rmtree(workspace.tree / "README.md")
    write(workspace.tree, {"README.md": "# Project\n"})
    assert await kinds(workspace) == {"data/table.csv": "deleted", "data/b.py": "added"}
    await workspace.book.reset_to(workspace.start_tree)
    assert (workspace.tree / "data" / "table.csv").exists()
    assert await workspace.book.snapshot() == workspace.start_tree


async def test_attributes_of_the_project_change_no_byte(make: MakeWorkspace, tmp_path: Path) -> None:
    root = make_repository(
        tmp_path / "p",
        {
            "a.txt": "one\ntwo\n",
            ".gitattributes": "*.txt text eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n*.bin filter=lfs\n",
        },
    )
    workspace = await make(root=root)
    assert (workspace.tree / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    data = {"b.txt": b"x\r\ny\n", "c.id": b"$Id$\n", "d.u16": "\ufeffab\n".encode("utf-16-le"), "e.bin": b"\x00\x01"}
    write(workspace.tree, data)
    tree = await workspace.book.snapshot()
    found = {
        c.path: await workspace.book.blob(c.new_id) for c in await workspace.book.changes(workspace.start_tree, tree)
    }
    assert found == data


async def test_one_line_of_a_file_with_returns_is_one_line_of_the_change(make: MakeWorkspace, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {"w.txt": "one\r\ntwo\r\nthree", "mixed.txt": "a\r\nb\nc\r\n"})
    workspace = await make(root=root)
    write(workspace.tree, {"w.txt": "one\r\nTWO\r\nthree", "mixed.txt": "a\nb\nc\r\n"})
    book = workspace.book
    change = await book.change(workspace.start_tree, await book.snapshot())
    assert {(file.path, file.added, file.removed) for file in change.files} == {("w.txt", 1, 1), ("mixed.txt", 1, 1)}
    assert "\n-a\u240d\n+a\n" in change.text


def test_a_return_hides_nothing_of_a_difference() -> None:
    raw = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-ok\n+evil()\rharmless()\n+\x1b[2Kgone\n"
    assert readable(raw).splitlines()[5:] == ["+evil()\u240dharmless()", "+\u241b[2Kgone"]


def test_ends_that_all_lines_have_say_nothing() -> None:
    raw = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\r\n-a\r\n+b\r\n"
    assert readable(raw).splitlines()[4:] == [" same", "-a", "+b"]


NAMES = [
    b"with space",
    b"-dash",
    b"new\nline",
    b"tab\tbed",
    b'quo"te',
    b"latin-\xe9",
    b":(top)x",
    b"uml\xc3\xa4ut",
    b"*",
    b"!bang",
    b"#hash",
]


async def test_names_of_every_kind(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    for name in NAMES:
        (Path(os.fsdecode(os.fsencode(workspace.tree) + b"/" + name))).write_bytes(b"x\n")
    book = workspace.book
    change = await book.change(workspace.start_tree, await book.snapshot())
    assert {os.fsencode(file.path) for file in change.files} == set(NAMES)
    assert all(file.kind == "added" and file.added == 1 for file in change.files)
    change.text.encode()  # no lone surrogates: it can be stored and printed


async def test_a_large_binary_file(make: MakeWorkspace) -> None:
    workspace = await make()
    data = os.urandom(1 << 20) * 24
    write(workspace.tree, {"big.bin": data})
    book = workspace.book
    tree = await book.snapshot()
    change = await book.change(workspace.start_tree, tree)
    assert [(file.path, file.binary) for file in change.files] == [("big.bin", True)]
    assert len(change.text) < 1000
    (only,) = await book.changes(workspace.start_tree, tree)
    assert await book.blob(only.new_id) == data


async def test_a_change_in_the_same_second_with_the_same_size_is_seen(make: MakeWorkspace) -> None:
    workspace = await make()
    path = workspace.tree / "README.md"
    for content in ("# Prajact\n", "# Prijict\n"):
        before = path.stat()
        path.write_text(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        tree = await workspace.book.snapshot()
        (only,) = await workspace.book.changes(workspace.start_tree, tree)
        assert (await workspace.book.blob(only.new_id)).decode() == content


async def test_two_attempts_can_be_compared(make: MakeWorkspace) -> None:
    workspace = await make()
    book = workspace.book
    write(workspace.tree, {"README.md": "first\n"})
    first = await book.snapshot()
    write(workspace.tree, {"README.md": "second\n", "new.txt": "x\n"})
    second = await book.snapshot()
    assert {c.path for c in await book.changes(first, second)} == {"README.md", "new.txt"}
    assert "-first\n+second\n" in await book.diff(first, second)
    patch = await book.patch(first, second)
    assert b"index " in patch


async def test_reset_puts_back_files_modes_and_links(make: MakeWorkspace) -> None:
    workspace = await make()
    change_everything(workspace.tree)
    await workspace.book.reset_to(workspace.start_tree)
    tree = workspace.tree
    assert await workspace.book.snapshot() == workspace.start_tree
    assert not (tree / "new.py").exists()
    assert not (tree / "link").is_symlink()
    assert not stat.S_IMODE((tree / "src" / "app.py").stat().st_mode) & 0o111
    assert (tree / "build" / "out.o").exists()
    assert (tree / ".env").exists()
