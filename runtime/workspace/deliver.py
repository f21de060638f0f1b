"""Bring a run's change home: into the supervisor's tree by three-way merge, or as a branch. All or nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import UsageError
from runtime.text import one_line, storable
from runtime.workspace.book import Book
from runtime.workspace.clone import keep_ref, start_subject
from runtime.workspace.diff import ABSENT, GITLINK, FileChange
from runtime.workspace.git import Git
from runtime.workspace.merge import NOTHING, State, merge
from runtime.workspace.own_git import identity
from runtime.workspace.places import Write, safe, state_on_disk, write_all
from runtime.workspace.repository import Repository


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came of a delivery. With conflicts nothing was written."""

    ok: bool
    written: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a delivery would do: files to write, paths that have the change already, paths that conflict."""

    writes: tuple[Write, ...]
    already: tuple[str, ...]
    conflicts: tuple[str, ...]


async def _states(book: Book, change: FileChange) -> tuple[State, State]:
    old = State(change.old_mode, await book.blob(change.old_id))
    return old, State(change.new_mode, await book.blob(change.new_id))


async def plan_apply(book: Book, repository: Repository, start: str, end: str) -> Plan:
    """Merge the change between two trees with the supervisor's files, without writing anything."""
    writes, already, conflicts = [], [], []
    changes = await book.changes(start, end)
    gone = frozenset(change.path for change in changes if change.new_mode == ABSENT)
    for change in changes:
        present = state_on_disk(repository.root, change.path, gone) if _plain(change) else None
        merged = None
        if present is not None:
            old, new = await _states(book, change)
            merged = await merge(present, old, new, repository.git())
        if present is None or merged is None:
            conflicts.append(change.path)
        elif merged == present:
            already.append(change.path)
        else:
            writes.append(Write(change.path, present, merged))
    return Plan(tuple(writes), tuple(already), tuple(conflicts))


def _plain(change: FileChange) -> bool:
    return safe(change.path) and GITLINK not in {change.old_mode, change.new_mode}


async def apply_change(book: Book, repository: Repository, start: str, end: str) -> Delivered:
    """Put the change between two trees into the supervisor's tree. Their own changes stay; conflicts are told and nothing is written."""
    plan = await plan_apply(book, repository, start, end)
    if plan.conflicts:
        return Delivered(False, conflicts=_shown(plan.conflicts))
    write_all(repository.root, plan.writes)
    return Delivered(True, _shown(write.path for write in plan.writes), _shown(plan.already))


def _shown(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(one_line(path) for path in paths)


async def branch_change(
    book: Book,
    repository: Repository,
    start: str,
    end: str,
    name: str,
    message: str,
    folder: Path | None = None,
    *,
    base: str | None = None,
) -> Delivered:
    """Keep the change as a new branch: one commit on the run's base. Head, index and files of the supervisor stay as they are.

    `folder` is where the temporary index may lie (None: the system's place), `base` the run's base where the book doesn't
    know it. Raises UsageError for a name that is taken or isn't one.
    """
    git = repository.git()
    await check_new_branch(repository, name)
    base = base or await book.git().run("rev-parse", "refs/looptop/start^1")
    author, email = await identity(repository)
    env = {
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": author,
        "GIT_COMMITTER_EMAIL": email,
    }
    with tempfile.TemporaryDirectory(prefix="branch-", dir=folder if folder and folder.is_dir() else None) as place:
        # The book's objects aren't in sight: what git finds there it would not write here, and the book goes one day.
        target = Git(repository.root, index=Path(place) / "index", env=env)
        await target.run("read-tree", base)
        entries, conflicts = await _entries(book, target, base, await book.changes(start, end))
        if conflicts:
            return Delivered(False, conflicts=_shown(conflicts))
        await target.run("update-index", "-z", "--add", "--index-info", stdin=os.fsencode("".join(entries)))
        tree = await target.run("write-tree")
    commit = await target.run("commit-tree", tree, "-p", base, "-F", "-", stdin=storable(message).encode())
    await git.run("update-ref", f"refs/heads/{name}", commit, "")
    return Delivered(True, branch=name)


async def check_new_branch(repository: Repository, name: str) -> None:
    """Raise UsageError for a branch that is there already, or whose name git doesn't allow."""
    git = repository.git()
    if await git.ask("check-ref-format", "--branch", name) != name:
        raise UsageError(f"{one_line(name)!r} is not a name that git allows for a branch.")
    if await git.ask("rev-parse", "--verify", "-q", f"refs/heads/{name}"):
        raise UsageError(f"There is a branch {name} already.", "Give another name.")


async def _entries(book: Book, target: Git, base: str, changes: list[FileChange]) -> tuple[list[str], list[str]]:
    """Index lines that put the change on a commit, deletions first; and the paths that conflict with it."""
    listed = os.fsdecode(await target.raw("ls-tree", "-r", "-z", base)).split("\0")
    tracked = {path: head.split(" ") for head, _, path in (entry.partition("\t") for entry in listed) if path}
    links = tuple(f"{path}/" for path, head in tracked.items() if head[0] == GITLINK)
    gone, put, conflicts = [], [], []
    for change in changes:
        if not _plain(change) or change.path.startswith(links) or tracked.get(change.path, [""])[0] == GITLINK:
            conflicts.append(change.path)
            continue
        mode, _, object_id = tracked.get(change.path, [ABSENT, "", ""])
        present = State(mode, await target.raw("cat-file", "blob", object_id)) if object_id else NOTHING
        merged = await merge(present, *await _states(book, change), target)
        if merged is None:
            conflicts.append(change.path)
        elif merged.mode == ABSENT:
            gone.append(f"0 {change.old_id}\t{change.path}\0")
        else:
            object_id = await target.run("hash-object", "-w", "--stdin", stdin=merged.data)
            put.append(f"{merged.mode} {object_id}\t{change.path}\0")
    return gone + put, conflicts


async def keep_result(book: Book, repository: Repository, run_id: str, tree: str, message: str) -> str:
    """Keep the change in the supervisor's repository under refs/looptop/<run-id>, so that it outlives the workspace."""
    start = await book.git().run("rev-parse", "refs/looptop/start")
    commit = await book.keep("result", tree, message, (start,))
    wanted = f"{commit}\n^{start}^1\n".encode()
    packed = await book.git().raw("pack-objects", "--revs", "--stdout", "-q", stdin=wanted, timeout_s=600)
    await repository.git().raw("unpack-objects", "-q", stdin=packed, timeout_s=600)
    await repository.git().run("update-ref", keep_ref(run_id), commit)
    return keep_ref(run_id)


@dataclass(frozen=True, slots=True)
class Kept:
    """A finished run's change as the repository keeps it: where to read it, its first and last tree, and the run's base."""

    book: Book
    start: str
    end: str
    base: str


async def kept_change(repository: Repository, run_id: str) -> Kept | None:
    """The change that a run left in the repository, for when its workspace is gone. None where nothing was kept."""
    git, ref = repository.git(), keep_ref(run_id)
    # Before its end a run's ref is the base alone.
    subject = await git.ask("log", "-1", "--no-show-signature", "--format=%s", f"{ref}^1", "--")
    if subject != start_subject(run_id):
        return None
    ids = await git.run("rev-parse", f"{ref}^1^{{tree}}", f"{ref}^{{tree}}", f"{ref}^1^1")
    start, end, base = ids.split("\n")
    return Kept(Book(repository.common, repository.root, repository.objects), start, end, base)
