"""Which files may be edited: the project's own Python files that tests import, never tests, conftest or settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from runtime.models.local.source import SourceFile, Unreadable, read_source

_TEST = re.compile(
    r"(^|/)(tests?|testing|conftest\.py$|test_[^/]*\.py$|[^/]*_test\.py$|docs?|examples?|benchmarks?)(/|$)"
)
_SETTINGS = frozenset({"setup.py", "noxfile.py", "tasks.py", "manage.py", "conf.py"})


def is_test(path: str, collected: Iterable[str]) -> bool:
    """Whether a path belongs to the tests."""
    return path in set(collected) or _TEST.search(path) is not None


def is_settings(path: str) -> bool:
    """Whether a Python file only sets the project up."""
    return path.rpartition("/")[2] in _SETTINGS


def editable_sources(
    root: Path, modules: Iterable[str], tests: Iterable[str]
) -> tuple[dict[str, SourceFile], list[str]]:
    """Files that may be edited, parsed; and why others can't be."""
    known = set(tests)
    found: dict[str, SourceFile] = {}
    problems: list[str] = []
    for path in sorted(set(modules)):
        if is_test(path, known) or is_settings(path) or path.startswith(".."):
            continue
        try:
            found[path] = read_source(root, path)
        except Unreadable as error:
            problems.append(str(error))
        except OSError:
            continue
    return found, problems
