"""The engine on small repositories: imports that need a fresh start, fixtures, flaky tests, several bugs, cancellation, honesty."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from runtime.events.values import VerifySpec
from runtime.models.local.outcome import GaveUp, Job, Patch, Progress
from runtime.models.local.session import RepairSession
from runtime.models.local.source import apply_edits
from runtime.process.env import scrubbed_env
from runtime.process.tree import find_marked

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q"


def job_for(folder: Path, files: dict[str, str], command: str = PYTEST) -> Job:
    """A workspace of these files and the job to repair it."""
    workspace = folder / "work"
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    scratch = folder / "scratch"
    scratch.mkdir()
    run = f"test-{folder.name}-{os.getpid()}"
    return Job(workspace, (VerifySpec(command=command, timeout_s=60),), scratch, scrubbed_env(os.environ, run), run)


async def repaired(folder: Path, files: dict[str, str], command: str = PYTEST) -> dict[str, str]:
    """The files that a complete patch changes, as they are with it; the workspace itself must not have changed."""
    job = job_for(folder, files, command)
    patch = await RepairSession(job).next_patch()
    assert isinstance(patch, Patch), patch
    assert patch.whole
    for name, text in files.items():
        assert (job.workspace / name).read_text() == text
    assert find_marked(job.run_id) == []
    changed = {edit.path for edit in patch.candidate.edits}
    return {
        path: apply_edits(patch.sources[path].text, tuple(e for e in patch.candidate.edits if e.path == path))
        for path in changed
    }


async def test_constants_at_module_level_are_changed_by_a_fresh_import(tmp_path: Path) -> None:
    files = {
        "rates.py": "SECONDS_PER_MINUTE = 61\n\n\ndef seconds(minutes):\n    return minutes * SECONDS_PER_MINUTE\n",
        "test_rates.py": "from rates import SECONDS_PER_MINUTE, seconds\n\n\ndef test_unit():\n"
        "    assert SECONDS_PER_MINUTE == 60\n\n\n"
        "def test_many():\n    assert seconds(1000) == 60000\n",
    }
    changed = await repaired(tmp_path, files)
    assert changed["rates.py"].startswith("SECONDS_PER_MINUTE = 60\n")


async def test_wrong_defaults_and_decorated_functions(tmp_path: Path) -> None:
    files = {
        "greet.py": "import functools\n\n\n@functools.lru_cache\ndef greet(name, mark='?'):\n"
        "    return f'Hello {name}{mark}'\n",
        "test_greet.py": "from greet import greet\n\n\ndef test_default():\n    assert greet('Ann') == 'Hello Ann!'\n"
        "    assert greet('Bo', '.') == 'Hello Bo.'\n",
    }
    changed = await repaired(tmp_path, files)
    assert "'!'" in changed["greet.py"] or '"!"' in changed["greet.py"]


async def test_methods_fixtures_and_conftest_as_pytest_has_them(tmp_path: Path) -> None:
    files = {
        "bank/__init__.py": "from bank.account import Account\n",
        "bank/account.py": "class Account:\n    def __init__(self, owner):\n        self.owner = owner\n"
        "        self.balance = 0\n\n"
        "    def deposit(self, amount):\n        self.balance += amount\n\n"
        "    def withdraw(self, amount):\n        if amount >= self.balance:\n"
        "            raise ValueError('not enough')\n        self.balance -= amount\n",
        "tests/conftest.py": "import pytest\nfrom bank import Account\n\n\n@pytest.fixture\ndef account():\n"
        "    made = Account('Ann')\n    made.deposit(100)\n    return made\n",
        "tests/test_account.py": "import pytest\n\n\ndef test_everything(account):\n    account.withdraw(100)\n"
        "    assert account.balance == 0\n\n\n"
        "def test_some(account):\n    account.withdraw(30)\n    assert account.balance == 70\n\n\n"
        "def test_too_much(account):\n    with pytest.raises(ValueError):\n        account.withdraw(101)\n",
    }
    changed = await repaired(tmp_path, files)
    assert "if amount > self.balance:" in changed["bank/account.py"]


async def test_a_module_that_cannot_be_imported(tmp_path: Path) -> None:
    files = {
        "shapes.py": (
            "import math\n\nUNIT = area(1)\n\n\ndef area(radius):\n    return math.pi * radius ** 2\n"
        ).replace("UNIT = area(1)", "TWO = mth.sqrt(4)"),
        "test_shapes.py": "import math\nfrom shapes import TWO, area\n\n\ndef test_two():\n    assert TWO == 2\n\n\n"
        "def test_area():\n    assert area(2) == math.pi * 4\n",
    }  # fmt: skip
    changed = await repaired(tmp_path, files)
    assert "TWO = math.sqrt(4)" in changed["shapes.py"]


async def test_asserts_at_module_level_count_as_tests(tmp_path: Path) -> None:
    files = {
        "solution.py": "def total(items):\n    return sum(items) + 1\n",
        "test_solution.py": "from solution import total\n\n\ndef check(f):\n    assert f([1, 2]) == 3\n"
        "    assert f([]) == 0\n    assert f([5]) == 5\n\n\n"
        "check(total)\n\n\ndef test_done():\n    assert True\n",
    }
    changed = await repaired(tmp_path, files)
    assert "sum(items)" in changed["solution.py"]


async def test_flaky_tests_are_left_out_and_told(tmp_path: Path) -> None:
    flaky = (
        "import itertools, os, pathlib\n\nMARK = pathlib.Path(__file__).with_name('mark')\n\n\n"
        "def test_now_and_then():\n    if MARK.exists():\n        return\n    MARK.write_text('x')\n"
        "    assert False\n"
    )
    files = {
        "two.py": "def double(n):\n    return n + n + 1\n",
        "test_two.py": "from two import double\n\n\ndef test_three():\n    assert double(3) == 6\n\n\n"
        "def test_none():\n    assert double(0) == 0\n",
        "test_flaky.py": flaky,
    }
    news: list[Progress] = []
    job = job_for(tmp_path, files)
    await RepairSession(job).next_patch(progress=news.append)
    assert any("1 test ended differently in two runs" in item.words for item in news)


async def test_two_bugs_in_one_function_are_mended_together_or_in_turn(tmp_path: Path) -> None:
    files = {
        "clip.py": "def clip(value, low, high):\n    if value > low:\n        return low\n    if value > high:\n"
        "        return low\n    return value\n",
        "test_clip.py": "import pytest\nfrom clip import clip\n\n\n"
        "@pytest.mark.parametrize(('value', 'wanted'), [(5, 5), (-3, 0), (12, 10), (0, 0), (10, 10), (7, 7)])\n"
        ""
        "def test_clip(value, wanted):\n    assert clip(value, 0, 10) == wanted\n",
    }
    job = job_for(tmp_path, files)
    patch = await RepairSession(job).next_patch()
    assert isinstance(patch, Patch)
    assert patch.mended >= 1


async def test_cancelling_leaves_no_process(tmp_path: Path) -> None:
    files = {
        "slow.py": "def wait(n):\n    while n > 0:\n        n += 1\n    return 7\n",
        "test_slow.py": "from slow import wait\n\n\ndef test_wait():\n    assert wait(3) == 3141592653\n",
    }
    job = job_for(tmp_path, files)
    started = asyncio.Event()
    task = asyncio.create_task(RepairSession(job).next_patch(progress=lambda news: started.set()))
    await asyncio.wait_for(started.wait(), 60)
    assert find_marked(job.run_id)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert find_marked(job.run_id) == []


async def test_candidates_cannot_touch_the_workspace_or_the_tests(tmp_path: Path) -> None:
    files = {
        "store.py": "import pathlib\n\nHERE = pathlib.Path(__file__).parent\n\n\ndef save(name, text):\n"
        "    (HERE / name).write_text(text)\n    return len(text) + 1\n",
        "test_store.py": "from store import save\n\n\ndef test_save():\n    assert save('kept.txt', 'abc') == 3\n"
        "    assert save('kept.txt', '') == 0\n",
        "kept.txt": "mine",
    }
    await repaired(tmp_path, files)
    assert sorted(p.name for p in (tmp_path / "work").iterdir()) == ["kept.txt", "store.py", "test_store.py"]


@pytest.mark.parametrize(
    ("files", "command", "words"),
    [
        ({"a.c": "int x;\n"}, "make test", "pytest or unittest"),
        ({"a.py": "x = 1\n"}, PYTEST, "no tests"),
        ({"a.py": "x = 1\n", "test_a.py": "def test_a():\n    assert True\n"}, PYTEST, "every test passes"),
        ({"test_a.py": "def test_a():\n    assert 1 == 2\n"}, PYTEST, "no Python file of the project"),
        ({"a.py": "x = 1\n", "test_a.py": "def test_a():\n    assert 1 == 2\n"}, "python3.99 -m pytest", "is not there"),
    ],
)  # fmt: skip
async def test_why_it_cannot_help_is_said(tmp_path: Path, files: dict[str, str], command: str, words: str) -> None:
    outcome = await RepairSession(job_for(tmp_path, files, command)).next_patch()
    assert isinstance(outcome, GaveUp)
    assert words in outcome.why


async def test_a_refused_candidate_does_not_come_again(tmp_path: Path) -> None:
    files = {
        "two.py": "def double(n):\n    return n + n + 1\n",
        "test_two.py": "from two import double\n\n\ndef test_three():\n    assert double(3) == 6\n\n\n"
        "def test_none():\n    assert double(0) == 0\n",
    }
    job = job_for(tmp_path, files)
    first = await RepairSession(job).next_patch()
    assert isinstance(first, Patch)
    refused = first.candidate.key
    second = await RepairSession(job).next_patch(lambda candidate, sources: candidate.key == refused)
    assert isinstance(second, Patch)
    assert second.candidate.key != refused
    assert second.whole
