"""What the tests say before any candidate: which fail, how long each takes, which lines each executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.models.local.trials import Driver, Hello, JobResult

FIRST_LIMIT_S = 1.0
LATER_LIMIT_S = 0.15
TRACED_TIMEOUTS = 6
LONG_LIMIT_S = 15.0
MAX_SLOW = 3
MAX_TIMEOUTS = 6
MIN_LIMIT_S = 0.04
"""Least processor time of a test in a trial; candidates that ran into it get a second chance in the end."""
TRACED_FAILING = 24
TRACED_PASSING = 150
TRACE_FACTOR = 60.0
Line = tuple[str, int]


@dataclass
class TestFacts:
    """One test: how it ends, its processor time in seconds, what it executes."""

    __test__ = False

    index: int
    id: str
    status: str = ""
    cpu: float = 0.0
    error: str = ""
    message: str = ""
    frames: list[Line] = field(default_factory=list)
    misses: tuple[int, ...] = ()
    hits: int = 0
    lines: frozenset[Line] | None = None
    parts: dict[int, frozenset[Line]] = field(default_factory=dict)
    hit_lines: tuple[int, ...] = ()


@dataclass
class Oracle:
    """All tests of the session. Flaky ones are in neither list."""

    hello: Hello
    tests: list[TestFacts]
    failing: list[TestFacts] = field(default_factory=list)
    passing: list[TestFacts] = field(default_factory=list)
    flaky: list[TestFacts] = field(default_factory=list)
    types: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    """Types of variables, by `file:first line` of the function."""

    def limit(self, test: TestFacts) -> float:
        """Processor seconds that a test may take in a trial."""
        known = [t.cpu for t in self.passing] or [0.002]
        usual = sorted(known)[len(known) // 2]
        own = test.cpu if test.status == "passed" or test.cpu else usual
        return round(min(60.0, max(MIN_LIMIT_S, min(15 * own, 3 * own + 0.4), min(6 * usual, 1.0))), 3)


async def learn(driver: Driver, hello: Hello, known_failing: frozenset[str] = frozenset()) -> Oracle:
    """Run every test twice, the second time with soft assertions and traced."""
    oracle = Oracle(hello, [TestFacts(at, nodeid) for at, nodeid in enumerate(hello.items)])
    first = await _run_all(driver, oracle, range(len(oracle.tests)))
    for index, line in first.items():
        _take(oracle.tests[index], line)
    await _slow_ones(driver, oracle, known_failing)
    await driver.tell({"op": "soften"})
    _sort(oracle)
    await _trace(driver, oracle)
    return oracle


async def _slow_ones(driver: Driver, oracle: Oracle, known_failing: frozenset[str]) -> None:
    """Tests that ran into the limit although they passed in the real run are only slow."""
    if not known_failing:
        return
    slow = [t.index for t in oracle.tests if t.status == "timeout" and t.id not in known_failing]
    for index in slow[:MAX_SLOW]:
        result = await driver.run({"items": [[index, LONG_LIMIT_S]], "limit": LONG_LIMIT_S})
        line = result.items.get(index)
        if line is not None:
            _take(oracle.tests[index], line)


def _take(test: TestFacts, line: Mapping[str, Any]) -> None:
    test.status = line["status"]
    test.cpu = float(line.get("cpu", 0.0))
    test.error = line.get("error", "")
    test.message = line.get("message", "")
    test.frames = [(frame[0], frame[1]) for frame in line.get("frames", [])]


async def _run_all(driver: Driver, oracle: Oracle, indices: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """Run the tests in order; where one ends the process, go on behind it."""
    found: dict[int, Mapping[str, Any]] = {}
    todo = list(indices)
    timeouts = 0
    while todo:
        limit = FIRST_LIMIT_S if timeouts < 1 else LATER_LIMIT_S
        # A job of its own for each stretch: the driver gives every line its own time.
        result = await driver.run({"items": [[index, limit] for index in todo], "limit": limit})
        found.update(result.items)
        culprit = result.running
        if culprit is None:
            break
        status = "timeout" if result.end == "timeout" else "crashed"
        found[culprit] = {"item": culprit, "status": status}
        timeouts += 1
        todo = todo[todo.index(culprit) + 1 :]
        if timeouts >= MAX_TIMEOUTS:
            # The rest of an endless family of cases tells nothing new; they count as failing with it.
            family = oracle.tests[culprit].id.partition("[")[0]
            for index in [i for i in todo if oracle.tests[i].id.partition("[")[0] == family]:
                found[index] = {"item": index, "status": "timeout"}
                todo.remove(index)
    return found


def _sort(oracle: Oracle) -> None:
    oracle.failing = [t for t in oracle.tests if t.status not in ("passed", "skipped", "")]
    oracle.passing = [t for t in oracle.tests if t.status == "passed"]


async def _trace(driver: Driver, oracle: Oracle) -> None:
    """Coverage of the failing tests, one process each, and of passing ones near them."""
    files = {t.id.partition("::")[0] for t in oracle.failing}
    near = sorted(oracle.passing, key=lambda t: (t.id.partition("::")[0] not in files, t.cpu))
    chosen = [t for t in near if t.cpu < 0.3][:TRACED_PASSING]
    asked = []
    endless = [t for t in spread(oracle.failing, TRACED_FAILING) if t.status == "timeout"]
    for test in spread(oracle.failing, TRACED_FAILING):
        if test in endless[TRACED_TIMEOUTS:]:
            continue
        limit = 0.3 if test in endless else min(10.0, max(1.0, TRACE_FACTOR * test.cpu))
        asked.append(await driver.ask({"items": [[test.index, limit]], "trace": True, "limit": limit}))
    if chosen:
        half = (len(chosen) + 1) // 2
        for part in (chosen[:half], chosen[half:]):
            items = [[t.index, min(20.0, max(1.0, TRACE_FACTOR * t.cpu))] for t in part]
            asked.append(await driver.ask({"items": items, "trace": True, "limit": 10.0}))
    for future in asked:
        _traced(oracle, await future)
    _compare_runs(oracle)


def spread(tests: Sequence[TestFacts], count: int) -> list[TestFacts]:
    """Tests from as many different functions as possible, in order."""
    families: dict[str, list[TestFacts]] = {}
    for test in tests:
        families.setdefault(test.id.partition("[")[0], []).append(test)
    found: list[TestFacts] = []
    rank = 0
    while len(found) < min(count, len(tests)):
        found += [family[rank] for family in families.values() if rank < len(family)]
        rank += 1
    return found[:count]


def _traced(oracle: Oracle, result: JobResult) -> None:
    for index, line in result.items.items():
        test = oracle.tests[index]
        test.lines = frozenset((path, n) for path, lines in line["lines"].items() for n in lines)
        test.parts = {
            int(at): frozenset((path, n) for path, lines in part.items() for n in lines)
            for at, part in line["parts"].items()
        }
        test.misses = tuple(line["misses"])
        test.hits = line["hits"]
        test.hit_lines = tuple(line["hit_lines"])
        for name, found in line["types"].items():
            place = oracle.types.setdefault(name, {})
            for variable, words in found.items():
                place.setdefault(variable, set()).update(words)
        if line["status"] != test.status and "timeout" not in (line["status"], test.status):
            oracle.flaky.append(test)


def _compare_runs(oracle: Oracle) -> None:
    """Tests that ended differently the second time say nothing about a candidate."""
    flaky = {t.index for t in oracle.flaky}
    oracle.failing = [t for t in oracle.failing if t.index not in flaky]
    oracle.passing = [t for t in oracle.passing if t.index not in flaky]
