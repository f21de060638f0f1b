"""Nothing that exists nowhere else goes without the supervisor's word."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from runtime.errors import UsageError
from runtime.workspace.clone import Workspace
from runtime.workspace.deliver import apply_change, branch_change, keep_result
from runtime.workspace.discard import Holdings, discard_workspace, holdings, release_workspace
from support.git_fixtures import MakeWorkspace, git, make_repository, write


async def held(workspace: Workspace, *, ref_stays: bool = False) -> Holdings:
    return await holdings(workspace.repository, workspace.folder, workspace.run_id, ref_stays=ref_stays)


async def refuse(workspace: Workspace, words: str) -> None:
    """Discarding is refused with a list, and retention leaves it alone; both leave everything in place."""
    for ref_stays in (False, True):
        listed = await held(workspace, ref_stays=ref_stays)
        assert words in "; ".join(listed.listed())
    with pytest.raises(UsageError) as caught:
        await discard_workspace(workspace.repository, workspace.folder, workspace.run_id)
    assert words in str(caught.value)
    assert await release_workspace(workspace.repository, workspace.folder, workspace.run_id)
    assert workspace.tree.is_dir()
    assert git(workspace.repository.root, "rev-parse", "refs/looptop/r1")


async def test_an_unchanged_workspace_goes(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    write(workspace.tree, {"build/out.o": "ignored\n"})
    assert not await held(workspace)
    await discard_workspace(workspace.repository, workspace.folder, "r1")
    assert not workspace.folder.exists()
    assert git(repo, "for-each-ref", "refs/looptop") == ""


async def test_only_an_untracked_file(make: MakeWorkspace) -> None:
    workspace = await make()
    write(workspace.tree, {"untracked.txt": "x\n"})
    await refuse(workspace, "1 changed files: untracked.txt")


async def test_commits_that_exist_on_their_branch_alone(make: MakeWorkspace) -> None:
    workspace = await make()
    git(workspace.tree, "commit", "-q", "--allow-empty", "-m", "an idea")
    await refuse(workspace, "an idea")


async def test_a_detached_commit(make: MakeWorkspace) -> None:
    workspace = await make()
    git(workspace.tree, "checkout", "-q", "--detach")
    git(workspace.tree, "commit", "-q", "--allow-empty", "-m", "detached idea")
    git(workspace.tree, "checkout", "-q", "looptop/r1")
    git(workspace.tree, "pack-refs", "--all")
    await refuse(workspace, "detached idea")


async def test_a_commit_in_a_work_tree_of_the_workspace(make: MakeWorkspace, tmp_path: Path) -> None:
    workspace = await make()
    git(workspace.tree, "worktree", "add", "-q", "--detach", str(tmp_path / "elsewhere"))
    git(tmp_path / "elsewhere", "commit", "-q", "--allow-empty", "-m", "elsewhere an idea")
    await refuse(workspace, "elsewhere an idea")


async def test_a_branch_that_the_supervisor_deleted_is_no_work_of_the_run(make: MakeWorkspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side")
    git(repo, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(repo, "checkout", "-q", "main")
    workspace = await make()
    git(repo, "branch", "-D", "side")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    assert not await held(workspace)
    git(repo, "gc", "-q", "--prune=now")
    assert not await held(workspace)


async def test_a_live_process_inside(make: MakeWorkspace) -> None:
    workspace = await make()
    process = await asyncio.create_subprocess_exec("sleep", "60", cwd=workspace.tree / "src")
    try:
        await refuse(workspace, f"live processes: {process.pid}")
    finally:
        process.kill()
        await process.wait()
    assert not await held(workspace)


async def test_a_live_process_of_the_run_elsewhere(make: MakeWorkspace, tmp_path: Path) -> None:
    workspace = await make("r1")
    env = {**os.environ, "LOOPTOP_RUN": "r1"}
    process = await asyncio.create_subprocess_exec("sleep", "60", cwd=tmp_path, env=env)
    try:
        await refuse(workspace, f"live processes: {process.pid}")
    finally:
        process.kill()
        await process.wait()


async def test_a_submodule_clean_and_dirty(make: MakeWorkspace, repo: Path, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", {"l.py": "l = 1\n"})
    git(repo, "submodule", "add", "-q", str(library), "lib")
    git(repo, "commit", "-qm", "with a submodule")
    workspace = await make()
    assert not await held(workspace)
    write(workspace.tree, {"lib/new.py": "x\n"})
    await refuse(workspace, "lib/new.py")
    (workspace.tree / "lib" / "new.py").unlink()
    git(workspace.tree / "lib", "commit", "-q", "--allow-empty", "-m", "inside the submodule")
    await refuse(workspace, "inside the submodule")
    git(workspace.tree / "lib", "update-ref", "-d", "HEAD")
    shutil.rmtree(workspace.tree / "lib" / ".git" / "logs")
    assert not await held(workspace)
    await discard_workspace(workspace.repository, workspace.folder, "r1")
    assert not workspace.folder.exists()


@pytest.mark.parametrize("damage", ["book", "git", "objects"])
async def test_what_cant_be_found_out_is_kept(make: MakeWorkspace, damage: str) -> None:
    workspace = await make()
    if damage == "book":
        shutil.rmtree(workspace.book.folder)
    elif damage == "git":
        shutil.rmtree(workspace.tree / ".git")
    else:
        git(workspace.tree, "commit", "-q", "--allow-empty", "-m", "an idea")
        shutil.rmtree(workspace.tree / ".git" / "objects")
    await refuse(workspace, "")


async def test_no_program_of_the_workspaces_git_runs(make: MakeWorkspace, tmp_path: Path) -> None:
    workspace = await make()
    mark = tmp_path / "ran"
    git(workspace.tree, "commit", "-q", "--allow-empty", "-m", "an idea")
    for name, value in (
        ("core.fsmonitor", f"touch {mark}"),
        ("core.sshCommand", f"touch {mark}"),
        ("log.showSignature", "true"),
        ("gpg.program", f"touch {mark}"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.url", str(workspace.repository.root)),
        ("remote.evil.uploadpack", f"touch {mark};"),
    ):
        git(workspace.tree, "config", name, value)
    (workspace.tree / ".git" / "refs" / "heads" / "gone").write_text("1" * 40 + "\n")
    assert (await held(workspace)).listed()
    assert not mark.exists()


async def test_what_was_delivered_may_go(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    write(workspace.tree, {"README.md": "its\n", "new.txt": "x\n"})
    (workspace.tree / "data" / "table.csv").unlink()
    end = await workspace.book.snapshot()
    book, repository, start = workspace.book, workspace.repository, workspace.start_tree
    assert set((await held(workspace)).files) == {"README.md", "new.txt", "data/table.csv"}
    await apply_change(book, repository, start, end)
    assert not await held(workspace)
    git(repo, "reset", "-q", "--hard")
    (repo / "new.txt").unlink()
    assert (await held(workspace)).files
    await branch_change(book, repository, start, end, "fix", "Fix", workspace.folder)
    assert not await held(workspace)
    write(workspace.tree, {"README.md": "its, later\n"})
    assert (await held(workspace)).files


async def test_retention_takes_the_folder_of_a_result_that_is_kept(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    write(workspace.tree, {"README.md": "its\n"})
    await keep_result(workspace.book, workspace.repository, "r1", await workspace.book.snapshot(), "a result")
    assert (await held(workspace)).files == ("README.md",)
    write(workspace.tree, {"late.txt": "x\n"})
    assert await release_workspace(workspace.repository, workspace.folder, "r1")
    (workspace.tree / "late.txt").unlink()
    assert not await release_workspace(workspace.repository, workspace.folder, "r1")
    assert not workspace.folder.exists()
    assert git(repo, "show", "refs/looptop/r1:README.md") == "its"
    with pytest.raises(UsageError, match=r"1 changed files: README\.md"):
        await discard_workspace(workspace.repository, workspace.folder, "r1")
    await discard_workspace(workspace.repository, workspace.folder, "r1", agreed=True)
    assert git(repo, "for-each-ref", "refs/looptop") == ""


async def test_what_was_agreed_to_goes_whole_and_nothing_beside_it(make: MakeWorkspace, repo: Path) -> None:
    (repo / "build").mkdir()
    write(repo, {"build/kept.txt": "the supervisor's\n"})
    workspace = await make(share=("build",))
    other = await make("r2")
    write(workspace.tree, {"deep/er/x.txt": "x\n"})
    (workspace.tree / "deep" / "er").chmod(0o500)
    (workspace.tree / "out").symlink_to(repo)
    await discard_workspace(workspace.repository, workspace.folder, "r1", agreed=True)
    assert not workspace.folder.exists()
    assert (repo / "build" / "kept.txt").exists()
    assert other.tree.is_dir()
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/looptop") == "refs/looptop/r2"


async def test_another_workers_start_sweeps_nothing(make: MakeWorkspace) -> None:
    first = await make("r1")
    write(first.tree, {"untracked.txt": "x\n"})
    await make("r2")
    assert (first.tree / "untracked.txt").exists()
    assert first.book.folder.is_dir()


async def test_discarding_what_is_gone_is_no_error(make: MakeWorkspace) -> None:
    workspace = await make()
    for _ in range(2):
        await discard_workspace(workspace.repository, workspace.folder, "r1")


async def test_a_change_is_not_lost_with_a_branch_of_other_content(make: MakeWorkspace, repo: Path) -> None:
    workspace = await make()
    write(workspace.tree, {"README.md": "its\n"})
    (workspace.tree / "data" / "table.csv").unlink()
    git(repo, "checkout", "-q", "-b", "half")
    write(repo, {"README.md": "its\n"})
    git(repo, "commit", "-qam", "half of it")
    git(repo, "checkout", "-q", "main")
    assert (await held(workspace)).files == ("README.md", "data/table.csv")
    git(repo, "checkout", "-q", "half")
    git(repo, "rm", "-q", "data/table.csv")
    git(repo, "commit", "-qm", "the other half")
    git(repo, "checkout", "-q", "main")
    assert not await held(workspace)
