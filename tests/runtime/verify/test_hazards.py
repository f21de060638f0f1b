"""Commands that throw their status away are named; the shell itself says which ones do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runtime.process.run import shell_argv
from runtime.verify.hazards import status_hazards

LOSE = [
    "pytest -q || true",
    "pytest||true",
    "pytest || :",
    "pytest || exit 0",
    "pytest || echo failed",
    "pytest || { echo no; }",
    "pytest || (echo no; true)",
    "pytest 2>&1 | tail -5 || true",
    "pytest; echo done",
    "pytest>log;echo x",
    "pytest\necho done",
    "pytest ; exit 0",
    "pytest; rc=$?; echo $rc",
    "ruff check .; true",
    "pytest &",
    "pytest & wait",
    "set +e; pytest; echo done",
    "set +o pipefail; pytest | tail -1",
    "if pytest; then echo ok; fi",
    "for d in a b; do pytest $d; done; echo ok",
    "(pytest || true)",
    "{ pytest; true; }",
    "! pytest",
    "bash -c 'pytest || true'",
    "sh -c 'pytest | tail -1'",
    'echo "$(pytest)"',
    "pytest && ruff check . || true",
    "trap 'exit 0' EXIT; pytest",
    "if true; then pytest; fi; echo ok",
    "cat <<END; pytest || true\nx\nEND",
]
KEEP = [
    "pytest -q",
    "pytest;",
    "\npytest\n",
    "pytest \\\n  -q",
    "pytest -q | tail -5",
    "pytest -q 2>&1 | tee log.txt",
    "pytest &> log",
    "pytest >&2",
    "pytest || exit 1",
    "pytest || (echo no; exit 1)",
    "pytest || { echo no; exit 1; }",
    "pytest || pytest --lf",
    "pytest || rc=$?; exit $rc",
    "pytest; exit $?",
    "pytest; rc=$?; rm -rf x; exit $rc",
    "cd sub; pytest",
    "cd sub && pytest",
    "( cd sub && pytest )",
    "mkdir -p out; pytest > out/log",
    "export A=1; pytest",
    "A=1 pytest",
    "set -e; ruff check .; echo ok",
    "set -euo pipefail\nruff check .\necho ok",
    "sleep 0 & pytest",
    "if ! pytest; then exit 1; fi",
    "for d in a b; do pytest $d || exit 1; done",
    "bash -c 'pytest -q'",
    "bash -o pipefail -c 'pytest | tail'",
    "bash -ec 'ruff check .; echo ok'",
    "pytest -k 'a || true'",
    "pytest -k 'not slow' # || true",
    "pytest tests#1",
    "pytest 'a;b'",
    'python3 -c "import sys; sys.exit(1)"',
    "pytest && ruff check .",
    'test -z "$(echo a)"',
    "diff <(echo a) <(echo b)",
    "yes | head -5 | pytest",
    "if [ -f x ]; then . x; fi; pytest",
    "for f in a b; do touch $f; done; pytest",
    "pytest <<'END'\ntrue\necho x\nEND",
    "cat <<END > in.txt && pytest\n|| true; (\nEND",
    "check() { pytest; }; check",
    "case $HOME in /*) pytest;; esac",
    "time pytest",
    "[[ -f x ]] || pytest",
    "if true; then pytest; fi; exit $?",
]


def status(command: str, folder: Path) -> int:
    """The exit status of a command in which every check fails."""
    tools = folder / "bin"
    (folder / "sub").mkdir(parents=True)
    tools.mkdir()
    for name in ("pytest", "ruff"):
        (tools / name).write_text("#!/bin/sh\nexit 1\n")
        (tools / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run(shell_argv(command), cwd=folder, env=env, capture_output=True, check=False).returncode


@pytest.mark.parametrize("command", LOSE)
def test_a_command_that_loses_its_status_is_named(tmp_path: Path, command: str) -> None:
    assert status(command, tmp_path / "there") == 0
    assert status_hazards(command)


@pytest.mark.parametrize("command", KEEP)
def test_a_command_that_keeps_its_status_is_not(tmp_path: Path, command: str) -> None:
    assert status(command, tmp_path / "there") != 0
    assert status_hazards(command) == []


@pytest.mark.parametrize(
    "command",
    ["ruff check --exit-zero .", "npx jest --passWithNoTests", "pytest --co -q", "cargo test --no-run", "make -i test"],
)
def test_options_that_pass_whatever_there_is_are_named(command: str) -> None:
    assert status_hazards(command)


@pytest.mark.parametrize("command", ["pytest 'open", "(pytest", 'pytest "$(', "pytest `x", "pytest $(x"])
def test_what_is_not_closed_cannot_be_read(command: str) -> None:
    assert "can't be parsed" in status_hazards(command)[0]


def test_a_reason_quotes_what_replaces_what() -> None:
    assert status_hazards("pytest -q; echo done") == ["`; echo done` replaces the status of `pytest -q`; use `&&`"]
