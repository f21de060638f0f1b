"""Our own record of a workspace's files, in a git folder that the agent's git never touches.

Its trees hold the files' bytes exactly as they lie on disk: no filters, no line-ending conversion, no attributes of the project;
a repository inside the workspace (a submodule, or one that the agent began) is recorded by its files, not as a link.
What the agent does to its own .git (commits, rebases, a broken HEAD, hostile configuration) changes nothing here.

The repository's objects are borrowed for reading only. Whatever is recorded is written here in full, also where the
repository happens to have it: there it may be garbage, and gone tomorrow.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runtime.errors import GitError
from runtime.events.values import DiffStat
from runtime.text import decode, one_line, storable
from runtime.workspace.diff import (
    GITLINK,
    REGULAR,
    Change,
    ChangedFile,
    FileChange,
    parse_files,
    parse_raw,
    readable,
    stat_of,
)
from runtime.workspace.git import Git
from runtime.workspace.ignored import SECRET_PATTERNS, is_secret, pattern_for

_NO_ATTRIBUTES = "* -text !eol !filter !diff !merge -ident !working-tree-encoding\n"
IDENTITY = {
    "GIT_AUTHOR_NAME": "looptop",
    "GIT_AUTHOR_EMAIL": "looptop@localhost",
    "GIT_COMMITTER_NAME": "looptop",
    "GIT_COMMITTER_EMAIL": "looptop@localhost",
}
_SEED = ".looptop-seed"
_NESTING = 8
_STALE_LOCK_S = 900.0
_POLL_S = 0.02
_DIFF = ("diff-tree", "-r")


@dataclass(frozen=True, slots=True)
class Book:
    """The bookkeeping repository of one workspace."""

    folder: Path
    tree: Path
    repo_objects: Path

    def git(self) -> Git:
        """The door to the book with the workspace's files as work tree, for reading."""
        return Git(self.tree, git_dir=self.folder, env=IDENTITY, borrow=(self.repo_objects,))

    def _writer(self, work_tree: Path | None = None) -> Git:
        """The door for recording: it sees no borrowed objects, so that git writes what it would otherwise find there."""
        return Git(work_tree or self.tree, git_dir=self.folder, env=IDENTITY)

    async def create(self, object_format: str, excludes: str, shallow: bytes | None) -> None:
        """Make the folder; `excludes` are the ignore rules that hold beside the project's own."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        await Git(self.folder.parent).run(
            "init", "-q", "--bare", "--template=", f"--object-format={object_format}", str(self.folder)
        )
        info = self.folder / "info"
        info.mkdir(exist_ok=True)
        for name, text in (("exclude", excludes + SECRET_PATTERNS), ("plain-exclude", excludes)):
            (info / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        (info / "attributes").write_text(_NO_ATTRIBUTES)
        if shallow is not None:
            (self.folder / "shallow").write_bytes(shallow)

    async def exclude(self, paths: tuple[str, ...]) -> None:
        """Leave these paths out of every snapshot."""
        for name in ("exclude", "plain-exclude"):
            with (self.folder / "info" / name).open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(f"{pattern_for(path)}\n" for path in paths)

    async def snapshot(self, work_tree: Path | None = None) -> str:
        """Take every file that isn't ignored into a tree and return its id. Files known at the start stay, ignored or not."""
        async with self._alone():
            return await self._take(work_tree)

    async def _take(self, work_tree: Path | None = None) -> str:
        git = self._writer(work_tree)
        self._drop_stale_lock()
        await git.call("update-index", "-q", "--refresh", timeout_s=600)
        known = self._known_secrets()
        for _ in range(_NESTING):
            await self._enter_nested(git)
            await self._add(git)
            # A repository in the place of a file is seen only now that the file is out of the index.
            if not await self._drop(git, known):
                break
        return await git.run("write-tree", "--missing-ok")

    async def _add(self, git: Git) -> None:
        done = await git.call("add", "-A", "--ignore-errors", ".", timeout_s=600)
        # With 1 git has recorded all but what it could not read.
        if done.timed_out or done.exit_code not in {0, 1}:
            said = [line for line in decode(done.stderr).splitlines() if line.startswith(("error:", "fatal:"))]
            why = "it took longer than 600 s" if done.timed_out else one_line(said[0] if said else "no message", 300)
            raise GitError(f"The files of {git.work_tree} could not be recorded: {why}.")

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """One at a time, over all processes: a dashboard may ask for the difference while the run records it."""
        if self.tree.is_symlink():
            raise GitError(f"The workspace's folder {self.tree} was replaced by a link.")
        if not self.folder.is_dir():
            raise GitError(f"The record {self.folder} of the workspace is gone.")
        with (self.folder / "alone").open("ab") as file:
            # The end of another process's lock can't be awaited, only looked for.
            while not _locked(file):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_S)
            yield

    async def _enter_nested(self, git: Git) -> None:
        """Make git record the files of repositories inside the workspace.

        It would record a link in their place and run `git status` inside, under their own configuration. With an entry
        below their folder git takes it for an ordinary one; the entry itself is gone after the next `add`.
        """
        known: set[str] = set()
        for _ in range(_NESTING):
            listed = await git.raw("ls-files", "-z", "-o", "--exclude-standard", timeout_s=600)
            nested = {path for path in os.fsdecode(listed).split("\0") if path.endswith("/")} - known
            if not nested:
                return
            known |= nested
            await self.know(b"".join(os.fsencode(f"{path}{_SEED}\0") for path in sorted(nested)))

    async def _drop(self, git: Git, known: set[str]) -> bool:
        """Take links to other repositories out of the index, and files named like secrets that aren't known; whether there were links."""
        listed = os.fsdecode(await git.raw("ls-files", "-z", "-s")).split("\0")
        entries = [(entry[:6], entry.partition("\t")[2]) for entry in listed if entry]
        links = [path for mode, path in entries if mode == GITLINK]
        gone = links + [path for _, path in entries if path not in known and is_secret(path)]
        if gone:
            lines = "".join(f"{path}\0" for path in gone)
            await git.run("update-index", "--force-remove", "-z", "--stdin", stdin=os.fsencode(lines))
        return bool(links)

    def _known_secrets(self) -> set[str]:
        """Files named like secrets that the repository tracks: those are its own business."""
        try:
            return set(os.fsdecode((self.folder / "known").read_bytes()).split("\0"))
        except FileNotFoundError:
            return set()

    def _drop_stale_lock(self) -> None:
        """Remove the lock of a git that died with its machine: nobody else writes here, and no call lasts so long."""
        lock = self.folder / "index.lock"
        try:
            if time.time() - lock.stat().st_mtime > _STALE_LOCK_S:
                lock.unlink()
        except OSError:
            return

    async def withheld(self) -> tuple[str, ...]:
        """New files that the project doesn't ignore but the last snapshot lacks: they look like secrets, or can't be read."""
        listed = await self._writer().raw(
            *("ls-files", "-z", "-o", "--exclude-per-directory=.gitignore"),
            f"--exclude-from={self.folder / 'info' / 'plain-exclude'}",
        )
        paths = (path for path in os.fsdecode(listed).split("\0") if path and not path.endswith("/"))
        return tuple(one_line(path) for path in paths)

    async def load(self, tree_ish: str) -> None:
        """Start the index from a tree, so that its files are known."""
        await self.git().run("read-tree", tree_ish)
        listed = os.fsdecode(await self.git().raw("ls-files", "-z")).split("\0")
        known = {path for path in listed if is_secret(path)}
        (self.folder / "known").write_bytes(os.fsencode("\0".join(sorted(known))))
        await self._drop(self._writer(), known)

    async def know(self, paths: bytes) -> None:
        """Make new files known, ignored or not; paths ended by NUL. Their content is taken by the next snapshot."""
        git = self._writer()
        empty = os.fsencode(await git.run("hash-object", "--stdin"))
        entries = [b"%s %s\t%s\0" % (REGULAR.encode(), empty, path) for path in paths.split(b"\0") if path]
        await git.run("update-index", "-z", "--add", "--index-info", stdin=b"".join(entries))

    async def skip(self, paths: bytes) -> None:
        """Leave known files as they are, there or not; paths ended by NUL."""
        await self._writer().call("update-index", "-z", "--skip-worktree", "--stdin", stdin=paths)

    async def write(self, tree: str) -> None:
        """Put the files of a tree into the workspace; files of the index that it doesn't have are removed, ignored ones stay."""
        await self.git().run("read-tree", "--reset", "-u", tree, timeout_s=600)

    async def reset_to(self, tree: str) -> None:
        """Put the workspace's files back to a tree; ignored files stay."""
        async with self._alone():
            await self._take()
            await self.write(tree)

    async def keep(self, name: str, tree: str, message: str, parents: tuple[str, ...] = ()) -> str:
        """Keep a tree under a ref of the book as a commit; returns the commit."""
        args = [part for parent in parents for part in ("-p", parent)]
        text = storable(message).encode()
        commit = await self.git().run("commit-tree", tree, *args, "-F", "-", stdin=text)
        await self.git().run("update-ref", f"refs/looptop/{name}", commit)
        return commit

    async def tree_of(self, name: str) -> str | None:
        """The tree kept under a name, if there is one."""
        return await self.git().ask("rev-parse", "--verify", "-q", f"refs/looptop/{name}^{{tree}}")

    async def changes(self, old: str, new: str) -> list[FileChange]:
        """Changed paths between two trees, without rename detection."""
        return parse_raw(await self.git().raw(*_DIFF, "-z", "--no-renames", "--raw", "--full-index", old, new))

    async def change(self, old: str, new: str) -> Change:
        """The whole change between two trees, renames paired, for the reader."""
        files = await self._files(old, new)
        return Change(files, await self.diff(old, new), stat_of(files))

    async def _files(self, old: str, new: str) -> tuple[ChangedFile, ...]:
        raw = await self.git().raw(*_DIFF, "-M", "-z", "--raw", old, new)
        return parse_files(raw, await self.git().raw(*_DIFF, "-M", "-z", "--numstat", old, new))

    async def diff(self, old: str, new: str) -> str:
        """The unified difference of two trees, renames detected, made safe to show."""
        return readable(await self.git().raw(*_DIFF, "-p", "-M", old, new))

    async def patch(self, old: str, new: str) -> bytes:
        """The difference as a patch that `git apply` takes, binary files included; not safe to show."""
        return await self.git().raw(*_DIFF, "-p", "-M", "--binary", "--full-index", old, new)

    async def stat(self, old: str, new: str) -> DiffStat:
        """Files and lines changed between two trees."""
        return stat_of(await self._files(old, new))

    async def blob(self, object_id: str) -> bytes:
        """A file's bytes by its id; empty for no file."""
        if set(object_id) == {"0"}:
            return b""
        return await self.git().raw("cat-file", "blob", object_id)


def _locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A filesystem without locks: one dashboard alone is as safe.
        return True
    return True
