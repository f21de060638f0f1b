"""Make the demo's repository: the bundled project with one commit, always the same."""

from __future__ import annotations

import shutil
from pathlib import Path

from runtime.workspace.git import Git

WHEN = "2026-01-05T09:30:00+00:00"
IDENTITY = {
    "GIT_AUTHOR_NAME": "Robin",
    "GIT_AUTHOR_EMAIL": "robin@localhost",
    "GIT_COMMITTER_NAME": "Robin",
    "GIT_COMMITTER_EMAIL": "robin@localhost",
    "GIT_AUTHOR_DATE": WHEN,
    "GIT_COMMITTER_DATE": WHEN,
}


async def prepare(target: Path) -> Path:
    """Copy the project into a fresh repository at `target`, which must not exist; returns its path."""
    source = Path(__file__).parent / "project"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    git = Git(target, env=IDENTITY)
    await git.run("init", "-q", "-b", "main")
    await git.run("add", "-A")
    await git.run("commit", "-q", "-m", "Plan mixtapes")
    return target
