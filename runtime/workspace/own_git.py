"""The git that the agent finds in its workspace, and what the supervisor's configuration says about names and ignored files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from runtime.workspace.book import IDENTITY
from runtime.workspace.git import Git, quoted
from runtime.workspace.ignored import pattern_for
from runtime.workspace.repository import Repository


async def excludes_of(repository: Repository, folder: Path) -> str:
    """Ignore rules that are not in the work tree: the repository's own and the supervisor's global ones."""
    files = (repository.common / "info" / "exclude", await _global_excludes(repository))
    found = [path.read_text(encoding="utf-8", errors="surrogateescape") for path in files if path and path.is_file()]
    if folder.is_relative_to(repository.root):
        found.append(pattern_for(str(folder.parent.relative_to(repository.root))))
    return "\n".join(found) + "\n"


async def _global_excludes(repository: Repository) -> Path | None:
    named = await _told_by_user(repository, "core.excludesFile", "--type=path")
    if named:
        return repository.root / named
    home = Path(os.environ.get("HOME", "/nonexistent"))
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "ignore"


async def _told_by_user(repository: Repository, name: str, *options: str) -> str | None:
    """A setting as the supervisor's own git would see it, without what we set on the command line."""
    asked = Git(repository.root, user_config=True)
    listed = await asked.ask("config", "-z", "--show-scope", *options, "--get-all", name)
    fields = (listed or "").split("\0")
    values = [value for scope, value in zip(fields[0::2], fields[1::2], strict=False) if scope != "command"]
    return values[-1] if values else None


async def own_git(repository: Repository, tree: Path, branch: str, excludes: str) -> None:
    """A fresh .git for the workspace, with the original's objects borrowed and its branches and tags in sight."""
    git = Git(tree)
    await git.run("init", "-q", "--template=", f"--object-format={repository.object_format}", "-b", branch)
    own = tree / ".git"
    (own / "objects" / "info").mkdir(parents=True, exist_ok=True)
    (own / "objects" / "info" / "alternates").write_text(f"{quoted(repository.objects)}\n")
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "exclude").write_text(excludes, encoding="utf-8", errors="surrogateescape")
    if (repository.common / "shallow").is_file():
        shutil.copyfile(repository.common / "shallow", own / "shallow")
    listed = await repository.git().run(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"
    )
    (own / "packed-refs").write_bytes(os.fsencode("".join(_borrowed_refs(listed))))
    await git.run("update-ref", f"refs/heads/{branch}", repository.head)
    name, email = await identity(repository)
    await git.run("config", "user.name", name)
    await git.run("config", "user.email", email)


def _borrowed_refs(listed: str) -> list[str]:
    """Lines of a packed-refs file: tags as they are, the supervisor's branches as those of a remote."""
    lines = []
    for line in listed.splitlines():
        object_id, _, name = line.partition(" ")
        if name.startswith("refs/heads/"):
            lines.append(f"{object_id} refs/remotes/origin/{name.removeprefix('refs/heads/')}\n")
        elif name.startswith("refs/tags/"):
            lines.append(f"{object_id} {name}\n")
    return lines


async def identity(repository: Repository) -> tuple[str, str]:
    """The supervisor's name and address for commits, or looptop's where there are none."""
    name = os.environ.get("GIT_AUTHOR_NAME") or await _told_by_user(repository, "user.name")
    email = os.environ.get("GIT_AUTHOR_EMAIL") or await _told_by_user(repository, "user.email")
    return name or IDENTITY["GIT_AUTHOR_NAME"], email or IDENTITY["GIT_AUTHOR_EMAIL"]
