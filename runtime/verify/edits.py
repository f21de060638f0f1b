"""Which changed paths are tests or verify settings: a pass that edited them needs a person's eye."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_FOLDERS = frozenset(
    {"tests", "test", "__tests__", "spec", "testing", "testdata", "__snapshots__", "fixtures", "e2e", "__mocks__"}
)
_FILES = re.compile(
    r"^(?:tests?\.py|test_.+\.py|.+_tests?\.(?:py|go|rs|exs?|rb|c|cc|cpp)|tests\.rs|conftest\.py"
    r"|.+[.-](?:test|spec|cy|e2e)\.[cm]?[jt]sx?|.+Tests?\.(?:java|kt|cs|php|swift)|.+_spec\.rb|.+\.snap|.+\.ambr)$"
)
_SETTINGS = re.compile(
    r"^(?:\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|setup\.cfg|pyproject\.toml|noxfile\.py|\.coveragerc|\.?mypy\.ini|\.?ruff\.toml"
    r"|\.flake8|\.pylintrc|pyrightconfig\.json|package\.json|(?:jest|vitest|vite|eslint|babel|playwright|cypress)\.config\.[cm]?[jt]s"
    r"|jest\.setup\.[cm]?[jt]s|\.eslintrc.*|\.eslintignore|\.mocharc.*|tsconfig.*\.json|[Mm]akefile|GNUmakefile|justfile"
    r"|\.golangci\.ya?ml|looptop\.toml|sitecustomize\.py|usercustomize\.py|.+\.pth)$"
)
_WORD = re.compile(r"[^\s;&|()<>'\"=]+")


def edited_checks(paths: Iterable[str], commands: Iterable[str] = ()) -> tuple[str, ...]:
    """The paths among these that are tests, settings of verify commands, or files that a verify command names."""
    named = {str(PurePosixPath(word)) for command in commands for word in _WORD.findall(command)}
    return tuple(path for path in paths if _is_test(PurePosixPath(path)) or path in named)


def _is_test(path: PurePosixPath) -> bool:
    folders = {part.lower() for part in path.parts[:-1]}
    return bool(folders & _FOLDERS or _FILES.match(path.name) or _SETTINGS.match(path.name))
