"""The rows of a bug set as small repositories, for local_bugsets.py."""

from __future__ import annotations

import gzip
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXTRA_INPUTS = 200


@dataclass(frozen=True)
class Row:
    """One bug: the files of its repository."""

    name: str
    files: dict[str, str]
    whole: dict[str, str] = field(default_factory=dict)
    """Tests that the engine doesn't see, which its fix is checked by."""
    reference: dict[str, Any] | None = None
    """What local_equality.py asks for, but for the patched text."""


def humanevalfix(row: dict[str, Any], *, examples: bool = False) -> Row:
    """Declaration and buggy body as a module, the row's checker as a pytest file."""
    name = row["entry_point"]
    whole = _checker(row["test"], name)
    shown = _checker(row["example_test"], name) if examples else whole
    return Row(
        row["task_id"],
        {"solution.py": row["declaration"] + row["buggy_solution"], "test_solution.py": shown},
        {"test_solution.py": whole} if examples else {},
        {
            "reference": row["declaration"] + row["canonical_solution"],
            "test": row["test"],
            "name": name,
            "count": EXTRA_INPUTS,
        },
    )


def _checker(test: str, name: str) -> str:
    text = re.sub(r"^check\(.*\)\s*$", "", test, flags=re.MULTILINE)
    return f"from solution import *\nfrom solution import {name}\n\n{text}\n\n\ndef test_all():\n    check({name})\n"


def quixbugs(row: dict[str, Any], helpers: dict[str, str]) -> Row | None:
    """The program with its own pytest file and cases, in the layout of its origin; None for a helper module."""
    if not row.get("buggy"):
        return None
    name = row["name"]
    cases = "".join(json.dumps(case) + "\n" for case in row.get("json_tests") or [])
    files = {
        f"python_programs/{name}.py": row["buggy"],
        "python_programs/__init__.py": "",
        f"tests/test_{name}.py": row["pytest"],
        "tests/conftest.py": "import sys\nfrom pathlib import Path\n\nimport pytest\n\npytest.use_correct = False\n"
        "sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]\n",
        "tests/node.py": helpers["_node_helper"],
        "tests/load_testdata.py": helpers["_load_testdata_helper"],
        f"json_testcases/{name}.json": cases,
    }
    return Row(name, files)


def load(folder: Path, which: str, *, examples: bool = False) -> list[Row]:
    """The rows of a set."""
    path = folder / f"tasks_{which}_python.jsonl.gz"
    if not path.exists():
        print(f"there is no {path}: give the data's folder with --data or LOOPTOP_DATA; nothing is measured")
        sys.exit(0)
    with gzip.open(path, "rt") as lines:
        raw = [json.loads(line) for line in lines]
    helpers = {row["name"]: row["fixed"] for row in raw if "name" in row and not row.get("buggy")}
    made = [humanevalfix(row, examples=examples) if which == "humanevalfix" else quixbugs(row, helpers) for row in raw]
    return [row for row in made if row is not None]
