"""How many real bugs the embedded model fixes: each row of a bug set as a small repository, through the command line.

    python tests/benchmarks/local_bugsets.py --set humanevalfix --limit 20
    python tests/benchmarks/local_bugsets.py --set quixbugs --engine
    python tests/benchmarks/local_bugsets.py --set humanevalfix --engine --examples

Reads `tasks_<set>_python.jsonl.gz` from the folder that --data or LOOPTOP_DATA names. A claimed pass is checked again by running the
row's whole tests on the changed file in a fresh process, and compared with the reference on 200 extra inputs where the set has one
(local_equality.py). With --examples the engine sees only the tests that the docstring's examples make. Prints a line per row, then
shares, and candidates a second beside a plain pytest start.
"""

from __future__ import annotations

import argparse
import asyncio
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.local_rows import EXTRA_INPUTS, Row, load

from runtime.models.local.explain import change_words

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60.0


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
    unequal: str | None = None
    """An extra input on which the fix differs from the reference; empty where none did; None where it wasn't compared."""


def repository(row: Row, folder: Path) -> Path:
    """Write a row as a repository with one commit."""
    folder.mkdir(parents=True)
    for name, text in row.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
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
    checked, unequal = None, None
    if last.get("reason") == "passed":
        checked, unequal = fresh_check(repo, row), differs(repo, row)
    words = f"{last.get('summary', '')} {last.get('detail', '')}"
    tried = re.search(r"([\d,]+) candidates? tried in ([\d.]+) s", words)
    rate = None
    if tried and float(tried.group(2)) > 0.2:
        rate = int(tried.group(1).replace(",", "")) / float(tried.group(2))
    detail = str(last.get("detail") or done.stderr.strip().rpartition("\n")[2])
    return Outcome(row.name, str(last.get("reason")), done.returncode, seconds, checked, detail[:120], rate, unequal)


def engine_row(row: Row, place: Path, number: int) -> Outcome:
    """The engine alone on one row, one complete patch or none; what it claims is checked by the row's tests in a fresh process."""
    from runtime.events.values import VerifySpec
    from runtime.models.local.outcome import Job, Patch
    from runtime.models.local.session import RepairSession
    from runtime.models.local.source import apply_edits
    from runtime.process.env import scrubbed_env

    repo = repository(row, place / f"row{number}")
    scratch = place / f"scratch{number}"
    scratch.mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = scrubbed_env({**os.environ, "PATH": path}, "bench")
    job = Job(repo, (VerifySpec(command="python -m pytest -q", timeout_s=LIMIT_S),), scratch, env)
    began = time.monotonic()
    outcome = asyncio.run(RepairSession(job).next_patch())
    seconds = time.monotonic() - began
    rate = outcome.tried / outcome.seconds if outcome.seconds > 0.2 else None
    if not isinstance(outcome, Patch):
        return Outcome(row.name, "gave_up", 1, seconds, None, f"{outcome.tried} tried: {outcome.why}"[:120], rate)
    words = f"{outcome.tried} tried: {change_words(outcome.candidate, outcome.sources)} [{outcome.candidate.operator}]"
    if not outcome.whole:
        return Outcome(row.name, "partial", 1, seconds, None, words[:160], rate)
    for file in {edit.path for edit in outcome.candidate.edits}:
        edits = tuple(edit for edit in outcome.candidate.edits if edit.path == file)
        (repo / file).write_text(apply_edits(outcome.sources[file].text, edits))
    checked = fresh_check(repo, row)
    return Outcome(row.name, "passed", 0, seconds, checked, words[:160], rate, differs(repo, row))


def fresh_check(repo: Path, row: Row) -> bool:
    """Whether the row's whole tests pass in a fresh process."""
    for name, text in row.whole.items():
        (repo / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q"]
    return subprocess.run(command, cwd=repo, capture_output=True, timeout=120, check=False).returncode == 0


def differs(repo: Path, row: Row) -> str | None:
    """The first extra input on which the fix and the reference differ; None where there is nothing to compare with."""
    if row.reference is None:
        return None
    asked = json.dumps({**row.reference, "patched": (repo / "solution.py").read_text()})
    command = [sys.executable, str(Path(__file__).with_name("local_equality.py"))]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=300, check=False)
    found = json.loads(done.stdout) if done.returncode == 0 else {}
    return str(found["example"]) if found.get("inputs") else None


def pytest_start(place: Path, row: Row) -> float:
    """Seconds of one plain pytest start on a row, the median of five."""
    repo = repository(row, place / "plain")
    times = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=repo, capture_output=True, timeout=120, check=False)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def _differing(outcome: Outcome) -> str:
    return f"  DIFFERS at {outcome.unequal}" if outcome.unequal else ""


def tell(results: list[Outcome], *, examples: bool) -> None:
    """Print the shares."""
    claimed = [o for o in results if o.checked is not None]
    passed = [o for o in claimed if o.checked and o.seconds <= LIMIT_S]
    print(f"\npassed within {LIMIT_S:.0f} s: {len(passed)} of {len(results)} ({len(passed) / len(results):.0%})")
    if examples:
        right = sum(bool(o.checked) for o in claimed)
        print(
            f"called fixed by the examples: {len(claimed)}; of these the whole tests pass: {right} ({right / max(1, len(claimed)):.0%})"
        )
    else:
        print(f"false passes: {len(claimed) - sum(bool(o.checked) for o in claimed)}")
    compared = [o for o in passed if o.unequal is not None]
    if compared:
        equal = sum(not o.unequal for o in compared)
        print(
            f"equal to the reference on {EXTRA_INPUTS} extra inputs: {equal} of {len(compared)} ({equal / len(compared):.0%})"
        )
    median = statistics.median(o.seconds for o in results)
    print(f"gave up: {sum(o.reason == 'gave_up' for o in results)}; median {median:.1f} s a row")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("humanevalfix", "quixbugs"), default="humanevalfix")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LOOPTOP_DATA", "data")))
    parser.add_argument("--examples", action="store_true", help="only the docstring's examples as tests (humanevalfix)")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="names of rows")
    parser.add_argument("--engine", action="store_true", help="the engine alone, without the loop around it")
    asked = parser.parse_args()
    rows = load(asked.data, asked.set, examples=asked.examples)[asked.start : asked.start + asked.limit]
    rows = [row for row in rows if not asked.only or row.name in asked.only]
    run = engine_row if asked.engine else run_row
    with tempfile.TemporaryDirectory(prefix="looptop-bugs-") as folder, ThreadPoolExecutor(asked.jobs) as pool:
        place = Path(folder)
        results = []
        for outcome in pool.map(lambda item: run(item[1], place, item[0]), enumerate(rows)):
            results.append(outcome)
            fits = "" if outcome.seconds <= LIMIT_S else "  over the limit"
            false = "  FALSE PASS" if outcome.checked is False else ""
            print(
                f"{outcome.name:<16} {outcome.reason:<12} {outcome.seconds:6.1f} s{fits}{false}{_differing(outcome)}  {outcome.detail}",
                flush=True,
            )
        quickest = min(range(len(rows)), key=lambda at: results[at].seconds)
        plain = pytest_start(place, rows[quickest])
    tell(results, examples=asked.examples)
    rates = [o.rate for o in results if o.rate]
    if rates:
        rate = statistics.median(rates)
        print(
            f"candidates a second: {rate:,.0f}; plain pytest starts a second: {1 / plain:.1f}; ratio {rate * plain:,.0f}"
        )


if __name__ == "__main__":
    main()
