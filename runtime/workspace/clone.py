"""Make a run's workspace: a repository of its own that borrows the original's objects, on branch looptop/<run-id>.

It is put together by hand and not by `git clone`: no lock is taken in the repository, no remote leads back into it, and
its tags and branches are there to be read.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from runtime.errors import EnvironmentFault, GitError
from runtime.workspace.book import Book
from runtime.workspace.git import Git, git_version
from runtime.workspace.ignored import pattern_for
from runtime.workspace.lend import Lent, lend
from runtime.workspace.own_git import excludes_of, own_git
from runtime.workspace.repository import Repository
from runtime.workspace.submodules import bring_lfs, bring_submodules

BORROWED_REFS = "borrowed-refs"
"""File in a workspace's folder: the refs of the supervisor's that its git began with."""


def keep_ref(run_id: str) -> str:
    """The ref in the supervisor's repository that keeps a run's objects, and at its end its change."""
    return f"refs/looptop/{run_id}"


def start_subject(run_id: str) -> str:
    """The message of the commit that holds a run's first tree."""
    return f"start of {run_id}"


@dataclass(frozen=True, slots=True)
class Workspace:
    """A run's own files and how they began. `notes` are sentences for the supervisor."""

    run_id: str
    folder: Path
    """Everything of this workspace: files, book, scratch."""
    repository: Repository
    start_tree: str
    branch: str
    lent: Lent
    notes: tuple[str, ...] = ()

    @property
    def tree(self) -> Path:
        """The files."""
        return self.folder / "tree"

    @property
    def scratch(self) -> Path:
        """A private folder for temporary files."""
        return self.folder / "scratch"

    @property
    def book(self) -> Book:
        """The record of the files."""
        return book_of(self.folder, self.repository.objects)


def book_of(folder: Path, objects: Path) -> Book:
    """The book of a workspace folder."""
    return Book(folder / "book.git", folder / "tree", objects)


async def make_workspace(
    repository: Repository,
    folder: Path,
    run_id: str,
    *,
    include_dirty: bool = False,
    share: tuple[str, ...] = (),
    copy: tuple[str, ...] = (),
) -> Workspace:
    """Make the workspace of a run. Raises GitError or EnvironmentFault; what was begun is then removed again."""
    await git_version()
    if folder.exists():
        raise GitError(f"The workspace folder {folder} exists already.")
    if await repository.git().ask("rev-parse", "--verify", "-q", keep_ref(run_id)):
        raise GitError(f"{repository.root} keeps work of a run {run_id} already, under {keep_ref(run_id)}.")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for place in (folder, folder / "tree", folder / "scratch"):
            place.mkdir(mode=0o700)
        return await _fill(repository, folder, run_id, include_dirty, share, copy)
    except OSError as error:
        await _undo(repository, folder, run_id)
        raise EnvironmentFault(f"The workspace {folder} can't be made: {error.strerror or error}.") from error
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(_undo(repository, folder, run_id)))
        raise


async def _undo(repository: Repository, folder: Path, run_id: str) -> None:
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    # Only what was put there: a ref that holds anything else is somebody's work.
    await repository.git().ask("update-ref", "-d", keep_ref(run_id), repository.head)


async def _fill(
    repository: Repository,
    folder: Path,
    run_id: str,
    include_dirty: bool,
    share: tuple[str, ...],
    copy: tuple[str, ...],
) -> Workspace:
    tree, branch = folder / "tree", f"looptop/{run_id}"
    book = book_of(folder, repository.objects)
    shallow_file = repository.common / "shallow"
    shallow = shallow_file.read_bytes() if shallow_file.is_file() else None
    excludes = await excludes_of(repository, folder)
    await repository.git().run("update-ref", keep_ref(run_id), repository.head, "")
    await book.create(repository.object_format, excludes, shallow)
    await own_git(repository, tree, branch, excludes)
    shutil.copyfile(tree / ".git" / "packed-refs", folder / BORROWED_REFS)
    await Git(tree).run("reset", "-q", "--hard", repository.head, timeout_s=600)
    notes = [*await bring_submodules(repository, tree), *await bring_lfs(repository, tree)]
    base = await _take_dirty(repository, book) if include_dirty else repository.head
    await book.load(base)
    lent = await asyncio.to_thread(lend, repository.root, tree, share, copy)
    await book.exclude(lent.paths)
    (folder / "excludes").write_bytes((book.folder / "info" / "plain-exclude").read_bytes())
    _exclude_in(tree, lent.paths)
    start = await book.snapshot()
    commit = await book.keep("start", start, start_subject(run_id), (repository.head,))
    await book.git().run("update-ref", "refs/heads/start", commit)
    return Workspace(run_id, folder, repository, start, branch, lent, (*notes, *lent.notes))


async def open_workspace(repository: Repository, folder: Path, run_id: str, lent: Lent | None = None) -> Workspace:
    """A workspace that was made before, from what lies in its folder. Raises GitError where that isn't whole."""
    book = book_of(folder, repository.objects)
    start = await book.tree_of("start") if book.folder.is_dir() and book.tree.is_dir() else None
    if start is None:
        raise GitError(f"The workspace {folder} is gone or isn't whole.")
    base = await book.git().run("rev-parse", "refs/looptop/start^1")
    return Workspace(run_id, folder, replace(repository, head=base), start, f"looptop/{run_id}", lent or Lent())


async def reset_workspace(workspace: Workspace, keep_as: str = "") -> str:
    """Put files and git of a workspace back to the run's start; returns the tree that was there, kept as `keep_as` if named.

    What git ignores stays. The agent's own commits and branches go, what they changed is in the tree that is kept.
    """
    book = workspace.book
    tried = await book.snapshot()
    if keep_as:
        start = await book.git().run("rev-parse", "refs/looptop/start")
        await book.keep(keep_as, tried, f"{keep_as} of {workspace.run_id}", (start,))
    await book.write(workspace.start_tree)
    # Built beside the workspace and moved in: the git that the agent left behind is never asked.
    fresh = workspace.folder / "fresh-git"
    await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)
    fresh.mkdir()
    excludes = (workspace.folder / "excludes").read_text(encoding="utf-8", errors="surrogateescape")
    await own_git(workspace.repository, fresh, workspace.branch, excludes)
    await Git(fresh).run("read-tree", workspace.repository.head)
    shutil.copyfile(fresh / ".git" / "packed-refs", workspace.folder / BORROWED_REFS)
    await asyncio.to_thread(_replace_git, workspace.tree / ".git", fresh / ".git")
    fresh.rmdir()
    return tried


def _replace_git(old: Path, new: Path) -> None:
    if old.is_symlink() or old.is_file():
        old.unlink()
    else:
        shutil.rmtree(old, ignore_errors=True)
    new.rename(old)


async def _take_dirty(repository: Repository, book: Book) -> str:
    """Put the supervisor's uncommitted changes into the workspace: edited, new, deleted files; returns their tree.

    Their index stays untouched. What it has staged is known, ignored or not; what a sparse checkout leaves out isn't gone.
    """
    git, head = repository.git(), repository.head
    await book.load(head)
    added = await git.raw("diff-index", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=A", head, "--")
    await book.know(added)
    listed = (await git.raw("ls-files", "-z", "-v")).split(b"\0")
    await book.skip(b"".join(entry[2:] + b"\0" for entry in listed if entry[:1] in {b"S", b"s"}))
    dirty = await book.snapshot(repository.root)
    await book.load(repository.head)
    await book.snapshot()
    await book.write(dirty)
    return dirty


def _exclude_in(tree: Path, paths: tuple[str, ...]) -> None:
    with (tree / ".git" / "info" / "exclude").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"{pattern_for(path)}\n" for path in paths)
