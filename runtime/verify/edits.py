"""Which changed paths are tests or verify settings: a pass that edited them needs a person's eye."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_FOLDERS = {"tests", "test", "__tests__", "spec", "testing", "testdata", "__snapshots__"}
_FILES = re.compile(
    r"^(?:test_.+\.py|.+_tests?\.(?:py|go|rs|exs?)|conftest\.py|.+[.-](?:test|spec)\.[cm]?[jt]sx?|.+Tests?\.(?:java|kt|cs)|.+_spec\.rb)$"
)
_SETTINGS = re.compile(
    r"^(?:pytest\.ini|\.?pytest\.toml|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|\.coveragerc|mypy\.ini|\.mypy\.ini|\.?ruff\.toml"
    r"|package\.json|(?:jest|vitest|eslint|babel)\.config\.[cm]?[jt]s|\.eslintrc.*|tsconfig.*\.json|Makefile|makefile|GNUmakefile"
    r"|looptop\.toml|sitecustomize\.py|usercustomize\.py)$"
)


def edited_checks(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths among these that are tests or settings of verify commands."""
    found = []
    for path in paths:
        pure = PurePosixPath(path)
        folders = {part.lower() for part in pure.parts[:-1]}
        if folders & _FOLDERS or _FILES.match(pure.name) or _SETTINGS.match(pure.name):
            found.append(path)
    return tuple(found)
