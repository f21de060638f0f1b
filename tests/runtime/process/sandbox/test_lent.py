"""What is lent can be used at its own place and not changed; an editable install there is the workspace's code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from runtime.process.sandbox.choose import SandboxSettings
from runtime.process.sandbox.places import object_folders
from support.boxes import make_box
from support.repositories import git, make_repository

PACKAGE = {
    ".gitignore": ".venv\nnode_modules\n*.egg-info\n__pycache__\n",
    "pyproject.toml": (
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "thing"\nversion = "1.0"\n'
    ),
    "backend.py": (
        "import base64, hashlib, pathlib, zipfile\n"
        "def build_editable(folder, config_settings=None, metadata_directory=None):\n"
        "    files = {'thing.pth': str(pathlib.Path('src').resolve()) + '\\n',\n"
        "             'thing-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n',\n"
        "             'thing-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\\nGenerator: own\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}\n"
        "    files['thing-1.0.dist-info/RECORD'] = ''.join(name + ',,\\n' for name in files) + 'thing-1.0.dist-info/RECORD,,\\n'\n"
        "    name = 'thing-1.0-py3-none-any.whl'\n"
        "    with zipfile.ZipFile(pathlib.Path(folder) / name, 'w') as wheel:\n"
        "        for path, text in files.items():\n"
        "            wheel.writestr(path, text)\n"
        "    return name\n"
    ),
    "src/thing/__init__.py": "WHOSE = 'the real tree'\n",
}


async def test_an_editable_install_in_a_lent_environment_is_the_workspaces_code(outside: Path) -> None:
    repo = make_repository(outside / "repo", PACKAGE)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", repo / ".venv"], check=True)
    python = repo / ".venv" / "bin" / "python"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps"),
            *("--no-build-isolation", "-e", str(repo)),
        ],
        check=True,
    )
    asked = "import thing, sys; print(thing.WHOSE, thing.__file__, sys.prefix)"
    real = subprocess.run([python, "-c", asked], cwd="/", check=True, capture_output=True, text=True).stdout
    assert real == f"the real tree {repo}/src/thing/__init__.py {repo}/.venv\n"
    box = await make_box(outside, repo, share=(".venv",))
    (box.workspace.tree / "src/thing/__init__.py").write_text("WHOSE = 'the workspace'\n")
    for command in (".venv/bin/python", str(python)):
        result = await box(f'cd / && cd {repo} && {command} -c "{asked}"')
        assert result.head == f"the workspace {repo}/src/thing/__init__.py {repo}/.venv\n"
    broken = await box("echo broken > .venv/bin/python; echo broken > .venv/new")
    assert broken.head.count("Read-only file system") == 2


async def test_lent_paths_are_put_right_before_every_command(outside: Path) -> None:
    repo = make_repository(outside / "repo", {".gitignore": ".venv\nnode_modules\n", "a": "a\n"})
    for name in (".venv", "pkg/node_modules"):
        (repo / name).mkdir(parents=True)
        (repo / name / "whose").write_text("lent")
    box = await make_box(outside, repo, share=(".venv", "pkg/node_modules"))
    show = "cat .venv/whose pkg/node_modules/whose; readlink -f pkg/node_modules"
    assert (await box(show)).head == f"lentlent{repo}/pkg/node_modules\n"
    await box("rm -rf .venv; mkdir .venv; echo mine > .venv/whose; rm -rf pkg/node_modules; mv pkg old")
    assert (await box(show)).head == f"lentlent{repo}/pkg/node_modules\n"
    await box("rm -rf pkg old; ln -s /etc pkg; rm .venv; ln -s /etc .venv")
    assert (await box("cat .venv/whose; ls -A /etc/node_modules")).head.startswith("lent")
    assert not Path("/etc/node_modules").exists()
    assert (repo / ".venv" / "whose").read_text() == "lent"
    assert (repo / "pkg" / "node_modules" / "whose").read_text() == "lent"


async def test_a_repository_below_tmp_is_reached_whatever_commands_leave_there(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", {"a": "a\n"})
    box = await make_box(tmp_path, repo)
    first = Path(*repo.parts[:3])
    assert (await box("cat a")).head == "a\n"
    await box(f"cd /; mv {first} /tmp/away; ln -s /etc {first}")
    assert (await box("pwd; cat a")).head == f"{repo}\na\n"


async def test_objects_that_the_repository_borrows_itself_are_there_too(outside: Path) -> None:
    origin = make_repository(outside / "origin", {"a": "a\n"})
    git(outside, "clone", "-q", "--shared", str(origin), str(outside / "repo"))
    repo = outside / "repo"
    assert object_folders(repo / ".git" / "objects") == (repo / ".git" / "objects", origin / ".git" / "objects")
    home = {**os.environ, "HOME": str(outside)}
    box = await make_box(outside, repo, env=home, settings=SandboxSettings())
    assert (await box("cat ../origin/a")).exit_code != 0
    assert (await box("git log --format=%s && git cat-file -p HEAD:a")).head == "first\na\n"
