"""From verify commands to an interpreter and the arguments that choose tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from runtime.models.local.commands import TestCommand, pytest_args, test_command, unittest_args
from runtime.models.local.errors import CannotHelp

ENV = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def parsed(command: str, folder: Path) -> TestCommand:
    return test_command([command], folder, ENV)


def test_module_runs_put_the_folder_on_the_path(tmp_path: Path) -> None:
    found = parsed(f"{sys.executable} -m pytest -q -x tests/a --tb=short -k 'one or two'", tmp_path)
    assert found.python == (sys.executable,)
    assert found.args == ("tests/a", "-k", "one or two")
    assert found.as_module


def test_the_script_pytest_names_its_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "pytest"
    script.parent.mkdir()
    script.write_text("#!/opt/venv/bin/python3\nimport pytest\n")
    script.chmod(0o755)
    found = parsed(f"{script} tests", tmp_path)
    assert (found.python, found.args, found.as_module) == (("/opt/venv/bin/python3",), ("tests",), False)


def test_assignments_folders_and_relative_interpreters(tmp_path: Path) -> None:
    found = parsed("cd sub && A=1 B='x y' .venv/bin/python -m pytest", tmp_path)
    assert (found.cwd, dict(found.env)) == ("sub", {"A": "1", "B": "x y"})
    assert found.python == (str(tmp_path / "sub" / ".venv/bin/python"),)


def test_runners_stay_in_front(tmp_path: Path) -> None:
    assert parsed("uv run pytest -q", tmp_path).python == ("uv", "run", "python")


@pytest.mark.parametrize(
    "command", ["make test", "tox", "pytest | tee log", "python -m pytest && ruff check", "python run.py", "'"]
)
def test_what_it_can_not_read_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(CannotHelp):
        parsed(command, tmp_path)


def test_the_first_test_command_counts(tmp_path: Path) -> None:
    assert test_command(["ruff check .", f"{sys.executable} -m pytest"], tmp_path, ENV).as_module


def test_what_stops_early_or_measures_is_left_out() -> None:
    given = ["-x", "--maxfail", "2", "-n", "4", "-vv", "--cov=pkg", "-m", "not slow", "-p", "no:x", "t.py::test_a"]
    assert pytest_args(given) == ["-m", "not slow", "-p", "no:x", "t.py::test_a"]


def test_unittest_commands_become_pytest_arguments() -> None:
    assert unittest_args(["discover", "-s", "tests", "-p", "check*.py", "-v"]) == [
        "-o",
        "python_files=check*.py",
        "tests",
    ]
    assert unittest_args(["-q", "pkg.test_a"]) == ["-o", "python_files=test*.py", "pkg/test_a.py"]
    assert unittest_args([]) == ["-o", "python_files=test*.py", "."]
