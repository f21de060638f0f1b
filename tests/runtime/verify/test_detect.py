"""What a repository shows of its verify commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.verify.detect import detect_steps

TEST = "def test_it():\n    pass\n"
UNIT = "import unittest\n\n\nclass T(unittest.TestCase):\n    pass\n"


def found(folder: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [(step.spec.command, step.why) for step in detect_steps(folder)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({"README.md": "pytest"}, []),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\n"},
            [("python -m pytest -q", "pyproject.toml has [tool.pytest.ini_options]")],
        ),
        ({"pytest.ini": "[pytest]\n"}, [("python -m pytest -q", "there is a pytest.ini")]),
        ({"setup.cfg": "[tool:pytest]\n"}, [("python -m pytest -q", "setup.cfg has [tool:pytest]")]),
        ({"setup.cfg": "[metadata]\n"}, []),
        ({"tests/unit/test_it.py": TEST}, [("python -m pytest -q", "there are tests: tests/unit/test_it.py")]),
        ({"test_it.py": UNIT}, [("python -m unittest discover", "test_it.py uses unittest")]),
        ({"tests/test_it.py": UNIT}, [("python -m unittest discover -s tests", "tests/test_it.py uses unittest")]),
        (
            {"tests/test_it.py": UNIT, "tests/__init__.py": ""},
            [("python -m unittest discover", "tests/test_it.py uses unittest")],
        ),
        ({"test_it.py": UNIT + "import pytest\n"}, [("python -m pytest -q", "there are tests: test_it.py")]),
        (
            {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\nfiles = ['x']\n"},
            [("ruff check .", "pyproject.toml has [tool.ruff]"), ("python -m mypy", "pyproject.toml has [tool.mypy]")],
        ),
        ({"mypy.ini": "[mypy]\nstrict = true\n"}, [("python -m mypy .", "there is a mypy.ini")]),
        ({"pyproject.toml": "not [ toml"}, []),
        ({"node_modules/x/test_it.py": TEST, ".venv/lib/test_it.py": TEST}, []),
        (
            {"package.json": json.dumps({"scripts": {"test": "jest"}})},
            [("npm test --silent", "package.json has a test script")],
        ),
        ({"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})}, []),
        ({"package.json": "[1]"}, []),
        ({"package.json": "{"}, []),
        ({"go.mod": "module x\n"}, [("go test ./...", "there is a go.mod")]),
        ({"Cargo.toml": "[package]\n"}, [("cargo test --quiet", "there is a Cargo.toml")]),
        ({"Makefile": "all:\n\ntest: all\n\techo\n"}, [("make test", "Makefile has a test target")]),
        ({"Makefile": "test := 3\ntests:\n"}, []),
        ({"Makefile": "test:\n", "go.mod": ""}, [("go test ./...", "there is a go.mod")]),
    ],
)
def test_what_is_proposed_and_why(tmp_path: Path, files: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert found(tmp_path, files) == expected


def test_the_repositorys_own_interpreter_is_used(tmp_path: Path) -> None:
    files = {".venv/bin/python": "", "pytest.ini": ""}
    assert found(tmp_path, files) == [(".venv/bin/python -m pytest -q", "there is a pytest.ini")]
    assert found(tmp_path, {"ruff.toml": ""})[1][0] == "ruff check ."
    assert found(tmp_path, {".venv/bin/ruff": ""})[1][0] == ".venv/bin/python -m ruff check ."
