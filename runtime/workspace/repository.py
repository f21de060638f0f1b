"""The supervisor's repository: found, checked, and named in plain sentences where it can't be used."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import EnvironmentFault, GitError, UsageError
from runtime.text import decode
from runtime.workspace.git import Git, git_version


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree with at least one commit. `common` is its git folder, shared by linked work trees."""

    root: Path
    common: Path
    objects: Path
    head: str
    branch: str | None
    object_format: str
    project: str
    """Stable id of the project: its folder's name and a digest of its path."""

    def git(self) -> Git:
        """The door for reading from, and adding refs to, this repository."""
        return Git(self.root)


async def open_repository(path: Path) -> Repository:
    """Find the repository that `path` lies in. Raises UsageError or EnvironmentFault in one sentence."""
    try:
        path = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        raise UsageError(f"There is no folder {path}.", "Give the path of a git repository with --repo.") from None
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder.", "Give the path of a git repository with --repo.")
    await git_version()
    git = Git(path)
    asked = await git.call("rev-parse", "--is-bare-repository")
    bare = decode(asked.stdout).strip()
    if asked.exit_code != 0:
        if b"dubious ownership" in asked.stderr:
            raise EnvironmentFault(
                f"git refuses {path}, because another user owns it.",
                "Update git to 2.38, or change the folder's owner.",
            )
        raise EnvironmentFault(
            f"{path} is not in a git repository.", "Run `git init` and commit, or give another --repo."
        )
    if bare == "true":
        raise EnvironmentFault(
            f"{path} is a bare repository, without files to work on.", "Clone it and give the clone."
        )
    top = await git.ask("rev-parse", "--show-toplevel")
    if not top:
        raise EnvironmentFault(f"{path} lies inside a git folder, not in a work tree.", "Give the work tree's path.")
    root = Path(top)
    git = Git(root)
    head = await git.ask("rev-parse", "--verify", "-q", "HEAD^{commit}")
    if not head:
        raise EnvironmentFault(f"The repository {root} has no commit yet.", "Commit something first.")
    common = Path(await git.run("rev-parse", "--path-format=absolute", "--git-common-dir"))
    objects = Path(await git.run("rev-parse", "--path-format=absolute", "--git-path", "objects"))
    branch = await git.ask("symbolic-ref", "-q", "--short", "HEAD")
    object_format = await git.ask("rev-parse", "--show-object-format") or "sha1"
    if not objects.is_dir():
        raise GitError(f"The repository {root} has no objects folder at {objects}.")
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:8]
    return Repository(root, common, objects, head, branch, object_format, f"{root.name}-{digest}")
