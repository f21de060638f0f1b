"""Small git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@localhost",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@localhost",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}
ADDER = {
    "adder.py": "def add(a, b):\n    return a - b\n",
    "test_adder.py": "from adder import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
}
"""A project with one bug: `test_add` fails, `test_zero` passes."""
CHECK = "python3 check.py"
CHECKED = {
    "value.txt": "broken\n",
    "check.py": (
        "import sys\n"
        "text = open('value.txt').read().strip()\n"
        "print('value is', text)\n"
        "sys.exit(0 if text == 'fixed' else 1)\n"
    ),
}
"""A project verified by a script that starts in milliseconds: value.txt must say fixed."""


def git(folder: Path, *args: str) -> str:
    """Run git in a folder and return what it printed."""
    env = {**os.environ, **IDENTITY}
    return subprocess.run(["git", *args], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


def make_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit of these files."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder
