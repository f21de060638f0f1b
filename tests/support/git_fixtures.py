"""Git repositories of every kind for tests of workspaces, made with plain git and nobody's configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from runtime.workspace.clone import Workspace

MakeWorkspace = Callable[..., Awaitable[Workspace]]

ENV = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05+00:00",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+00:00",
}


def git(folder: Path, *args: str, check: bool = True, data: bytes | None = None) -> str:
    """Run git as a user without configuration would; returns what it prints, without the last line end."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | ENV
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "gc.auto=0", *args],
        cwd=folder,
        env=env,
        input=data,
        capture_output=True,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"git {args}: {done.stderr.decode(errors='replace')}")
    return os.fsdecode(done.stdout).rstrip("\n")


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def make_repository(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository with one commit of these files, on branch main."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    write(root, files)
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "first", "--allow-empty")
    return root


def fingerprint(root: Path) -> dict[str, bytes]:
    """Every file of a repository outside its object store, with its content; links by their target."""
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(root):
        place = Path(folder)
        if place.name == ".git":
            folders[:] = [name for name in folders if name != "objects"]
        for name in [*names, *(name for name in folders if (place / name).is_symlink())]:
            path = place / name
            found[str(path.relative_to(root))] = (
                os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
            )
    return found
