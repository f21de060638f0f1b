"""The embedded model through the same loop as any model: real bugs, real verify commands, honest words."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from runtime.events.base import Event
from runtime.events.loop import RunFinished, ToolCalled
from runtime.events.values import RunSettings, StopReason, VerifySpec
from runtime.process.tree import find_marked
from support.repositories import git, make_repository
from tui.compose import RunRequest, open_cockpit

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q"
UNITTEST = f"{shlex.quote(sys.executable)} -m unittest -q"


async def repair(
    folder: Path, files: dict[str, str], verify: str = PYTEST, cap: int = 5
) -> tuple[RunFinished, list[Event]]:
    """Run `local` on a repository of these files."""
    repo = make_repository(folder / "repo", files)
    events: list[Event] = []
    async with open_cockpit(folder / "home") as cockpit:
        cockpit.bus.subscribe(events.append)
        settings = RunSettings(model="local", cap=cap, deliver="apply")
        handle = await cockpit.start(RunRequest(repo, "", settings, (VerifySpec(command=verify, timeout_s=60),)))
        end = await handle.done
    assert find_marked(end.run) == []
    return end, events


PAGES = {
    "shop/__init__.py": "",
    "shop/pages.py": (
        "def pages(items, size):\n"
        '    """How many pages of this size it takes."""\n'
        "    full, rest = divmod(items, size)\n"
        "    return full + (1 if rest > 1 else 0)\n"
    ),
    "tests/test_pages.py": (
        "import pytest\nfrom shop.pages import pages\n\n\n"
        "@pytest.mark.parametrize(('items', 'count'), [(0, 0), (10, 1), (11, 2), (15, 2), (20, 2), (21, 3)])\n"
        "def test_pages(items, count):\n    assert pages(items, 10) == count\n"
    ),
    "conftest.py": "",
}


async def test_a_wrong_comparison_is_found_and_explained(tmp_path: Path) -> None:
    end, events = await repair(tmp_path, PAGES)
    assert (end.reason, end.attempts, end.cost_micros) == (StopReason.PASSED, 1, 0)
    assert sum(value or 0 for value in end.usage.values()) == 0
    assert "shop/pages.py:4" in end.summary
    assert "satisfies 2 failing tests" in end.summary
    edited = {e.arguments["path"] for e in events if isinstance(e, ToolCalled) and e.arguments}
    assert edited == {"shop/pages.py"}
    changed = git(tmp_path / "repo", "status", "--porcelain").splitlines()
    assert [line for line in changed if not line.startswith("??")] == [" M shop/pages.py"]


async def test_two_bugs_take_two_attempts(tmp_path: Path) -> None:
    files = PAGES | {
        "shop/price.py": "def with_tax(cents):\n    return cents - cents * 19 // 100\n",
        "tests/test_price.py": (
            "from shop.price import with_tax\n\n\ndef test_tax():\n    assert with_tax(1000) == 1190\n\n\n"
            "def test_more():\n    assert with_tax(100) == 119\n"
        ),
    }
    end, _ = await repair(tmp_path, files)
    assert (end.reason, end.attempts) == (StopReason.PASSED, 2)


async def test_unittest_suites_are_repaired_too(tmp_path: Path) -> None:
    files = {
        "stack.py": "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, x):\n        self.items.append(x)\n\n"
        "    def pop(self):\n        return self.items.pop(0)\n",
        "test_stack.py": "import unittest\nfrom stack import Stack\n\n\nclass StackTest(unittest.TestCase):\n"
        "    def test_last_in_first_out(self):\n        s = Stack()\n        s.push(1)\n        s.push(2)\n"
        "        self.assertEqual(s.pop(), 2)\n        self.assertEqual(s.pop(), 1)\n\n"
        "    def test_one(self):\n        s = Stack()\n        s.push(7)\n        self.assertEqual(s.pop(), 7)\n",
    }
    end, _ = await repair(tmp_path, files, UNITTEST)
    assert end.reason is StopReason.PASSED


async def test_what_it_cannot_mend_it_gives_up_with_the_most_suspicious_lines(tmp_path: Path) -> None:
    numbers = {14: "fourteen", 90: "ninety", 21: "twenty-one", 300: "three hundred", 7: "seven", 55: "fifty-five"}
    lines = "".join(f"    assert spell({number}) == {word!r}\n" for number, word in numbers.items())
    files = {
        "words.py": "def spell(number):\n    return str(number)\n",
        "test_words.py": f"from words import spell\n\n\ndef test_spell():\n{lines}",
    }
    end, _ = await repair(tmp_path, files)
    assert end.reason is StopReason.GAVE_UP
    assert "words.py:2" in end.detail
    assert "candidates tried" in end.detail
    assert git(tmp_path / "repo", "status", "--porcelain", "-uno") == ""


@pytest.mark.parametrize(
    ("files", "verify", "words"),
    [
        ({"main.c": "int main(void) { return 1; }\n", "check.sh": "exit 1\n"}, "sh check.sh", ""),
        ({"a.py": "x = 1\n", "test_a.py": "import nosuchmodule\n\n\ndef test_a():\n    assert True\n"}, PYTEST, ""),
    ],
    ids=["no Python tests", "a missing dependency"],
)
async def test_what_it_cannot_help_with_is_said_at_once(
    tmp_path: Path, files: dict[str, str], verify: str, words: str
) -> None:
    end, _ = await repair(tmp_path, files, verify)
    assert end.reason is StopReason.GAVE_UP
    assert end.detail
    assert words in end.detail


async def test_an_endless_loop_is_no_trap(tmp_path: Path) -> None:
    files = {
        "count.py": "def down(n):\n    seen = []\n    while n >= 0:\n        seen.append(n)\n        n -= 2\n    return seen\n",
        "test_count.py": (
            "from count import down\n\n\ndef test_three():\n    assert down(3) == [3, 2, 1, 0]\n\n\n"
            "def test_none():\n    assert down(-1) == []\n"
        ),
    }
    end, _ = await repair(tmp_path, files)
    assert end.reason is StopReason.PASSED
