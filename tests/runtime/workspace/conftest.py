"""A repository, and runs' workspaces on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.workspace.clone import Workspace, make_workspace
from runtime.workspace.repository import open_repository
from support.git_fixtures import MakeWorkspace, make_repository


@pytest.fixture(autouse=True)
def _no_user_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_DIR", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a few kinds of files."""
    return make_repository(
        tmp_path / "project",
        {
            "src/app.py": "def one():\n    return 1\n",
            "src/util.py": "".join(f"line {n}\n" for n in range(40)),
            "README.md": "# Project\n",
            ".gitignore": "build/\n*.log\n",
            "data/table.csv": "a,b\n1,2\n",
        },
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """LOOPTOP_HOME."""
    return tmp_path / "home"


@pytest.fixture
def make(repo: Path, home: Path) -> MakeWorkspace:
    """Make the workspace of a run on `repo` (or another repository)."""

    async def making(run_id: str = "r1", root: Path | None = None, **options: object) -> Workspace:
        repository = await open_repository(root or repo)
        return await make_workspace(repository, home / "workspaces" / run_id, run_id, **options)  # type: ignore[arg-type]

    return making
