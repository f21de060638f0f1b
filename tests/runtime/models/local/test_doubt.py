"""A fix that the tests only happen to allow gives way to a likelier one that comes soon behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from runtime.models.local.candidate import Candidate
from runtime.models.local.oracle import Oracle, TestFacts
from runtime.models.local.search import DOUBT, Limits, Search, Tally
from runtime.models.local.site import Site
from runtime.models.local.source import SourceFile
from runtime.models.local.space import Place, Scored, Space
from runtime.models.local.trials import Hello, JobResult

HELLO = Hello(("test_m.py::test_f",), (), (), {}, (3, 11), False)


class _Driver:
    """Answers every candidate with a test that still fails."""

    asked = 0

    async def judge(self, candidates: Iterator[tuple[Candidate, int]]) -> AsyncIterator[JobResult]:
        for _ in candidates:
            self.asked += 1
            yield JobResult("done", ({"item": 0, "status": "failed", "misses": [], "hits": 0}, {"end": True}))

    async def cancel(self) -> None:
        """Nothing is in flight."""


async def test_the_search_ends_soon_behind_a_doubtful_fix() -> None:
    source = SourceFile("m.py", "def f(a):\n    return a\n")
    site = Site(source, source.functions[0])
    returned = next(node for node in site.loads if source.text_of(node) == "a")
    ranked = [Scored(site.swap(returned, f"a + {n}", "term added", 0.5), 1.0 / n, 0) for n in range(1, DOUBT * 3)]
    oracle = Oracle(HELLO, [TestFacts(0, "test_m.py::test_f", "failed")])
    oracle.failing = oracle.tests
    space = Space({"m.py": source}, {}, [Place(site, 1, 2, 1.0)], ranked)
    driver, tally = _Driver(), Tally()

    def progress(now: Tally) -> None:
        if now.tried == 10:
            now.doubted_at = (now.tried, now.seconds)

    search = Search(cast(Any, driver), oracle, space, [], Limits(), tally, lambda candidate: False, progress)
    async for _ in search.complete():
        raise AssertionError("nothing satisfies the test")
    assert tally.tried == 10 + DOUBT
