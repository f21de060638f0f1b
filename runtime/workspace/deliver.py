"""Bring a run's change home: into the supervisor's tree by three-way merge, or as a branch; or remove it. All or nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import GitError, UsageError
from runtime.text import one_line
from runtime.workspace.book import Book, FileChange
from runtime.workspace.clone import identity, keep_ref
from runtime.workspace.git import Git
from runtime.workspace.repository import Repository

ABSENT = "000000"
LINK = "120000"
EXECUTABLE = "100755"
REGULAR = "100644"


@dataclass(frozen=True, slots=True)
class State:
    """A path at one moment: git's mode (zeros: absent) and its bytes (a link's target)."""

    mode: str
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came of a delivery. With conflicts nothing was written."""

    ok: bool
    written: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    branch: str | None = None


async def _states(book: Book, change: FileChange) -> tuple[State, State]:
    old = State(change.old_mode, await book.blob(change.old_id) if change.old_mode != "160000" else b"")
    new = State(change.new_mode, await book.blob(change.new_id) if change.new_mode != "160000" else b"")
    return old, new


async def _merge(present: State, old: State, new: State, git: Git) -> State | None:
    """The state that has both changes; None where they conflict."""
    if present in (new, old):
        return new
    texts = {REGULAR, EXECUTABLE}
    if not {present.mode, old.mode, new.mode} <= texts or b"\0" in present.data + old.data + new.data:
        return None
    with tempfile.TemporaryDirectory(prefix="looptop-merge-") as folder:
        names = []
        for name, state in (("present", present), ("old", old), ("new", new)):
            path = Path(folder) / name
            path.write_bytes(state.data)
            names.append(str(path))
        done = await git.call("merge-file", "-p", *names)
    if done.exit_code != 0:
        return None
    return State(new.mode if new.mode != old.mode else present.mode, done.stdout)


def _on_disk(root: Path, path: str) -> State | None:
    """The path in the supervisor's tree; None where something in its way is a link or a file in place of a folder."""
    target = root / path
    for parent in list(target.parents)[: len(Path(path).parts) - 1]:
        if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
            return None
    try:
        info = target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return State(ABSENT)
    if stat.S_ISLNK(info.st_mode):
        return State(LINK, os.fsencode(os.readlink(target)))
    if not stat.S_ISREG(info.st_mode):
        return None
    return State(EXECUTABLE if info.st_mode & 0o100 else REGULAR, target.read_bytes())


def _write(root: Path, path: str, state: State) -> None:
    target = root / path
    if state.mode == ABSENT:
        target.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            for parent in list(target.parents)[: len(Path(path).parts) - 1]:
                parent.rmdir()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if state.mode == LINK:
        target.unlink(missing_ok=True)
        target.symlink_to(os.fsdecode(state.data))
        return
    before = target.lstat().st_mode if target.is_file() and not target.is_symlink() else None
    handle, temporary = tempfile.mkstemp(prefix=".looptop-", dir=target.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(state.data)
    os.chmod(temporary, _mode(before, state.mode))
    os.replace(temporary, target)


def _mode(before: int | None, mode: str) -> int:
    """Permission bits: what the file had, with the executable bits that the change asks for."""
    bits = stat.S_IMODE(before) if before is not None else 0o644
    readers = (bits & 0o444) >> 2
    return bits | readers if mode == EXECUTABLE else bits & ~0o111


async def apply_change(book: Book, repository: Repository, start: str, end: str) -> Delivered:
    """Put the change between two trees into the supervisor's tree. Their own changes stay; conflicts are told and nothing is written."""
    plan: list[tuple[str, State, State]] = []
    already, conflicts = [], []
    git = repository.git()
    for change in await book.changes(start, end):
        old, new = await _states(book, change)
        present = _on_disk(repository.root, change.path)
        if present is None or "160000" in (change.old_mode, change.new_mode):
            conflicts.append(one_line(change.path))
            continue
        if present == new:
            already.append(one_line(change.path))
            continue
        merged = await _merge(present, old, new, git)
        if merged is None:
            conflicts.append(one_line(change.path))
        elif merged == present:
            already.append(one_line(change.path))
        else:
            plan.append((change.path, present, merged))
    if conflicts:
        return Delivered(False, conflicts=tuple(conflicts))
    _write_all(repository.root, plan)
    return Delivered(True, tuple(one_line(path) for path, _, _ in plan), tuple(already))


def _write_all(root: Path, plan: list[tuple[str, State, State]]) -> None:
    """Write every file, or put back what was written and raise GitError."""
    done: list[tuple[str, State]] = []
    try:
        # Deletions first: a file may have to make room for a folder.
        for path, present, merged in sorted(plan, key=lambda item: item[2].mode != ABSENT):
            done.append((path, present))
            _write(root, path, merged)
    except OSError as error:
        for path, present in reversed(done):
            with contextlib.suppress(OSError):
                _write(root, path, present)
        raise GitError(f"The change could not be written, nothing was changed: {error.strerror or error}.") from error


async def branch_change(
    book: Book, repository: Repository, start: str, end: str, name: str, message: str, folder: Path
) -> Delivered:
    """Keep the change as a new branch: one commit on the run's base. Head, index and files of the supervisor stay as they are."""
    git = repository.git()
    if await git.ask("check-ref-format", "--branch", name) is None:
        raise UsageError(f"{name!r} is not a name that git allows for a branch.")
    if await git.ask("rev-parse", "--verify", "-q", f"refs/heads/{name}"):
        raise UsageError(f"There is a branch {name} already.", "Give another name.")
    base = await book.git().run("rev-parse", "refs/looptop/start^1")
    author, email = await identity(repository)
    env = {
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": author,
        "GIT_COMMITTER_EMAIL": email,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(book.folder / "objects"),
    }
    target = Git(repository.root, index=folder / "branch.index", env=env)
    await target.run("read-tree", base)
    conflicts = []
    for change in await book.changes(start, end):
        old, new = await _states(book, change)
        present = await _in_commit(target, base, change.path)
        merged = await _merge(present, old, new, git)
        if merged is None:
            conflicts.append(one_line(change.path))
            continue
        await _stage(target, change.path, merged)
    if conflicts:
        return Delivered(False, conflicts=tuple(conflicts))
    tree = await target.run("write-tree")
    commit = await target.run("commit-tree", tree, "-p", base, "-m", message)
    await target.run("update-ref", f"refs/heads/{name}", commit, "")
    (folder / "branch.index").unlink(missing_ok=True)
    return Delivered(True, branch=name)


async def _in_commit(git: Git, base: str, path: str) -> State:
    listed = os.fsdecode(await git.raw("ls-tree", "-z", base, "--", path)).rstrip("\0")
    if not listed:
        return State(ABSENT)
    mode, _, object_id = listed.partition("\t")[0].split(" ")
    return State(mode, b"" if mode == "160000" else await git.raw("cat-file", "blob", object_id))


async def _stage(git: Git, path: str, state: State) -> None:
    if state.mode == ABSENT:
        await git.run("update-index", "--force-remove", "--", path)
        return
    object_id = await git.run("hash-object", "-w", "--stdin", stdin=state.data)
    entry = f"{state.mode} {object_id}\t{path}\0"
    await git.run("update-index", "-z", "--add", "--index-info", stdin=os.fsencode(entry))


async def keep_result(book: Book, repository: Repository, run_id: str, tree: str, message: str) -> str:
    """Keep the change in the supervisor's repository under refs/looptop/<run-id>, so that it outlives the workspace."""
    start = await book.git().run("rev-parse", "refs/looptop/start")
    await book.keep("result", tree, message, (start,))
    await repository.git().run(
        *("fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--no-recurse-submodules"),
        *(str(book.folder), f"+refs/looptop/result:{keep_ref(run_id)}"),
        timeout_s=600,
    )
    return keep_ref(run_id)


async def discard_workspace(repository: Repository, folder: Path, run_id: str) -> None:
    """Remove a run's workspace and its ref. The caller has the supervisor's word for it."""
    shutil.rmtree(folder, ignore_errors=True)
    await repository.git().ask("update-ref", "-d", keep_ref(run_id))
