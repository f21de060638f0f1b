"""Make a run's workspace: a repository of its own that borrows the original's objects, on branch looptop/<run-id>.

It is put together by hand and not by `git clone`: no lock is taken in the repository, no remote leads back into it, and
its tags and branches are there to be read.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import EnvironmentFault, GitError
from runtime.workspace.book import IDENTITY, Book
from runtime.workspace.git import Git, git_version
from runtime.workspace.lend import Lent, lend
from runtime.workspace.repository import Repository
from runtime.workspace.submodules import bring_lfs, bring_submodules


def keep_ref(run_id: str) -> str:
    """The ref in the supervisor's repository that keeps a run's objects, and at its end its change."""
    return f"refs/looptop/{run_id}"


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
    try:
        (folder / "tree").mkdir(parents=True, mode=0o700)
        (folder / "scratch").mkdir(mode=0o700)
        return await _fill(repository, folder, run_id, include_dirty, share, copy)
    except OSError as error:
        await _undo(repository, folder, run_id)
        raise EnvironmentFault(f"The workspace {folder} can't be made: {error.strerror or error}.") from error
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(_undo(repository, folder, run_id)))
        raise


async def _undo(repository: Repository, folder: Path, run_id: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    await repository.git().ask("update-ref", "-d", keep_ref(run_id))


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
    excludes = await _excludes(repository)
    await repository.git().run("update-ref", keep_ref(run_id), repository.head)
    await book.create(repository.object_format, excludes, shallow)
    await _own_git(repository, tree, branch, shallow, excludes)
    notes: list[str] = []
    if include_dirty:
        await _take_dirty(repository, book)
    notes += await bring_submodules(repository, tree)
    notes += await bring_lfs(repository, tree)
    await book.load(repository.head)
    start = await book.snapshot()
    lent = lend(repository.root, tree, share, copy)
    await book.exclude(lent.paths)
    _exclude_in(tree, lent.paths)
    commit = await book.keep("start", start, f"start of {run_id}", (repository.head,))
    await book.git().run("update-ref", "refs/heads/start", commit)
    return Workspace(run_id, folder, repository, start, branch, lent, (*notes, *lent.notes))


async def _excludes(repository: Repository) -> str:
    """Ignore rules that are not in the work tree: the repository's own and the supervisor's global ones."""
    files = (repository.common / "info" / "exclude", await _global_excludes(repository))
    found = [path.read_text(encoding="utf-8", errors="surrogateescape") for path in files if path and path.is_file()]
    return "\n".join(found) + "\n"


async def _global_excludes(repository: Repository) -> Path | None:
    home = Path(os.environ.get("HOME", "/nonexistent"))
    asked = Git(repository.root, env={"GIT_CONFIG_GLOBAL": str(home / ".gitconfig")})
    named = await asked.ask("config", "--path", "core.excludesFile")
    if named:
        return Path(named)
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "git" / "ignore"


async def _own_git(repository: Repository, tree: Path, branch: str, shallow: bytes | None, excludes: str) -> None:
    """The workspace's own .git, with the original's objects borrowed and its branches and tags in sight."""
    git = Git(tree)
    await git.run("init", "-q", "--template=", f"--object-format={repository.object_format}", "-b", branch)
    own = tree / ".git"
    (own / "objects" / "info").mkdir(parents=True, exist_ok=True)
    (own / "objects" / "info" / "alternates").write_text(f"{repository.objects}\n")
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "exclude").write_text(excludes, encoding="utf-8", errors="surrogateescape")
    if shallow is not None:
        (own / "shallow").write_bytes(shallow)
    refs = await repository.git().run(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"
    )
    lines = [f"create refs/heads/{branch} {repository.head}"]
    for line in refs.splitlines():
        object_id, _, name = line.partition(" ")
        if name.startswith("refs/heads/"):
            name = f"refs/remotes/origin/{name.removeprefix('refs/heads/')}"
        elif name.startswith("refs/remotes/"):
            continue
        lines.append(f"create {name} {object_id}")
    await git.run("update-ref", "--stdin", stdin=os.fsencode("\n".join(lines) + "\n"))
    await git.run("reset", "-q", "--hard", repository.head, timeout_s=600)
    name, email = await identity(repository)
    await git.run("config", "user.name", name)
    await git.run("config", "user.email", email)


async def identity(repository: Repository) -> tuple[str, str]:
    """The supervisor's name and address for commits, or looptop's where there are none."""
    home = os.environ.get("HOME", "/nonexistent")
    asked = Git(repository.root, env={"GIT_CONFIG_GLOBAL": str(Path(home) / ".gitconfig")})
    name = await asked.ask("config", "user.name")
    email = await asked.ask("config", "user.email")
    return name or IDENTITY["GIT_AUTHOR_NAME"], email or IDENTITY["GIT_AUTHOR_EMAIL"]


async def _take_dirty(repository: Repository, book: Book) -> None:
    """Put the supervisor's uncommitted changes into the workspace: edited, new, deleted files; their index stays untouched."""
    await book.load(repository.head)
    dirty = await book.snapshot(repository.root)
    await book.load(repository.head)
    await book.snapshot()
    await book.git().run("read-tree", "--reset", "-u", dirty, timeout_s=600)


def _exclude_in(tree: Path, paths: tuple[str, ...]) -> None:
    with (tree / ".git" / "info" / "exclude").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"/{path.strip('/')}\n" for path in paths)
