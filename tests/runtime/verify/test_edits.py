"""Which changed paths are tests or settings of verify commands."""

from __future__ import annotations

import pytest

from runtime.verify.edits import edited_checks


@pytest.mark.parametrize(
    "path",
    [
        "tests/helpers.py",
        "pkg/tests/data/input.json",
        "test_it.py",
        "src/it_test.py",
        "app/tests.py",
        "conftest.py",
        "pkg/it_test.go",
        "src/it.spec.ts",
        "src/It.test.tsx",
        "src/__tests__/it.js",
        "src/__snapshots__/it.js.snap",
        "pytest.ini",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "package.json",
        "Makefile",
        "looptop.toml",
        "jest.config.js",
        "tsconfig.json",
        ".eslintrc.json",
        "sitecustomize.py",
        "x.pth",
    ],
)
def test_tests_and_settings(path: str) -> None:
    assert edited_checks([path]) == (path,)


@pytest.mark.parametrize(
    "path", ["src/it.py", "contest.py", "latest.py", "src/protest/it.py", "attest.go", "README.md", "src/testify.py"]
)
def test_other_files(path: str) -> None:
    assert edited_checks([path]) == ()


def test_a_file_that_a_verify_command_names_is_a_part_of_it() -> None:
    commands = ["python3 ./check.py --fast", "bash scripts/run.sh > log"]
    assert edited_checks(["check.py", "scripts/run.sh", "run.sh"], commands) == ("check.py", "scripts/run.sh")
