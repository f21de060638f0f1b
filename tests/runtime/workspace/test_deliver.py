"""Delivery: exactly the change, beside the supervisor's own work, all of it or nothing."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from runtime.errors import GitError, UsageError
from runtime.workspace import places
from runtime.workspace.clone import Workspace
from runtime.workspace.deliver import Delivered, apply_change, branch_change, keep_result, kept_change, plan_apply
from support.git_fixtures import MakeWorkspace, fingerprint, git, make_repository, write

BINARY = bytes(range(256)) * 20


def change_everything(tree: Path) -> None:
    write(tree, {"new.py": "print('new')\n", "empty.txt": "", "pic.bin": BINARY, "deep/er/x.txt": "x\n"})
    write(tree, {".env": "TOKEN=secret\n", "README.md": "# Project\nmore\n", "build/out.o": "x"})
    (tree / "data" / "table.csv").unlink()
    (tree / "src" / "util.py").rename(tree / "src" / "helpers.py")
    (tree / "src" / "app.py").chmod(0o755)
    (tree / "link").symlink_to("src/app.py")


async def apply(workspace: Workspace) -> Delivered:
    end = await workspace.book.snapshot()
    return await apply_change(workspace.book, workspace.repository, workspace.start_tree, end)


async def branch(workspace: Workspace, name: str = "fix", message: str = "Fix it") -> Delivered:
    end = await workspace.book.snapshot()
    book, start = workspace.book, workspace.start_tree
    return await branch_change(book, workspace.repository, start, end, name, message, workspace.folder)


async def test_apply_changes_what_the_difference_shows(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "user" / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n[diff]\n\tnoprefix = true\n\texternal = false\n[color]\n\tui = always\n"
    )
    write(repo, {"src/util.py.orig": "the supervisor's\n", "notes.txt": "the supervisor's\n"})
    (repo / ".gitignore").write_text("build/\n*.log\n# mine\n")
    index = (repo / ".git" / "index").read_bytes()
    workspace = await make()
    change_everything(workspace.tree)
    book = workspace.book
    shown = await book.change(workspace.start_tree, await book.snapshot())
    done = await apply(workspace)
    assert done.ok
    paths = {file.path for file in shown.files} | {file.old_path for file in shown.files if file.old_path}
    assert set(done.written) == paths
    assert (repo / "pic.bin").read_bytes() == BINARY
    assert (repo / "empty.txt").read_bytes() == b""
    assert os.readlink(repo / "link") == "src/app.py"
    assert stat.S_IMODE((repo / "src" / "app.py").stat().st_mode) & 0o111 == 0o111
    assert not (repo / "data").exists()
    assert not (repo / ".env").exists()
    assert not (repo / "build").exists()
    assert (repo / ".gitignore").read_text().endswith("# mine\n")
    assert (repo / "notes.txt").read_text() == "the supervisor's\n"
    assert (repo / ".git" / "index").read_bytes() == index
    status = set(git(repo, "-c", "status.renames=false", "status", "--porcelain", "-uall").splitlines())
    assert {line[3:] for line in status} == paths | {".gitignore", "notes.txt", "src/util.py.orig"}
    assert not [name for name in fingerprint(repo) if ".looptop-" in name]


async def test_apply_again_says_that_it_is_there(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    change_everything(workspace.tree)
    first = await apply(workspace)
    before = fingerprint(repo)
    again = await apply(workspace)
    assert again.ok
    assert again.written == ()
    assert set(again.already) == set(first.written)
    assert fingerprint(repo) == before


async def test_what_is_there_beside_later_edits_is_there(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    util = (repo / "src" / "util.py").read_text()
    write(workspace.tree, {"src/util.py": util.replace("line 30\n", "line thirty\n")})
    assert (await apply(workspace)).written == ("src/util.py",)
    both = util.replace("line 30\n", "line thirty\n").replace("line 3\n", "line three\n")
    write(repo, {"src/util.py": both})
    assert await apply(workspace) == Delivered(True, already=("src/util.py",))
    assert (repo / "src" / "util.py").read_text() == both


async def test_changes_elsewhere_in_the_same_file_are_merged(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    util = (repo / "src" / "util.py").read_text()
    write(repo, {"src/util.py": util.replace("line 3\n", "line three\n")})
    write(workspace.tree, {"src/util.py": util.replace("line 30\n", "line thirty\n")})
    assert (await apply(workspace)).ok
    assert (repo / "src" / "util.py").read_text() == util.replace("line 3\n", "line three\n").replace(
        "line 30\n", "line thirty\n"
    )


@pytest.mark.parametrize(
    ("theirs", "ours", "path"),
    [
        ({"README.md": "mine\n"}, {"README.md": "its\n"}, "README.md"),
        ({"new.txt": "in the way\n"}, {"new.txt": "its\n"}, "new.txt"),
        ({"build/x": "ignored, in the way\n"}, {}, "build/x"),
        ({"data.bin": b"\0mine"}, {"data.bin": b"\0its"}, "data.bin"),
        ({"new": "a file\n"}, {"new/deep.txt": "its\n"}, "new/deep.txt"),
        ({"new/deep.txt": "mine\n"}, {"new": "a file\n"}, "new"),
    ],
    ids=["edited", "untracked", "ignored", "binary", "file-for-folder", "folder-for-file"],
)
async def test_conflicts_are_told_and_nothing_is_written(
    make: MakeWorkspace, repo: Path, theirs: dict[str, str | bytes], ours: dict[str, str | bytes], path: str
) -> None:
    workspace = await make()
    write(repo, theirs)
    write(workspace.tree, {"src/app.py": "fine\n", **ours})
    if not ours:
        (workspace.tree / ".gitignore").write_text("")
        write(workspace.tree, {"build/x": "its\n"})
    before = fingerprint(repo)
    done = await apply(workspace)
    assert not done.ok
    assert done.conflicts == (path,)
    assert fingerprint(repo) == before


async def test_a_deleted_or_edited_file_against_its_opposite_conflicts(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    (repo / "README.md").unlink()
    write(repo, {"data/table.csv": "mine\n"})
    write(workspace.tree, {"README.md": "its\n"})
    (workspace.tree / "data" / "table.csv").unlink()
    done = await apply(workspace)
    assert done.conflicts == ("README.md", "data/table.csv")


async def test_a_folder_link_in_the_way_is_not_followed(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    workspace = await make()
    outside = tmp_path / "outside"
    shutil.move(repo / "data", outside)
    (repo / "data").symlink_to(outside)
    write(workspace.tree, {"data/table.csv": "its\n"})
    assert (await apply(workspace)).conflicts == ("data/table.csv",)
    assert (outside / "table.csv").read_text() == "a,b\n1,2\n"


async def test_a_file_becomes_a_folder_and_a_folder_a_file(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    tree = workspace.tree
    (tree / "README.md").unlink()
    write(tree, {"README.md/part.md": "p\n"})
    shutil.rmtree(tree / "data")
    write(tree, {"data": "now a file\n"})
    done = await apply(workspace)
    assert done.ok
    assert (repo / "README.md" / "part.md").read_text() == "p\n"
    assert (repo / "data").read_text() == "now a file\n"
    assert (await branch(workspace)).ok
    assert git(repo, "show", "fix:data") == "now a file"
    assert git(repo, "show", "fix:README.md/part.md") == "p"


async def test_a_failure_in_the_middle_puts_everything_back(
    make: MakeWorkspace, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await make()
    change_everything(workspace.tree)
    before = fingerprint(repo)
    real, calls = places._put, []

    def put(root: Path, path: str, state: object) -> None:
        calls.append(path)
        if len(calls) == 6:
            raise OSError(28, "No space left on device")
        real(root, path, state)  # type: ignore[arg-type]

    monkeypatch.setattr(places, "_put", put)
    with pytest.raises(GitError, match="nothing was changed: No space left on device"):
        await apply(workspace)
    assert len(calls) > 6
    assert fingerprint(repo) == before


async def test_a_file_that_changes_after_the_plan_stops_it(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    write(workspace.tree, {"README.md": "its\n", "src/app.py": "its\n"})
    end = await workspace.book.snapshot()
    plan = await plan_apply(workspace.book, workspace.repository, workspace.start_tree, end)
    write(repo, {"src/app.py": "saved just now\n"})
    before = fingerprint(repo)
    with pytest.raises(GitError, match=r"nothing was changed: src/app\.py was changed meanwhile"):
        places.write_all(repo, plan.writes)
    assert fingerprint(repo) == before


async def test_modes_that_git_doesnt_know_stay(make: MakeWorkspace, repo: Path) -> None:
    (repo / "README.md").chmod(0o600)
    (repo / "src" / "app.py").chmod(0o640)
    workspace = await make()
    write(workspace.tree, {"README.md": "its\n"})
    (workspace.tree / "src" / "app.py").chmod(0o755)
    assert (await apply(workspace)).ok
    assert stat.S_IMODE((repo / "README.md").stat().st_mode) == 0o600
    assert stat.S_IMODE((repo / "src" / "app.py").stat().st_mode) == 0o750


async def test_a_checkout_with_other_line_ends_keeps_them(make: MakeWorkspace, repo: Path) -> None:
    for name in ("README.md", "src/util.py", "data/table.csv"):
        path = repo / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    workspace = await make()
    util = (workspace.tree / "src" / "util.py").read_text()
    write(workspace.tree, {"src/util.py": util.replace("line 30\n", "line thirty\n"), "README.md": "one\ntwo"})
    (workspace.tree / "data" / "table.csv").unlink()
    assert (await apply(workspace)).ok
    assert (repo / "src" / "util.py").read_bytes() == util.replace("30\n", "thirty\n").replace("\n", "\r\n").encode()
    assert (repo / "README.md").read_bytes() == b"one\r\ntwo"
    assert not (repo / "data" / "table.csv").exists()


async def test_a_branch_has_the_commits_line_ends(make: MakeWorkspace, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "p", {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\ntwo\nthree\n"})
    workspace = await make(root=root)
    write(workspace.tree, {"a.txt": "one\r\nTWO\r\nthree\r\n"})
    assert (await branch(workspace)).ok
    assert git(root, "diff", "--numstat", "main", "fix") == "1\t1\ta.txt"


async def test_a_branch_is_one_commit_on_the_base_and_nothing_else_moves(make: MakeWorkspace, repo: Path) -> None:
    git(repo, "config", "user.name", "Grace Hopper")
    git(repo, "config", "user.email", "grace@example.org")
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.program", "false")
    write(repo, {"notes.txt": "the supervisor's\n", "README.md": "# Project\n\nmine\n"})
    workspace = await make(include_dirty=True)
    base = git(repo, "rev-parse", "HEAD")
    git(repo, "commit", "-q", "--no-gpg-sign", "--allow-empty", "-m", "meanwhile")
    before = fingerprint(repo)
    (workspace.tree / "src" / "app.py").write_text("def one():\n    return 2\n")
    write(workspace.tree, {"-dash": "x\n", "pic.bin": BINARY, "new\nline": "y\n"})
    (workspace.tree / "data" / "table.csv").unlink()
    done = await branch(workspace, "fix/one", "-F /etc/passwd\n\nBody with a lone \ud800 and a \0")
    assert done == Delivered(True, branch="fix/one")
    after = fingerprint(repo)
    assert {name for name in after if after[name] != before.get(name)} <= {
        ".git/refs/heads/fix/one",
        ".git/logs/refs/heads/fix/one",
    }
    assert git(repo, "rev-parse", "fix/one^") == base
    assert (
        git(repo, "log", "-1", "--format=%an <%ae> %s", "fix/one") == "Grace Hopper <grace@example.org> -F /etc/passwd"
    )
    listed = git(repo, "diff-tree", "-r", "--name-status", "-z", base, "fix/one").split("\0")
    assert dict(zip(listed[1::2], listed[0::2], strict=False)) == {
        "src/app.py": "M",
        "-dash": "A",
        "pic.bin": "A",
        "new\nline": "A",
        "data/table.csv": "D",
    }
    shutil.rmtree(workspace.folder)
    git(repo, "update-ref", "-d", "refs/looptop/r1")
    git(repo, "gc", "-q", "--prune=now")
    assert git(repo, "fsck", "--full") == ""


@pytest.mark.parametrize("name", ["main", "a..b", "-x", "@{-1}", "", "HEAD", "a b", "x.lock", "refs/\x1b[2J"])
async def test_a_branch_name_that_is_taken_or_none_is_refused(make: MakeWorkspace, repo: Path, name: str) -> None:
    workspace = await make()
    write(workspace.tree, {"new.txt": "x\n"})
    before = git(repo, "for-each-ref")
    with pytest.raises(UsageError) as caught:
        await branch(workspace, name)
    assert "\x1b" not in str(caught.value)
    assert git(repo, "for-each-ref") == before


async def test_a_name_below_another_branch_fails_at_once(make: MakeWorkspace) -> None:
    workspace = await make()
    write(workspace.tree, {"new.txt": "x\n"})
    with pytest.raises(GitError, match="'refs/heads/main' exists"):
        await branch(workspace, "main/fix")


async def test_a_branch_conflicts_where_the_change_stands_on_uncommitted_work(make: MakeWorkspace, repo: Path) -> None:
    write(repo, {"README.md": "mine\n"})
    workspace = await make(include_dirty=True)
    write(workspace.tree, {"README.md": "mine and its\n"})
    done = await branch(workspace)
    assert not done.ok
    assert done.conflicts == ("README.md",)
    assert git(repo, "branch", "--list", "fix") == ""
    assert (await apply(workspace)).ok


async def test_a_change_inside_a_submodule_applies_but_makes_no_branch(
    make: MakeWorkspace, repo: Path, tmp_path: Path
) -> None:
    library = make_repository(tmp_path / "library", {"l.py": "l = 1\n"})
    git(repo, "submodule", "add", "-q", str(library), "lib")
    git(repo, "commit", "-qm", "with a submodule")
    workspace = await make()
    write(workspace.tree, {"lib/l.py": "l = 2\n", "lib/new.py": "n\n"})
    assert (await branch(workspace)).conflicts == ("lib/l.py", "lib/new.py")
    assert (await apply(workspace)).ok
    assert (repo / "lib" / "l.py").read_text() == "l = 2\n"


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "../x", "/etc/x", "sub/.GIT/config", "a/../../x"])
def test_no_path_leads_out_or_into_git(path: str) -> None:
    assert not places.safe(path)


async def test_the_result_outlives_the_workspace(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    write(repo, {"notes.txt": "mine\n"})
    workspace = await make(include_dirty=True)
    (repo / "notes.txt").unlink()
    assert await kept_change(workspace.repository, "r1") is None
    change_everything(workspace.tree)
    end = await workspace.book.snapshot()
    before = fingerprint(repo)
    for _ in range(2):
        assert await keep_result(workspace.book, workspace.repository, "r1", end, "a result") == "refs/looptop/r1"
    assert {name for name, data in fingerprint(repo).items() if before.get(name) != data} == {".git/refs/looptop/r1"}
    shutil.rmtree(workspace.folder)
    git(repo, "gc", "-q", "--prune=now")
    assert git(repo, "fsck", "--full") == ""
    kept = await kept_change(workspace.repository, "r1")
    assert kept is not None
    assert "+more" in await kept.book.diff(kept.start, kept.end)
    assert await kept_change(workspace.repository, "r2") is None
    repository = workspace.repository
    done = await branch_change(kept.book, repository, kept.start, kept.end, "fix", "Fix", base=kept.base)
    assert done.ok
    assert git(repo, "rev-parse", "fix^") == repository.head
    assert (await apply_change(kept.book, repository, kept.start, kept.end)).ok
    assert (repo / "pic.bin").read_bytes() == BINARY
    assert not (repo / "notes.txt").exists()


async def test_the_result_of_a_shallow_clone_is_kept(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    workspace = await make(root=tmp_path / "shallow")
    change_everything(workspace.tree)
    await keep_result(workspace.book, workspace.repository, "r1", await workspace.book.snapshot(), "a result")
    assert (await branch(workspace)).ok
    shutil.rmtree(workspace.folder)
    assert git(tmp_path / "shallow", "fsck", "--full") == ""
    assert git(tmp_path / "shallow", "log", "--format=%s", "fix") == "Fix it\nsecond"
