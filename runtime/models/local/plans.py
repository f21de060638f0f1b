"""Which tests a candidate has to face, in which order: for each site the failing tests that reach it first."""

from __future__ import annotations

from typing import Any

from runtime.models.local.oracle import Oracle, TestFacts, spread
from runtime.models.local.space import Place

PROBES = 5
"""Failing tests after which a candidate without any success is dropped."""
PASSING_CPU_S = 3.0
"""Processor time that the passing tests may take per promising candidate; the real run in the end has them all."""
MAX_FAILING = 60


def reaches(test: TestFacts, place: Place) -> bool:
    """Whether a test executes a line of the place, as far as it was traced."""
    if test.lines is None:
        return False
    path = place.site.source.path
    return any(file == path and place.first <= line <= place.last for file, line in test.lines)


def make_plan(number: int, oracle: Oracle, place: Place, broken: list[str], slack: float = 1.0) -> dict[str, Any]:
    """The plan for candidates of one site; `slack` stretches the time limits."""
    ordered = sorted(oracle.failing, key=lambda t: (not reaches(t, place), t.status == "timeout", t.cpu))
    reached = [t for t in ordered if reaches(t, place)] or ordered
    first = spread([t for t in reached if t.status != "timeout"] or reached, MAX_FAILING)
    known = {t.index for t in first}
    failing = [*first, *(t for t in ordered if t.index not in known)]
    passing = sorted(oracle.passing, key=lambda t: (not reaches(t, place), t.lines is not None, t.cpu))
    chosen: list[TestFacts] = []
    spent = 0.0
    for test in passing:
        spent += test.cpu
        if spent > PASSING_CPU_S and chosen:
            break
        chosen.append(test)
    return {
        "plan": number,
        "failing": [[t.index, oracle.limit(t) * slack, list(t.misses), t.hits] for t in failing],
        "passing": [[t.index, oracle.limit(t) * slack] for t in chosen],
        "probe": min(PROBES, len(reached)) or 1,
        "patience": 2,
        "broken": broken,
        "fresh_limit": 2.0 * slack,
    }
