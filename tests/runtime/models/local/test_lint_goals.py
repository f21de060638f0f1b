"""Lint and type findings as goals: what is mechanical is fixed with the real tools, tests stay untouched, the rest is told."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from runtime.events.values import VerifySpec
from runtime.models.local.lint.steps import Tool, lint_steps, read_findings
from runtime.models.local.model import gave_up_words, patch_words
from runtime.models.local.outcome import GaveUp, Job, Patch
from runtime.models.local.session import RepairSession
from runtime.models.local.source import apply_edits
from runtime.process.env import scrubbed_env

PYTHON = shlex.quote(sys.executable)
RUFF = f"{PYTHON} -m ruff check --isolated --select E,F,I ."
FORMAT = f"{PYTHON} -m ruff format --isolated --check ."
MYPY = f"{PYTHON} -m mypy --strict --no-incremental --config-file /dev/null ."
TESTS = f"{PYTHON} -m pytest -q"


async def repair(folder: Path, files: dict[str, str], *commands: str) -> tuple[Patch | GaveUp, dict[str, str]]:
    """The outcome, and the files with the patch made; the workspace itself must not have changed."""
    workspace, scratch = folder / "work", folder / "scratch"
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    scratch.mkdir()
    run = f"lint-{folder.name}-{os.getpid()}"
    steps = tuple(VerifySpec(command=command, timeout_s=60) for command in commands)
    outcome = await RepairSession(Job(workspace, steps, scratch, scrubbed_env(os.environ, run), run)).next_patch()
    for name, text in files.items():
        assert (workspace / name).read_text() == text
    if isinstance(outcome, GaveUp):
        return outcome, {}
    edits = outcome.candidate.edits
    changed = {
        path: apply_edits(outcome.sources[path].text, tuple(e for e in edits if e.path == path))
        for path in {edit.path for edit in edits}
    }
    return outcome, changed


async def test_ruffs_own_safe_fixes_and_a_missing_import(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/load.py": "import sys\nimport os\n\n\ndef load(name: str) -> object:\n"
        "    return json.loads(Path(os.fspath(name)).read_text())\n",
    }
    patch, changed = await repair(tmp_path, files, RUFF)
    assert isinstance(patch, Patch)
    assert (patch.whole, patch.mended, patch.goal) == (True, patch.failing, "finding")
    text = changed["pkg/load.py"]
    assert "import json\nimport os\nfrom pathlib import Path\n" in text
    assert "import sys" not in text
    assert "settles 4 findings" in patch_words(patch)
    assert "pkg/load.py:1" in patch_words(patch)


async def test_formatting_is_left_to_the_formatter(tmp_path: Path) -> None:
    patch, changed = await repair(tmp_path, {"a.py": "x = {  'a':1 }\n"}, FORMAT)
    assert isinstance(patch, Patch)
    assert changed == {"a.py": 'x = {"a": 1}\n'}


async def test_a_guard_where_a_value_may_be_none_and_a_default_of_none(tmp_path: Path) -> None:
    files = {
        "find.py": "import re\n\n\ndef number(text: str, base: int = None) -> int:\n"
        "    match = re.search(r'\\d+', text)\n    return int(match.group(), base or 10)\n\n\n"
        "def show(text: str):\n    print(number(text))\n",
    }
    patch, changed = await repair(tmp_path, files, MYPY)
    assert isinstance(patch, Patch)
    assert patch.whole
    text = changed["find.py"]
    assert "base: int | None = None" in text
    assert '    if match is None:\n        raise ValueError("match is None")\n    return int(match.group()' in text
    assert "def show(text: str) -> None:" in text


async def test_tests_are_never_edited_and_what_is_left_is_named(tmp_path: Path) -> None:
    files = {
        "a.py": "import os\n\n\ndef f() -> int:\n    return nowhere\n",
        "tests/test_a.py": "import os\n\n\ndef test_a() -> None:\n    assert True\n",
    }
    patch, changed = await repair(tmp_path, files, RUFF)
    assert isinstance(patch, Patch)
    assert (patch.whole, patch.mended, patch.failing) == (False, 1, 3)
    assert list(changed) == ["a.py"]
    assert "settles 1 of 3 findings" in patch_words(patch)


async def test_without_a_mechanical_fix_it_gives_up_with_the_findings(tmp_path: Path) -> None:
    outcome, _ = await repair(tmp_path, {"a.py": "def f() -> int:\n    return nowhere\n"}, RUFF)
    assert isinstance(outcome, GaveUp)
    assert "a.py:2 F821" in gave_up_words(outcome)


async def test_findings_come_after_failing_tests(tmp_path: Path) -> None:
    files = {
        "two.py": "import os\n\n\ndef double(n):\n    return n + n + 1\n",
        "test_two.py": "from two import double\n\n\ndef test_three():\n    assert double(3) == 6\n\n\n"
        "def test_none():\n    assert double(0) == 0\n",
    }
    patch, changed = await repair(tmp_path, files, TESTS, RUFF)
    assert isinstance(patch, Patch)
    assert (patch.goal, patch.mended, patch.failing) == ("failing test", 2, 2)
    # The lint step still fails: the patch must not claim that everything passed.
    assert not patch.whole
    second, mended = await repair(tmp_path / "next", files | changed, TESTS, RUFF)
    assert isinstance(second, Patch)
    assert (second.goal, second.whole) == ("finding", True)
    assert "import os" not in mended["two.py"]


async def test_a_fix_that_breaks_a_test_is_not_proposed(tmp_path: Path) -> None:
    files = {
        "a.py": "import os\n",
        "test_a.py": "import a\n\n\ndef test_a():\n    assert a.os.sep\n",
    }
    outcome, _ = await repair(tmp_path, files, TESTS, RUFF)
    assert isinstance(outcome, GaveUp)
    assert "pytest" in outcome.why


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("ruff check .", Tool.RUFF_CHECK),
        ("uv run ruff check --fix src", Tool.RUFF_CHECK),
        ("python3 -m ruff format --check", Tool.RUFF_FORMAT),
        ("A=1 .venv/bin/mypy --strict src", Tool.MYPY),
        ("ruff check . && mypy .", None),
        ("ruff rule F401", None),
        ("flake8", None),
    ],
)
def test_which_steps_are_lint_steps(command: str, tool: Tool | None) -> None:
    found = lint_steps([VerifySpec(command=command)])
    assert [step.tool for step in found] == ([tool] if tool else [])


def test_findings_are_read_from_the_tools_lines() -> None:
    ruff = read_findings(Tool.RUFF_CHECK, "a/b.py:3:5: F841 [*] Local variable `x` is never used\nFound 1 error.\n")
    assert [(f.path, f.line, f.column, f.code) for f in ruff] == [("a/b.py", 3, 5, "F841")]
    mypy = read_findings(Tool.MYPY, "a.py:1: error: No [list] here  [misc]\na.py:2:7: note: x\na.py:4:1: error: Bad\n")
    assert [(f.line, f.column, f.code, f.words) for f in mypy] == [(1, 0, "misc", "No [list] here"), (4, 1, "", "Bad")]
