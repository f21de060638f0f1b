"""How many real bugs the embedded model fixes: each row of a bug set as a small repository, through the command line.

    python tests/benchmarks/local_bugsets.py --set humanevalfix --limit 20

Reads `tasks_<set>_python.jsonl.gz` from the folder that --data or LOOPTOP_DATA names. A claimed pass is checked again by running the
row's whole tests on the changed file in a fresh process. Prints a line per row, then shares, and candidates a second beside a
plain pytest start.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0


@dataclass(frozen=True)
class Row:
    """One bug: the files of its repository."""

    name: str
    files: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """What came of one row."""

    name: str
    reason: str
    code: int
    seconds: float
    checked: bool | None
    """Whether the claimed fix passes the tests in a fresh process; None where none was claimed."""
    detail: str
    rate: float | None


def humanevalfix(row: dict[str, Any]) -> Row:
    """Declaration and buggy body as a module, the row's checker as a pytest file."""
    test = re.sub(r"^check\(.*\)\s*$", "", row["test"], flags=re.MULTILINE)
    name = row["entry_point"]
    return Row(
        row["task_id"],
        {
            "solution.py": row["declaration"] + row["buggy_solution"],
            "test_solution.py": f"from solution import *\nfrom solution import {name}\n\n{test}\n\n\ndef test_all():\n    check({name})\n",
        },
    )


def quixbugs(row: dict[str, Any]) -> Row | None:
    """The program and its cases; None for a helper module or a row without cases."""
    cases = row.get("json_tests")
    if not cases or not row.get("buggy"):
        return None
    name = row.get("name") or row["task_id"].rpartition("/")[2]
    body = (
        f"import json\nimport types\n\nimport pytest\n\nfrom {name} import {name}\n\nCASES = json.loads({json.dumps(cases)!r})\n\n\n"
        "@pytest.mark.parametrize('case', CASES, ids=range(len(CASES)))\ndef test_case(case):\n    given, expected = case\n"
        f"    got = {name}(*(given if isinstance(given, list) else [given]))\n"
        "    if isinstance(got, types.GeneratorType):\n        got = list(got)\n"
        "    assert json.loads(json.dumps(got)) == expected or got == expected\n"
    )
    return Row(name, {f"{name}.py": row["buggy"], f"test_{name}.py": body})


def load(folder: Path, which: str) -> list[Row]:
    """The rows of a set."""
    path = folder / f"tasks_{which}_python.jsonl.gz"
    if not path.exists():
        sys.exit(f"there is no {path}: give the data's folder with --data or LOOPTOP_DATA")
    with gzip.open(path, "rt") as lines:
        raw = [json.loads(line) for line in lines]
    made = [humanevalfix(row) if which == "humanevalfix" else quixbugs(row) for row in raw]
    return [row for row in made if row is not None]


def repository(row: Row, folder: Path) -> Path:
    """Write a row as a repository with one commit."""
    folder.mkdir(parents=True)
    for name, text in row.files.items():
        (folder / name).write_text(text)
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", row.name]):
        subprocess.run(["git", *args], cwd=folder, check=True)
    return folder


def run_row(row: Row, place: Path, number: int) -> Outcome:
    """One run of looptop on one row."""
    repo = repository(row, place / f"row{number}")
    env = {
        **os.environ,
        "LOOPTOP_HOME": str(place / f"home{number}"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    command = [
        sys.executable,
        "-m",
        "tui",
        "run",
        "--model",
        "local",
        "--repo",
        str(repo),
        "--verify",
        "python -m pytest -q",
    ]
    began = time.monotonic()
    try:
        done = subprocess.run(
            [*command, "--headless", "--json", "--apply", "--budget-minutes", "1"],
            cwd=ROOT, env=env, capture_output=True, text=True, timeout=LIMIT_S * 3, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome(row.name, "timeout", -1, time.monotonic() - began, None, "", None)
    seconds = time.monotonic() - began
    last = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {}
    checked = None
    if last.get("reason") == "passed":
        again = subprocess.run(
            [sys.executable, "-m", "pytest", "-q"], cwd=repo, capture_output=True, timeout=120, check=False
        )
        checked = again.returncode == 0
    words = f"{last.get('summary', '')} {last.get('detail', '')}"
    tried = re.search(r"([\d,]+) candidates? tried in ([\d.]+) s", words)
    rate = None
    if tried and float(tried.group(2)) > 0.2:
        rate = int(tried.group(1).replace(",", "")) / float(tried.group(2))
    detail = str(last.get("detail") or done.stderr.strip().rpartition("\n")[2])
    return Outcome(row.name, str(last.get("reason")), done.returncode, seconds, checked, detail[:120], rate)


def pytest_start(place: Path, row: Row) -> float:
    """Seconds of one plain pytest start on a row, the median of five."""
    repo = repository(row, place / "plain")
    times = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=repo, capture_output=True, timeout=120, check=False)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("humanevalfix", "quixbugs"), default="humanevalfix")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LOOPTOP_DATA", "data")))
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    rows = load(asked.data, asked.set)[asked.start : asked.start + asked.limit]
    with tempfile.TemporaryDirectory(prefix="looptop-bugs-") as folder, ThreadPoolExecutor(asked.jobs) as pool:
        place = Path(folder)
        results = []
        for outcome in pool.map(lambda item: run_row(item[1], place, item[0]), enumerate(rows)):
            results.append(outcome)
            fits = "" if outcome.seconds <= LIMIT_S else "  over the limit"
            false = "  FALSE PASS" if outcome.checked is False else ""
            print(
                f"{outcome.name:<16} {outcome.reason:<12} {outcome.seconds:6.1f} s{fits}{false}  {outcome.detail}",
                flush=True,
            )
        plain = pytest_start(place, rows[0])
    passed = [o for o in results if o.checked and o.seconds <= LIMIT_S]
    rates = [o.rate for o in results if o.rate]
    print(f"\npassed within {LIMIT_S:.0f} s: {len(passed)} of {len(results)} ({len(passed) / len(results):.0%})")
    print(f"false passes: {sum(o.checked is False for o in results)}")
    print(
        f"gave up: {sum(o.reason == 'gave_up' for o in results)}; median {statistics.median(o.seconds for o in results):.1f} s a row"
    )
    if rates:
        rate = statistics.median(rates)
        print(
            f"candidates a second: {rate:,.0f}; plain pytest starts a second: {1 / plain:.1f}; ratio {rate * plain:,.0f}"
        )


if __name__ == "__main__":
    main()
