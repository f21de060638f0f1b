"""Constants that the failing tests name: expected numbers, strings and exceptions."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from runtime.models.local.oracle import TestFacts
from runtime.models.local.site import Harvest

MAX_STRING = 80


def harvest(root: Path, failing: Iterable[TestFacts]) -> Harvest:
    """Constants in the failing tests' functions and in helper functions and tables of their files."""
    wanted: dict[str, set[str]] = {}
    for test in failing:
        path, _, rest = test.id.partition("::")
        wanted.setdefault(path, set()).add(rest.rpartition("::")[2].partition("[")[0])
    ints: Counter[int] = Counter()
    strings: Counter[str] = Counter()
    exceptions: Counter[str] = Counter()
    for path, names in sorted(wanted.items()):
        try:
            tree = ast.parse((root / path).read_text(encoding="utf-8", errors="replace"))
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
                node.name in names or not node.name.startswith("test")
            ):
                _constants(node, ints, strings)
                _raises(node, exceptions)
    return Harvest(
        tuple(n for n, _ in ints.most_common(16)),
        tuple(s for s, _ in strings.most_common(24)),
        tuple(e for e, _ in exceptions.most_common(4)),
    )


def _constants(function: ast.AST, ints: Counter[int], strings: Counter[str]) -> None:
    for node in ast.walk(function):
        sides = (
            node.comparators if isinstance(node, ast.Compare) else node.args[1:] if isinstance(node, ast.Call) else []
        )
        # What a result is compared with says more than what goes in.
        for weight, root in ((3, sides), (1, [node] if isinstance(node, ast.Constant) else [])):
            for side in root:
                for part in ast.walk(side):
                    if isinstance(part, ast.Constant):
                        if type(part.value) is int:
                            ints[part.value] += weight
                        elif isinstance(part.value, str) and 0 < len(part.value) <= MAX_STRING:
                            strings[part.value] += weight


def _raises(function: ast.AST, exceptions: Counter[str]) -> None:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("raises", "assertRaises", "assertRaisesRegex"):
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.Name):
                        exceptions[part.id] += 1
