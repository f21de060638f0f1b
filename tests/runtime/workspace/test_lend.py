"""What git ignores but verify needs, and installs that would make tests judge the wrong code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.errors import UsageError
from runtime.workspace.editable import editable_installs, environments_in_use
from runtime.workspace.lend import propose
from support.git_fixtures import MakeWorkspace, git, make_repository, write


async def test_shared_paths_are_links_and_no_part_of_the_change(make: MakeWorkspace, repo: Path) -> None:
    write(repo, {".venv/lib/x.py": "x\n", "node_modules/a/index.js": "x\n", "build/[1]*": "x\n", ".env.test": "A=1\n"})
    (repo / ".gitignore").write_text(".venv/\nnode_modules/\nbuild/\n.env.test\n")
    git(repo, "commit", "-qam", "ignore")
    assert propose(repo) == (".venv", "node_modules")
    workspace = await make(share=(".venv", "node_modules", "nowhere"), copy=(".env.test", "build/[1]*"))
    tree = workspace.tree
    assert os.readlink(tree / ".venv") == str(repo / ".venv")
    assert not (tree / ".env.test").is_symlink()
    assert workspace.lent.paths == (".venv", "node_modules", ".env.test", "build/[1]*")
    assert workspace.notes == (
        "workspace.share: nowhere is not there",
        "lent without write protection (no sandbox): .venv, node_modules",
    )
    write(tree, {".env.test": "A=2\n", "build1": "no part of what is lent\n"})
    changes = await workspace.book.changes(workspace.start_tree, await workspace.book.snapshot())
    assert [change.path for change in changes] == ["build1"]
    assert git(tree, "status", "--porcelain") == "?? build1"
    await workspace.book.reset_to(workspace.start_tree)
    assert (tree / ".venv" / "lib" / "x.py").exists()


@pytest.mark.parametrize("name", ["../x", "/etc", ".git/config", "", "a/../../x"])
async def test_only_paths_of_the_repository_are_lent(make: MakeWorkspace, home: Path, name: str) -> None:
    for key in ("share", "copy"):
        with pytest.raises(UsageError, match=f"workspace.{key}"):
            await make(**{key: (name,)})
    assert list((home / "workspaces").iterdir()) == []


async def test_nothing_is_copied_through_a_link_out_of_the_workspace(make: MakeWorkspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"x.txt": "x\n"})
    root = make_repository(tmp_path / "p", {"a.txt": "a\n"})
    (root / "out").symlink_to(outside)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "link")
    with pytest.raises(UsageError, match="behind the link 'out'"):
        await make(root=root, copy=("out/x.txt",))


async def test_a_copied_tracked_file_is_part_of_the_start(make: MakeWorkspace, repo: Path) -> None:
    write(repo, {"README.md": "local settings\n"})
    workspace = await make(copy=("README.md",))
    assert (workspace.tree / "README.md").read_text() == "local settings\n"
    assert await workspace.book.snapshot() == workspace.start_tree


def environment(root: Path, files: dict[str, str]) -> Path:
    site = root / "lib" / "python3.11" / "site-packages"
    write(site, files)
    return root


def test_every_kind_of_editable_install_is_found(tmp_path: Path) -> None:
    root = tmp_path / "my project"
    (root / "src").mkdir(parents=True)
    url = (root / "src").as_uri()
    inside = environment(
        root / ".venv",
        {
            "by_url-1.0.dist-info/direct_url.json": json.dumps({"url": root.as_uri(), "dir_info": {"editable": True}}),
            "plain-1.0.dist-info/direct_url.json": json.dumps({"url": root.as_uri(), "dir_info": {}}),
            "elsewhere-1.0.dist-info/direct_url.json": json.dumps(
                {"url": (tmp_path / "other").as_uri(), "dir_info": {"editable": True}}
            ),
            "broken-1.0.dist-info/direct_url.json": "{",
            "list-1.0.dist-info/direct_url.json": json.dumps([url]),
            "__editable__.by_path-0.1.0.pth": f"{root}/src\n",
            "relative.pth": "../../../../src\n",
            "own.pth": "vendored\n",
            "distutils-precedence.pth": f"import os; x = '{root}'\n",
            "__editable___by_finder_0_1_0_finder.py": f"MAPPING = {{'by_finder': '{root}/src/by_finder'}}\n",
        },
    )
    assert editable_installs(root, (inside,)) == ["by_finder", "by_path", "by_url", "relative"]
    assert editable_installs(tmp_path / "other place", (inside,)) == []
    assert editable_installs(root, (tmp_path / "nowhere",)) == []


def test_an_environment_around_the_tree_hides_nothing(tmp_path: Path) -> None:
    prefix = environment(tmp_path / "prefix", {"x.pth": str(tmp_path / "prefix" / "code") + "\n"})
    (prefix / "code").mkdir()
    assert editable_installs(prefix / "code", (prefix,)) == ["x"]


def test_the_environments_of_a_command(tmp_path: Path) -> None:
    tools = tmp_path / "venv" / "bin"
    tools.mkdir(parents=True)
    (tools / "python").symlink_to(sys.executable)
    env = {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tools), "HOME": str(tmp_path)}
    assert environments_in_use(env) == (tmp_path / "active", tmp_path / "venv", tmp_path / ".local")


def test_a_real_environment_imports_what_the_check_says(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, {"src/thing.py": "WHERE = __file__\n"})
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = (venv / "lib").glob("python*/site-packages")
    (site / "__editable__.thing-1.0.pth").write_text(f"{root}/src\n")
    said = subprocess.run(
        [venv / "bin" / "python", "-c", "import thing; print(thing.WHERE)"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == str(root / "src" / "thing.py")
    assert editable_installs(root, (venv,)) == ["thing"]
