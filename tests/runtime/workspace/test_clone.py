"""Workspaces: made without touching the repository, many at once, and gone without a trace when they fail."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from runtime.errors import EnvironmentFault, GitError, UsageError
from runtime.workspace import clone
from runtime.workspace.clone import make_workspace, open_workspace, reset_workspace
from runtime.workspace.deliver import apply_change
from runtime.workspace.repository import open_repository
from support.git_fixtures import MakeWorkspace, fingerprint, git, make_repository, write


async def test_a_workspace_has_the_files_of_head_and_a_git_of_its_own(make: MakeWorkspace, repo: Path) -> None:
    git(repo, "tag", "v1")
    git(repo, "branch", "side")
    before = fingerprint(repo)
    workspace = await make()
    tree = workspace.tree
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "symbolic-ref", "HEAD") == "refs/heads/looptop/r1"
    assert git(tree, "rev-parse", "HEAD") == git(repo, "rev-parse", "HEAD")
    assert git(tree, "rev-parse", "origin/side") == git(repo, "rev-parse", "side")
    assert git(tree, "describe", "--tags") == "v1"
    assert git(tree, "remote") == ""
    assert git(tree, "fsck") == ""
    after = fingerprint(repo)
    ref = ".git/refs/looptop/r1"
    assert after.pop(ref).decode().strip() == git(repo, "rev-parse", "HEAD")
    assert after == before
    assert stat.S_IMODE(workspace.folder.stat().st_mode) == 0o700


async def test_the_agent_can_commit_as_the_supervisor(make: MakeWorkspace, repo: Path) -> None:
    git(repo, "config", "user.name", "Grace Hopper")
    git(repo, "config", "user.email", "grace@example.org")
    workspace = await make()
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", "commit", "--allow-empty", "-qm", "x"], cwd=workspace.tree, env=env, check=True)
    assert git(workspace.tree, "log", "-1", "--format=%an <%ae>") == "Grace Hopper <grace@example.org>"


async def test_uncommitted_changes_come_along_only_when_asked(make: MakeWorkspace, repo: Path) -> None:
    write(
        repo, {"README.md": "dirty\n", "untracked.txt": "u\n", "staged.py": "s\n", "forced.log": "f\n", ".env": "A=1\n"}
    )
    write(repo, {"build/x.o": "ignored\n"})
    git(repo, "add", "staged.py", "src/app.py")
    git(repo, "add", "-f", "forced.log")
    (repo / "data" / "table.csv").unlink()
    (repo / "src" / "app.py").chmod(0o755)
    (repo / "link").symlink_to("README.md")
    git(repo, "rm", "-q", "--cached", "src/util.py")
    index = (repo / ".git" / "index").read_bytes()
    clean = await make("clean")
    assert git(clean.tree, "status", "--porcelain") == ""
    dirty = await make("dirty", include_dirty=True)
    assert (repo / ".git" / "index").read_bytes() == index
    tree = dirty.tree
    assert (tree / "README.md").read_text() == "dirty\n"
    assert (tree / "untracked.txt").exists()
    assert (tree / "staged.py").exists()
    assert (tree / "forced.log").read_text() == "f\n"
    assert (tree / "src" / "util.py").exists()
    assert os.readlink(tree / "link") == "README.md"
    assert os.access(tree / "src" / "app.py", os.X_OK)
    assert not (tree / "data").exists()
    assert not (tree / ".env").exists()
    assert not (tree / "build").exists()
    assert await dirty.book.snapshot() == dirty.start_tree
    write(tree, {"forced.log": "g\n"})
    changes = await dirty.book.changes(dirty.start_tree, await dirty.book.snapshot())
    assert [change.path for change in changes] == ["forced.log"]


async def test_what_a_sparse_checkout_leaves_out_isnt_gone(make: MakeWorkspace, repo: Path) -> None:
    git(repo, "sparse-checkout", "set", "src")
    assert not (repo / "data").exists()
    write(repo, {"src/app.py": "dirty\n"})
    workspace = await make(include_dirty=True)
    assert (workspace.tree / "data" / "table.csv").exists()
    assert (workspace.tree / "src" / "app.py").read_text() == "dirty\n"


async def test_objects_that_the_repository_throws_away_are_not_missed(make: MakeWorkspace, repo: Path) -> None:
    write(repo, {"staged.txt": "only staged\n", "README.md": "dirty\n"})
    git(repo, "add", "-A")
    workspace = await make(include_dirty=True)
    git(repo, "reset", "-q", "--hard")
    write(repo, {"same.txt": "the agent writes this too\n"})
    git(repo, "hash-object", "-w", "same.txt")
    write(workspace.tree, {"same.txt": "the agent writes this too\n"})
    first = await workspace.book.snapshot()
    (repo / "same.txt").unlink()
    git(repo, "commit", "-q", "--amend", "-m", "another first commit")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    # Read by id, and before the next snapshot: git would take what is missing from the files, or record it again.
    changes = await workspace.book.changes(workspace.repository.head, first)
    found = {change.path: await workspace.book.blob(change.new_id) for change in changes}
    assert found == {
        "README.md": b"dirty\n",
        "same.txt": b"the agent writes this too\n",
        "staged.txt": b"only staged\n",
    }
    write(workspace.tree, {"more.txt": "x\n"})
    second = await workspace.book.snapshot()
    assert "+the agent writes this too" in await workspace.book.diff(workspace.start_tree, second)
    await workspace.book.reset_to(first)
    await workspace.book.reset_to(workspace.start_tree)
    assert (workspace.tree / "staged.txt").read_text() == "only staged\n"
    assert git(workspace.tree, "status", "--porcelain") == " M README.md\n?? staged.txt"
    done = await apply_change(workspace.book, workspace.repository, workspace.start_tree, second)
    assert done.ok


async def test_a_gc_while_a_run_is_alive_takes_nothing_from_it(make: MakeWorkspace, repo: Path) -> None:
    write(repo, {"big.py": "x = 1\n" * 100})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "second")
    workspace = await make()
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    assert git(workspace.tree, "log", "--oneline", "--format=%s") == "second\nfirst"
    assert git(workspace.tree, "show", "HEAD:big.py").startswith("x = 1")
    (workspace.tree / "big.py").unlink()
    await workspace.book.reset_to(workspace.start_tree)
    assert (workspace.tree / "big.py").exists()


WORKER = """
import asyncio, sys
from pathlib import Path
from runtime.workspace.clone import make_workspace
from runtime.workspace.repository import open_repository

async def main(repo, home, who):
    repository = await open_repository(Path(repo))
    names = [f"{who}{n}" for n in range(6)]
    made = await asyncio.gather(*(make_workspace(repository, Path(home) / n, n, include_dirty=True) for n in names))
    print(len({w.start_tree for w in made}))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_twelve_at_once_from_two_workers(repo: Path, home: Path) -> None:
    write(repo, {"README.md": "dirty\n"})
    for name in ("config.lock", "index.lock", "packed-refs.lock", "HEAD.lock"):
        (repo / ".git" / name).touch()
    before = fingerprint(repo)
    root = Path(clone.__file__).parents[2]
    command = [sys.executable, "-c", textwrap.dedent(WORKER), str(repo), str(home)]
    workers = [
        await asyncio.create_subprocess_exec(
            *command, who, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}
        )
        for who in ("a", "b")
    ]
    said = await asyncio.gather(*(worker.communicate() for worker in workers))
    assert [out.strip() for out, _ in said] == [b"1", b"1"]
    assert len(list(home.glob("*/tree/README.md"))) == 12
    after = fingerprint(repo)
    assert {name for name in after if name not in before} == {
        f".git/refs/looptop/{who}{n}" for who in "ab" for n in range(6)
    }
    assert {name: after[name] for name in before} == before


async def test_a_lock_that_stays_is_named_with_its_age(
    make: MakeWorkspace, repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.workspace.git.LOCK_WAIT_S", 0.0)
    lock = repo / ".git" / "refs" / "looptop" / "r1.lock"
    lock.parent.mkdir()
    lock.touch()
    then = time.time() - 4000
    os.utime(lock, (then, then))
    with pytest.raises(GitError, match=r"refs/looptop/r1\.lock \(40\d\d s old\); remove it"):
        await make()
    assert not (home / "workspaces" / "r1").exists()
    assert git(repo, "for-each-ref", "refs/looptop") == ""


async def test_a_lock_that_goes_is_waited_for(make: MakeWorkspace, repo: Path) -> None:
    lock = repo / ".git" / "refs" / "looptop" / "r1.lock"
    lock.parent.mkdir()
    lock.touch()
    asyncio.get_running_loop().call_later(0.1, lock.unlink)
    await make()
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/looptop") == "refs/looptop/r1"


@pytest.mark.parametrize("stage", ["own_git", "bring_submodules", "lend"])
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), GitError("broken"), asyncio.CancelledError()]
)
async def test_a_failed_creation_leaves_nothing(
    make: MakeWorkspace, repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch, stage: str, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    before = fingerprint(repo)
    monkeypatch.setattr(clone, stage, fail)
    with pytest.raises((EnvironmentFault, asyncio.CancelledError)):
        await make()
    assert list((home / "workspaces").iterdir()) == []
    assert fingerprint(repo) == before


async def test_work_that_is_kept_under_the_same_name_is_not_overwritten(
    make: MakeWorkspace, repo: Path, home: Path
) -> None:
    git(repo, "update-ref", "refs/looptop/r1", "HEAD")
    with pytest.raises(GitError, match="keeps work of a run r1 already"):
        await make()
    assert git(repo, "rev-parse", "refs/looptop/r1")
    assert not (home / "workspaces" / "r1").exists()


async def test_reset_gives_files_and_git_of_the_start(make: MakeWorkspace, repo: Path) -> None:
    write(repo, {"README.md": "dirty\n"})
    workspace = await make(include_dirty=True)
    tree = workspace.tree
    write(tree, {"new.txt": "n\n", "build/out.o": "o"})
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "the agent's")
    git(tree, "config", "core.fsmonitor", "touch /tmp/never")
    tried = await reset_workspace(workspace, keep_as="attempt-1")
    assert git(tree, "status", "--porcelain", "--branch") == "## looptop/r1\n M README.md"
    assert git(tree, "config", "--get", "core.fsmonitor", check=False) == ""
    assert git(tree, "rev-parse", "HEAD") == workspace.repository.head
    assert not (tree / "new.txt").exists()
    assert (tree / "build" / "out.o").exists()
    assert await workspace.book.tree_of("attempt-1") == tried
    assert [c.path for c in await workspace.book.changes(workspace.start_tree, tried)] == ["new.txt"]


async def test_a_workspace_is_found_again(make: MakeWorkspace, repo: Path) -> None:
    made = await make()
    git(repo, "commit", "-q", "--allow-empty", "-m", "later")
    again = await open_workspace(await open_repository(repo), made.folder, "r1")
    assert (again.start_tree, again.repository.head, again.branch) == (
        made.start_tree,
        made.repository.head,
        made.branch,
    )
    with pytest.raises(GitError, match="gone or isn't whole"):
        await open_workspace(made.repository, made.folder.with_name("other"), "other")


async def test_a_detached_head_a_subfolder_and_a_linked_work_tree(
    make: MakeWorkspace, repo: Path, tmp_path: Path
) -> None:
    git(repo, "checkout", "-q", "--detach")
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    write(tmp_path / "linked", {"only-there.txt": "x\n"})
    git(tmp_path / "linked", "add", "-A")
    git(tmp_path / "linked", "commit", "-qm", "on side")
    trees = git(repo, "worktree", "list")
    assert (await make("detached", root=repo / "src")).repository.root == repo
    workspace = await make("linked", root=tmp_path / "linked")
    assert (workspace.tree / "only-there.txt").exists()
    assert git(repo, "worktree", "list") == trees


async def test_a_shallow_clone(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    workspace = await make(root=tmp_path / "shallow")
    assert git(workspace.tree, "log", "--format=%s") == "second"
    assert git(workspace.tree, "fsck") == ""
    assert await workspace.book.snapshot() == workspace.start_tree


async def test_a_sha256_repository(make: MakeWorkspace, tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    make_repository(root, {"a.txt": "a\n"})
    workspace = await make(root=root)
    make_repository(workspace.tree / "nested", {"b.txt": "b\n"})
    changes = await workspace.book.changes(workspace.start_tree, await workspace.book.snapshot())
    assert [change.path for change in changes] == ["nested/b.txt"]


async def test_paths_that_git_lists_must_quote(tmp_path: Path, home: Path) -> None:
    root = make_repository(tmp_path / 'a:b "c"\n#d' / "p é", {"a.txt": "a\n"})
    repository = await open_repository(root)
    workspace = await make_workspace(repository, home / "w: x", "r1", include_dirty=True)
    assert git(workspace.tree, "status", "--porcelain") == ""
    write(workspace.tree, {"a.txt": "b\n"})
    assert "-a\n+b" in await workspace.book.diff(workspace.start_tree, await workspace.book.snapshot())


async def test_home_inside_the_repository_is_no_part_of_it(make: MakeWorkspace, repo: Path) -> None:
    repository = await open_repository(repo)
    first = await make_workspace(repository, repo / ".looptop" / "workspaces" / "a", "a", include_dirty=True)
    second = await make_workspace(repository, repo / ".looptop" / "workspaces" / "b", "b", include_dirty=True)
    assert first.start_tree == second.start_tree
    assert not (second.tree / ".looptop").exists()


async def test_submodules_come_along_where_they_are(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", {"i.py": "i = 1\n"})
    library = make_repository(tmp_path / "library", {"l.py": "l = 1\n"})
    git(library, "submodule", "add", "-q", str(inner), "inner")
    git(library, "commit", "-qm", "with inner")
    git(repo, "submodule", "add", "-q", str(library), "lib")
    git(repo, "submodule", "add", "-q", str(inner), "absent")
    git(repo, "submodule", "update", "-q", "--init", "--recursive", "lib")
    git(repo, "commit", "-qm", "with submodules")
    git(repo, "submodule", "deinit", "-q", "-f", "absent")
    workspace = await make()
    assert (workspace.tree / "lib" / "l.py").read_text() == "l = 1\n"
    assert (workspace.tree / "lib" / "inner" / "i.py").exists()
    assert [note for note in workspace.notes if "submodule" in note] == [
        "the submodule absent isn't checked out on this machine and is missing in the workspace"
    ]
    assert git(workspace.tree, "status", "--porcelain") == ""
    write(workspace.tree, {"lib/l.py": "l = 2\n", "lib/new.py": "n\n"})
    changes = await workspace.book.changes(workspace.start_tree, await workspace.book.snapshot())
    assert [(change.status, change.path) for change in changes] == [("M", "lib/l.py"), ("A", "lib/new.py")]
    write(repo, {"lib/l.py": "l = 'dirty'\n"})
    dirty = await make("r2", include_dirty=True)
    assert (dirty.tree / "lib" / "l.py").read_text() == "l = 'dirty'\n"


async def test_large_files_come_along_where_they_are(make: MakeWorkspace, tmp_path: Path) -> None:
    import hashlib

    content = b"real content" * 1000

    def pointer(data: bytes) -> bytes:
        return (
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(data).hexdigest()}\nsize {len(data)}\n"
        ).encode()

    root = make_repository(
        tmp_path / "p",
        {"m/.gitattributes": "*.bin filter=lfs\n", "m/here.bin": pointer(content), "m/away.bin": pointer(b"other")},
    )
    oid = hashlib.sha256(content).hexdigest()
    write(root / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4], {oid: content})
    workspace = await make(root=root)
    assert (workspace.tree / "m" / "here.bin").read_bytes() == content
    assert workspace.notes == ("1 large files (LFS) aren't on this machine; the workspace has their pointers",)
    assert await workspace.book.snapshot() == workspace.start_tree


async def test_what_cant_be_used_is_told_in_a_sentence(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    (tmp_path / "file").touch()
    cases: list[tuple[Path, type[Exception], str]] = [
        (tmp_path / "nowhere", UsageError, "There is no folder"),
        (tmp_path / "file", UsageError, "is not a folder"),
        (tmp_path / "plain", EnvironmentFault, "is not in a git repository"),
        (tmp_path / "empty", EnvironmentFault, "has no commit yet"),
        (tmp_path / "bare.git", EnvironmentFault, "is a bare repository"),
        (repo / ".git", EnvironmentFault, "inside a git folder"),
    ]
    for path, kind, words in cases:
        with pytest.raises(kind, match=words) as caught:
            await open_repository(path)
        assert "\n" not in str(caught.value)
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(EnvironmentFault, match=r"git was not found on PATH\. Install git 2\.32 or newer\."):
        await open_repository(repo)
    (tools / "git").write_text("#!/bin/sh\necho git version 2.17.1\n")
    (tools / "git").chmod(0o755)
    with pytest.raises(EnvironmentFault, match=r"git 2\.17\.1 is too old\. Install git 2\.32 or newer\."):
        await open_repository(repo)
