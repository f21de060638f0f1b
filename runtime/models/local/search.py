"""The search: single edits best first, then pairs seeded by what came nearer. The same input gives the same order."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from runtime.models.local.candidate import Candidate, overlap
from runtime.models.local.oracle import Oracle
from runtime.models.local.plans import make_plan, reaches
from runtime.models.local.space import Scored, Space
from runtime.models.local.trials import Driver
from runtime.models.local.verdict import Verdict, judge

MAX_SEEDS = 12
PAIRS_PER_SEED = 500
SLACK = 8.0
FIRST_SINGLES, FIRST_LATE, MORE_LATE, LAST_LATE = 400, 16, 40, 200
LATE_PLAN = 1001
LOOKAHEAD = 120
"""Candidates still tried for a complete fix once one of several bugs is mended."""
BLIND = 200
BLIND_PAIRS = 6000
DOUBT, DOUBT_S = 150, 6.0
"""Candidates and seconds for which something better is looked for behind a doubtful complete one."""
GRACE_S = 20.0
"""Seconds after the best partial success in which something better may still come."""


@dataclass
class Tally:
    """What the search has done so far."""

    tried: int = 0
    seconds: float = 0.0
    best: Scored | None = None
    best_verdict: Verdict | None = None
    timed_out: list[Scored] = field(default_factory=list)
    partials: list[tuple[Scored, Verdict]] = field(default_factory=list)
    settled: tuple[Scored, Verdict] | None = None
    """The first candidate that satisfies every failing test that reaches its function, where others fail elsewhere."""
    settled_at: int = 0
    doubted_at: tuple[int, float] | None = None
    """Candidates and seconds when a complete candidate was found that is in doubt."""
    best_clean: tuple[int, int] | None = None
    improved_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate worth proposing, with what the trials said."""

    scored: Scored
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: candidates tried and wall seconds, for one call."""

    candidates: int = 12_000
    seconds: float = 50.0


@dataclass
class Search:
    """Runs candidates through the driver and yields complete fixes in the order of their rank."""

    driver: Driver
    oracle: Oracle
    space: Space
    broken: list[str]
    limits: Limits
    tally: Tally
    skip: Callable[[Candidate], bool]
    progress: Callable[[Tally], None]
    _began: float = field(default_factory=time.monotonic)

    async def prepare(self) -> None:
        """Tell the driver which tests each site's candidates face."""
        for number, place in enumerate(self.space.places):
            await self.driver.tell(make_plan(number + 1, self.oracle, place, self.broken))
            slow = make_plan(number + LATE_PLAN, self.oracle, place, self.broken, SLACK)
            await self.driver.tell(slow)

    async def complete(self) -> AsyncGenerator[Found, None]:
        """Candidates that satisfy all failing tests and break none."""
        singles = self._singles()
        phases = (
            (itertools.islice(singles, FIRST_SINGLES), 1),
            (self._late(FIRST_LATE), LATE_PLAN),
            (singles, 1),
            (self._late(MORE_LATE), LATE_PLAN),
            (self._pairs(), 1),
            (self._blind_pairs(), 1),
            (self._late(LAST_LATE), LATE_PLAN),
        )
        for candidates, plan in phases:
            async with aclosing(self._try(candidates, plan)) as found:
                async for one in found:
                    yield one

    def _late(self, count: int) -> Iterator[Scored]:
        """Candidates that ran into their time limit, best first, to be tried once more with a longer one."""
        waiting = sorted(self.tally.timed_out, key=lambda s: -s.score)[:count]
        taken = {id(scored) for scored in waiting}
        self.tally.timed_out = [s for s in self.tally.timed_out if id(s) not in taken]
        yield from waiting

    def _singles(self) -> Iterator[Scored]:
        for scored in self.space.ranked:
            if not self.skip(scored.candidate) and self.space.distinct(scored.candidate):
                yield scored

    def _pairs(self) -> Iterator[Scored]:
        """Pairs of a partial success and another edit, the best seeds first and all seeds in turn."""
        seeds = sorted(self.tally.partials, key=lambda p: (tuple(-v for v in p[1].value), -p[0].score))[:MAX_SEEDS]
        streams = [self._with(seed) for seed, _ in seeds]
        while streams:
            for stream in list(streams):
                batch = list(itertools.islice(stream, 40))
                if not batch:
                    streams.remove(stream)
                yield from batch

    def _blind_pairs(self) -> Iterator[Scored]:
        """Pairs of the best single edits, best product first, though neither alone came nearer."""
        best = self.space.ranked[:BLIND]
        heap = [(-best[i].score * best[i + 1].score, i, i + 1) for i in range(len(best) - 1)]
        heapq.heapify(heap)
        count = 0
        while heap and count < BLIND_PAIRS:
            _, i, j = heapq.heappop(heap)
            if j + 1 < len(best):
                heapq.heappush(heap, (-best[i].score * best[j + 1].score, i, j + 1))
            pair = _joined(best[i], best[j])
            if pair is not None and not self.skip(pair.candidate) and self.space.distinct(pair.candidate):
                count += 1
                yield pair

    def _with(self, seed: Scored) -> Iterator[Scored]:
        count = 0
        for other in self.space.ranked:
            if count >= PAIRS_PER_SEED:
                return
            pair = _joined(seed, other)
            if pair is not None and not self.skip(pair.candidate) and self.space.distinct(pair.candidate):
                count += 1
                yield pair

    @property
    def over(self) -> bool:
        """Whether a limit is reached."""
        tally = self.tally
        tally.seconds = time.monotonic() - self._began
        late = tally.best_clean is not None and tally.seconds - tally.improved_at >= GRACE_S
        settled = tally.settled is not None and tally.tried >= tally.settled_at + LOOKAHEAD
        doubted = tally.doubted_at
        enough = doubted is not None and (tally.tried >= doubted[0] + DOUBT or tally.seconds >= doubted[1] + DOUBT_S)
        return (
            settled or late or enough or tally.tried >= self.limits.candidates or tally.seconds >= self.limits.seconds
        )

    async def _try(self, candidates: Iterator[Scored], plan: int) -> AsyncGenerator[Found, None]:
        """Run candidates; note partial successes."""
        flying: list[Scored] = []

        def feed() -> Iterator[tuple[Candidate, int]]:
            for scored in candidates:
                if self.over:
                    return
                flying.append(scored)
                yield scored.candidate, scored.site + plan

        async for result in self.driver.judge(feed()):
            scored = flying.pop(0)
            self.tally.tried += 1
            verdict = judge(self.oracle, result, len(self.broken))
            if verdict.complete:
                yield Found(scored, verdict)
            self._note(scored, verdict, plan)
            self.progress(self.tally)
            if self.over:
                await self.driver.cancel()
                return

    def _note(self, scored: Scored, verdict: Verdict, plan: int) -> None:
        tally = self.tally
        if verdict.timed_out and not verdict.broken and plan == 1:
            tally.timed_out.append(scored)
        if verdict.mended or verdict.nearer:
            tally.partials.append((scored, verdict))
            if tally.settled is None and not verdict.timed_out and self._settles(scored, verdict):
                tally.settled, tally.settled_at = (scored, verdict), tally.tried
            self._note_clean(scored, verdict)
            if tally.best_verdict is None or verdict.value > tally.best_verdict.value:
                tally.best, tally.best_verdict = scored, verdict

    def _note_clean(self, scored: Scored, verdict: Verdict) -> None:
        """A success that breaks nothing: with several bugs no single edit can do more than its own part."""
        tally = self.tally
        if not verdict.clean or verdict.timed_out:
            return
        if tally.best_clean is None or verdict.value > tally.best_clean:
            tally.best_clean, tally.improved_at = verdict.value, time.monotonic() - self._began

    def _settles(self, scored: Scored, verdict: Verdict) -> bool:
        """Whether what still fails never reaches the changed function: then another bug is to blame for it."""
        if not verdict.clean or scored.candidate.removes:
            return False
        left = [t for t in self.oracle.failing if t.index not in verdict.mended]
        place = self.space.places[scored.site]
        return bool(left) and all(t.lines is not None and not reaches(t, place) for t in left)


def _joined(first: Scored, second: Scored) -> Scored | None:
    """Two candidates as one; None where they touch the same text."""
    a, b = first.candidate, second.candidate
    if overlap(a, b):
        return None
    operator = f"{a.operator} and {b.operator}"
    pair = Candidate((*a.edits, *b.edits), operator, a.prior * b.prior, a.line, a.removes or b.removes)
    return Scored(pair, first.score * second.score, first.site)
