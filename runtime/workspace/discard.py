"""Remove a workspace, and before that say what would be lost with it. What can't be found out counts as a reason to keep."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import EnvironmentFault, LooptopError, UsageError
from runtime.process.tree import find_marked
from runtime.text import one_line
from runtime.workspace.clone import BORROWED_REFS, book_of, keep_ref
from runtime.workspace.deliver import Kept, kept_change, plan_apply
from runtime.workspace.git import Git
from runtime.workspace.repository import Repository

_ID = re.compile(rb"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a workspace holds that exists nowhere else. Any of it asks for the supervisor's word before it goes."""

    files: tuple[str, ...] = ()
    """Paths changed since the start that are neither in the supervisor's tree nor on a branch of theirs."""
    commits: tuple[str, ...] = ()
    """Commits made inside, reachable from a branch or not, one line each."""
    processes: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    """What could not be found out."""

    def __bool__(self) -> bool:
        return bool(self.files or self.commits or self.processes or self.unknown)

    def listed(self) -> tuple[str, ...]:
        """One line for each kind, for the supervisor to agree to."""
        lines = []
        for what, names in (("changed files", self.files), ("commits", self.commits)):
            if names:
                more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
                lines.append(f"{len(names)} {what}: {', '.join(names[:_SHOWN])}{more}")
        if self.processes:
            lines.append(f"live processes: {', '.join(map(str, self.processes))}")
        return (*lines, *self.unknown)


async def holdings(repository: Repository, folder: Path, run_id: str, *, ref_stays: bool = False) -> Holdings:
    """What would be lost with a workspace folder; with `ref_stays` the change that the repository keeps isn't."""
    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    unknown = []
    try:
        files = await _lost_files(repository, folder, run_id, ref_stays)
    except (LooptopError, OSError) as error:
        unknown.append(f"its changed files could not be read: {one_line(str(error), 300)}")
    if (folder / "tree").is_dir():
        try:
            commits = await _lost_commits(repository, folder)
        except (LooptopError, OSError) as error:
            unknown.append(f"its commits could not be read: {one_line(str(error), 300)}")
    processes = await asyncio.to_thread(_processes, folder, run_id)
    return Holdings(files, commits, processes, tuple(unknown))


async def _lost_files(repository: Repository, folder: Path, run_id: str, ref_stays: bool) -> tuple[str, ...]:
    kept = await kept_change(repository, run_id)
    if not folder.exists():
        if kept is None or ref_stays:
            return ()
    else:
        book = book_of(folder, repository.objects)
        start, now = await book.git().run("rev-parse", "refs/looptop/start^{tree}"), await book.snapshot()
        if ref_stays and kept is not None and kept.end == now:
            return ()
        kept = Kept(book, start, now, repository.head)
    changes = await kept.book.changes(kept.start, kept.end)
    if not changes or await _on_a_branch(repository, {(c.path, c.new_mode, c.new_id) for c in changes}):
        return ()
    plan = await plan_apply(kept.book, repository, kept.start, kept.end)
    return tuple(one_line(c.path) for c in changes if c.path not in plan.already)


async def _on_a_branch(repository: Repository, wanted: set[tuple[str, str, str]]) -> bool:
    """Whether one branch of the supervisor's has every changed path in its new state."""
    heads = await repository.git().run("for-each-ref", "--sort=-committerdate", "--format=%(objectname)", "refs/heads")
    for head in list(dict.fromkeys(heads.split()))[:50]:
        listed = os.fsdecode(await repository.git().raw("ls-tree", "-r", "-z", head)).split("\0")
        there = {path: tuple(entry.split(" ")) for entry, _, path in (line.partition("\t") for line in listed) if path}
        if all(there.get(path, ("000000", "", ""))[0::2] in {(mode, oid), (mode, "")} for path, mode, oid in wanted):
            return True
    return False


async def _lost_commits(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Commits of the workspace's own git, and of those inside it, that the repository doesn't have.

    Their configuration is the agent's: ids are read from their files, and looked at with the book's git.
    """
    book = book_of(folder, repository.objects)
    places = await asyncio.to_thread(_git_folders, folder / "tree")
    if folder / "tree" / ".git" not in places:
        return ("the workspace's own .git is gone or was replaced, and its commits with it",)
    theirs = (await repository.git().run("for-each-ref", "--format=%(objectname)")).split()
    began_with = await asyncio.to_thread(_ids_of, folder / BORROWED_REFS)
    known = {
        *theirs,
        *began_with,
        await book.git().run("rev-parse", "refs/looptop/start^1"),
        *await _linked(repository),
    }
    ids = {found for place in places for found in await asyncio.to_thread(_ids_in, place)} - known
    reader = Git(
        folder / "tree",
        git_dir=book.folder,
        borrow=(repository.objects, *(place / "objects" for place in places)),
    )
    checked = await reader.run("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in sorted(ids)).encode())
    # What is named but missing makes the listing fail, and so counts as unknown.
    commits = [line.split(" ")[0] for line in checked.splitlines() if not re.search(r" (blob|tree) \d+$", line)]
    if not commits:
        return ()
    known_here = await reader.run(
        "cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in sorted(known)).encode()
    )
    borders = [f"^{line.split(' ')[0]}" for line in known_here.splitlines() if " commit " in line or " tag " in line]
    asked = "".join(f"{line}\n" for line in [*commits, *borders]).encode()
    listed = await reader.run("log", "--format=%h %s", "--stdin", stdin=asked)
    return tuple(one_line(line, 100) for line in listed.splitlines())


async def _linked(repository: Repository) -> set[str]:
    """Commits of submodules that the repository points at."""
    listed = (await repository.git().raw("ls-tree", "-r", "-z", repository.head)).split(b"\0")
    return {line.split(b"\t")[0].split(b" ")[2].decode() for line in listed if line.startswith(b"160000 ")}


def _git_folders(tree: Path) -> list[Path]:
    """Folders named .git in a tree; a link or file of that name leads elsewhere, where nothing is removed."""
    found = []
    for place, folders, _ in os.walk(tree):
        if ".git" in folders:
            folders.remove(".git")
            if not Path(place, ".git").is_symlink():
                found.append(Path(place, ".git"))
    return found


def _ids_in(place: Path) -> set[str]:
    """Every object id that HEAD, refs and reflogs of a git folder name."""
    files = [place / name for name in ("HEAD", "ORIG_HEAD", "packed-refs", "FETCH_HEAD", "MERGE_HEAD")]
    for root in ("refs", "logs", "worktrees"):
        files += [Path(folder, name) for folder, _, names in os.walk(place / root) for name in names]
    return {oid for file in files for oid in _ids_of(file) if set(oid) != {"0"}}


def _ids_of(file: Path) -> set[str]:
    if not file.is_file() or file.is_symlink():
        return set()
    return {found.decode() for found in _ID.findall(file.read_bytes())}


def _processes(folder: Path, run_id: str) -> tuple[int, ...]:
    """Live processes of the run, or with their working folder inside the workspace."""
    import psutil

    found = set(find_marked(run_id))
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder.resolve()) and process.pid != os.getpid():
                found.add(process.pid)
        except (psutil.Error, OSError):
            continue
    return tuple(sorted(found))


async def discard_workspace(repository: Repository, folder: Path, run_id: str, *, agreed: bool = False) -> None:
    """Remove a run's workspace and its ref. Raises UsageError with a list where work would be lost and nobody agreed to that."""
    if not agreed:
        held = await holdings(repository, folder, run_id)
        if held:
            raise UsageError(
                f"Run {run_id} holds what exists nowhere else: {'; '.join(held.listed())}.",
                "Apply it, keep it as a branch, or discard it by force.",
            )
    await _remove(folder)
    await repository.git().run("update-ref", "-d", keep_ref(run_id))


async def release_workspace(repository: Repository, folder: Path, run_id: str) -> Holdings:
    """Remove a finished run's workspace folder if nothing is lost with it: what changed stays under the run's ref.

    Returns what stood against it; it is then still there. Only for the runs of one's own: another worker's may be at work.
    """
    held = await holdings(repository, folder, run_id, ref_stays=True)
    if not held:
        await _remove(folder)
    return held


async def _remove(folder: Path) -> None:
    """Remove a folder, also what was made read-only in it. Links are removed, never followed."""

    def remove() -> None:
        for place, folders, _ in os.walk(folder):
            for name in folders:
                path = Path(place, name)
                if not path.is_symlink() and not os.access(path, os.W_OK | os.X_OK):
                    path.chmod(0o700)
        shutil.rmtree(folder)

    try:
        if folder.exists():
            await asyncio.to_thread(remove)
    except OSError as error:
        raise EnvironmentFault(f"The workspace {folder} can't be removed: {error.strerror or error}.") from error
