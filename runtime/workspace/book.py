"""Our own record of a workspace's files, in a git folder that the agent's git never touches.

Its trees hold the files' bytes exactly as they lie on disk: no filters, no line-ending conversion, no attributes of the project.
What the agent does to its own .git (commits, rebases, a broken HEAD, hostile configuration) changes nothing here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import GitError
from runtime.events.values import DiffStat
from runtime.text import plain
from runtime.workspace.git import Git

SECRET_FILES = ".env\n.env.*\n!.env.example\n!.env.sample\n!.env.template\n!.env.test\n*.pem\n*.key\n*.p12\nid_rsa\nid_ed25519\n.netrc\n"
_NO_ATTRIBUTES = "* -text !eol !filter !diff !merge -ident !working-tree-encoding\n"
IDENTITY = {
    "GIT_AUTHOR_NAME": "looptop",
    "GIT_AUTHOR_EMAIL": "looptop@localhost",
    "GIT_COMMITTER_NAME": "looptop",
    "GIT_COMMITTER_EMAIL": "looptop@localhost",
}


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed path between two trees. Modes as git writes them; an id of zeros is no file."""

    status: str
    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str


@dataclass(frozen=True, slots=True)
class Book:
    """The bookkeeping repository of one workspace."""

    folder: Path
    tree: Path
    repo_objects: Path

    def git(self) -> Git:
        """The door to the book with the workspace's files as work tree."""
        return Git(self.tree, git_dir=self.folder, env=IDENTITY)

    async def create(self, object_format: str, excludes: str, shallow: bytes | None) -> None:
        """Make the folder; `excludes` are the ignore rules that hold beside the project's own."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        await Git(self.folder.parent).run(
            "init", "-q", "--bare", "--template=", f"--object-format={object_format}", str(self.folder)
        )
        info = self.folder / "info"
        info.mkdir(exist_ok=True)
        (info / "exclude").write_text(excludes + SECRET_FILES, encoding="utf-8", errors="surrogateescape")
        (info / "attributes").write_text(_NO_ATTRIBUTES)
        (self.folder / "objects" / "info").mkdir(exist_ok=True)
        (self.folder / "objects" / "info" / "alternates").write_text(f"{self.repo_objects}\n")
        if shallow is not None:
            (self.folder / "shallow").write_bytes(shallow)

    async def exclude(self, paths: tuple[str, ...]) -> None:
        """Leave these paths out of every snapshot."""
        with (self.folder / "info" / "exclude").open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"/{path.strip('/')}\n" for path in paths)

    async def snapshot(self, work_tree: Path | None = None) -> str:
        """Take every file that isn't ignored into a tree and return its id. Files known at the start stay, ignored or not."""
        git = Git(work_tree or self.tree, git_dir=self.folder, env=IDENTITY)
        done = await git.call("add", "-A", "--ignore-errors", ".", timeout_s=600)
        if done.timed_out or (done.exit_code != 0 and not await self._index_usable(git)):
            raise GitError(
                f"The files of {git.work_tree} could not be recorded: {plain(done.stderr.decode(errors='replace'))[:300]}"
            )
        return await git.run("write-tree")

    async def _index_usable(self, git: Git) -> bool:
        return await git.ask("write-tree") is not None

    async def load(self, tree_ish: str) -> None:
        """Start the index from a tree, so that its files are known."""
        await self.git().run("read-tree", tree_ish)

    async def reset_to(self, tree: str) -> None:
        """Put the workspace's files back to a tree; ignored files stay."""
        await self.snapshot()
        await self.git().run("read-tree", "--reset", "-u", tree, timeout_s=600)

    async def keep(self, name: str, tree: str, message: str, parents: tuple[str, ...] = ()) -> str:
        """Keep a tree under a ref of the book as a commit; returns the commit."""
        args = [part for parent in parents for part in ("-p", parent)]
        commit = await self.git().run("commit-tree", tree, *args, "-m", message)
        await self.git().run("update-ref", f"refs/looptop/{name}", commit)
        return commit

    async def changes(self, old: str, new: str) -> list[FileChange]:
        """Changed paths between two trees, without rename detection."""
        raw = await self.git().raw("diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", old, new)
        parts = os.fsdecode(raw).split("\0")
        found = []
        for head, path in zip(parts[0::2], parts[1::2], strict=False):
            old_mode, new_mode, old_id, new_id, status = head.removeprefix(":").split(" ")
            found.append(FileChange(status, path, old_mode, new_mode, old_id, new_id))
        return found

    async def diff(self, old: str, new: str) -> str:
        """The unified difference of two trees, renames detected, made safe to show."""
        raw = await self.git().raw("diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", old, new)
        return plain(os.fsdecode(raw))

    async def stat(self, old: str, new: str) -> DiffStat:
        """Files and lines changed between two trees."""
        raw = await self.git().run("diff-tree", "-r", "-M", "--numstat", "--no-ext-diff", "--no-textconv", old, new)
        files = added = removed = binary = 0
        for line in raw.splitlines():
            found = re.match(r"(\d+|-)\t(\d+|-)\t", line)
            if not found:
                continue
            files += 1
            if found.group(1) == "-":
                binary += 1
            else:
                added += int(found.group(1))
                removed += int(found.group(2))
        return DiffStat(files=files, added=added, removed=removed, binary=binary)

    async def blob(self, object_id: str) -> bytes:
        """A file's bytes by its id; empty for no file."""
        if set(object_id) == {"0"}:
            return b""
        return await self.git().raw("cat-file", "blob", object_id)
