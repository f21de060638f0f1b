"""A repair of one state of a workspace: learns what the tests say, searches, and comes back with a patch or the reason why not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from runtime.events.values import VerifySpec
from runtime.models.local.candidate import Candidate
from runtime.models.local.commands import TestCommand, test_command
from runtime.models.local.confirm import TIMEOUT_S, Confirmer
from runtime.models.local.editable import editable_sources
from runtime.models.local.errors import CannotHelp
from runtime.models.local.explain import lines_words, plural
from runtime.models.local.harvest import harvest
from runtime.models.local.localise import suspicion
from runtime.models.local.oracle import Line, Oracle, learn
from runtime.models.local.scratch import copy_workspace
from runtime.models.local.search import Found, Limits, Search, Tally
from runtime.models.local.source import SourceFile
from runtime.models.local.space import Space, build_space
from runtime.models.local.trials import Driver, Hello

WORKERS = 2
MAX_UNDECIDED = 4
"""Candidates whose success only a long real run can tell."""
UNDECIDED_S = 15.0
UNTRACED = 0.3


@dataclass(frozen=True, slots=True)
class Patch:
    """A candidate to propose. `whole` means that the real verify passed with it in a fresh process."""

    candidate: Candidate
    sources: Mapping[str, SourceFile]
    mended: int
    failing: int
    whole: bool
    tried: int
    seconds: float


@dataclass(frozen=True, slots=True)
class GaveUp:
    """No idea: why, what was most suspicious, and the candidate that came nearest."""

    why: str
    tried: int = 0
    seconds: float = 0.0
    suspicious: str = ""
    nearest: Candidate | None = None
    nearest_mended: int = 0
    failing: int = 0
    sources: Mapping[str, SourceFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """News while it works: a sentence, and figures where it is trying candidates."""

    words: str
    tried: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """What to repair: the workspace, how it is verified, and where to work."""

    workspace: Path
    steps: Sequence[VerifySpec]
    scratch: Path
    env: Mapping[str, str]
    run_id: str = "local"
    limits: Limits = field(default_factory=Limits)
    no_network: bool = True


class RepairSession:
    """Makes one patch at a time. Nothing is left running after `next_patch` has returned or was cancelled."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.tally = Tally()

    async def next_patch(
        self,
        refused: Callable[[Candidate, Mapping[str, SourceFile]], bool] = lambda candidate, sources: False,
        progress: Callable[[Progress], None] = lambda news: None,
        known_failing: frozenset[str] = frozenset(),
    ) -> Patch | GaveUp:
        """Search for a patch of the workspace as it is now; `refused` tells which candidates were tried in the loop already."""
        self.tally = Tally()
        driver: Driver | None = None
        try:
            command = test_command([step.command for step in self.job.steps], self.job.workspace, self.job.env)
            tree = await asyncio.to_thread(copy_workspace, self.job.workspace, self.job.scratch)
            driver = self._driver(tree, command)
            hello = await driver.start()
            return await self._repair(driver, hello, command, refused, progress, known_failing)
        except CannotHelp as error:
            return GaveUp(str(error), self.tally.tried, self.tally.seconds)
        finally:
            if driver is not None:
                await driver.close()

    def _driver(self, tree: Path, command: TestCommand) -> Driver:
        workers = max(1, min(WORKERS, os.cpu_count() or 1))
        return Driver(tree, command, self.job.scratch, self.job.env, workers, self.job.no_network)

    async def _repair(
        self,
        driver: Driver,
        hello: Hello,
        command: TestCommand,
        refused: Callable[[Candidate, Mapping[str, SourceFile]], bool],
        progress: Callable[[Progress], None],
        known_failing: frozenset[str],
    ) -> Patch | GaveUp:
        if not hello.items and not hello.errors:
            return GaveUp("there are no tests to go by")
        sources, problems = editable_sources(driver.root, hello.modules, hello.tests)
        oracle = await learn(driver, hello, known_failing)
        broken = sorted(hello.errors)
        if broken:
            sources = _with_unimported(driver.root, sources, hello)
        if not oracle.failing and not broken:
            return GaveUp("every test passes here, so there is nothing to go by")
        if not sources:
            return GaveUp(
                "; ".join(problems) or "the failing tests use no Python file of the project that may be edited"
            )
        lines = suspicion(oracle, frozenset(sources))
        if broken:
            lines = _import_suspicion(hello, sources) | lines
            lines = dict(sorted(lines.items(), key=lambda item: (-item[1], item[0])))
        if not lines:
            return GaveUp("the failing tests execute no line of the project's own Python files")
        space = await asyncio.to_thread(build_space, sources, oracle, lines, harvest(driver.root, oracle.failing))
        failing = len(oracle.failing) + len(broken)
        progress(Progress(_opening(oracle, failing, lines, sources, len(space.ranked))))
        search = Search(
            driver, oracle, space, broken, self.job.limits, self.tally,
            lambda candidate: refused(candidate, sources), self._reporter(progress, failing),
        )  # fmt: skip
        await search.prepare()
        confirmer = Confirmer(
            self.job.workspace,
            self.job.scratch,
            {**self.job.env, **command.env},
            self.job.run_id,
            self._ordered(command),
            sources,
        )
        return await self._search(search, confirmer, space, failing, lines)

    def _ordered(self, command: TestCommand) -> list[VerifySpec]:
        """The verify steps with the tests first."""
        first = next(step for step in self.job.steps if _is(step, command, self.job))
        return [first, *(step for step in self.job.steps if step is not first)]

    async def _search(
        self, search: Search, confirmer: Confirmer, space: Space, failing: int, lines: Mapping[Line, float]
    ) -> Patch | GaveUp:
        undecided = 0
        async with aclosing(search.complete()) as complete:
            async for found in complete:
                if found.verdict.undecided:
                    undecided += 1
                    if undecided > MAX_UNDECIDED:
                        continue
                timeout = UNDECIDED_S if found.verdict.undecided else TIMEOUT_S
                if await confirmer.holds(found.scored.candidate, timeout):
                    return self._patch(found, space.sources, failing, whole=True)
        partial = self._partial()
        if partial is not None:
            return self._patch(partial, space.sources, failing, whole=False)
        tally = self.tally
        return GaveUp(
            "no candidate satisfies the failing tests without breaking others",
            tally.tried,
            tally.seconds,
            lines_words(lines, space.sources),
            tally.best.candidate if tally.best else None,
            len(tally.best_verdict.mended) if tally.best_verdict else 0,
            failing,
            space.sources,
        )

    def _partial(self) -> Found | None:
        """The best candidate that mends some failing tests and breaks none."""
        if self.tally.settled is not None:
            return Found(*self.tally.settled)
        clean = [(s, v) for s, v in self.tally.partials if v.clean and not v.timed_out]
        if not clean:
            return None
        scored, verdict = max(clean, key=lambda p: (p[1].value, not p[0].candidate.removes, p[0].score))
        return Found(scored, verdict)

    def _patch(self, found: Found, sources: Mapping[str, SourceFile], failing: int, *, whole: bool) -> Patch:
        mended = failing if whole else len(found.verdict.mended)
        return Patch(
            found.scored.candidate,
            sources,
            mended,
            failing,
            whole,
            self.tally.tried + (1 if whole else 0),
            self.tally.seconds,
        )

    def _reporter(self, progress: Callable[[Progress], None], failing: int) -> Callable[[Tally], None]:
        told = [0.0]

        def report(tally: Tally) -> None:
            if tally.seconds - told[0] >= 1.0:
                told[0] = tally.seconds
                best = len(tally.best_verdict.mended) if tally.best_verdict else 0
                words = f"{plural(tally.tried, 'candidate')} in {tally.seconds:.0f} s"
                if best:
                    words += f", the best satisfies {best} of {plural(failing, 'failing test')}"
                progress(Progress(words + ".", tally.tried, tally.seconds))

        return report


def _is(step: VerifySpec, command: TestCommand, job: Job) -> bool:
    try:
        return test_command([step.command], job.workspace, job.env) == command
    except CannotHelp:
        return False


def _opening(
    oracle: Oracle, failing: int, lines: Mapping[Line, float], sources: Mapping[str, SourceFile], count: int
) -> str:
    total = len(oracle.tests)
    words = f"{failing} of {plural(total, 'test')} fail. Most suspicious: {lines_words(lines, sources, 3)}. {count:,} candidates."
    if oracle.flaky:
        words += f" {plural(len(oracle.flaky), 'test')} ended differently in two runs and {'is' if len(oracle.flaky) == 1 else 'are'} left out."
    return words


def _with_unimported(root: Path, sources: Mapping[str, SourceFile], hello: Hello) -> dict[str, SourceFile]:
    """Files named in the collection errors, which the driver couldn't import."""
    named = set()
    for text in hello.errors.values():
        for path in root.rglob("*.py"):
            relative = str(path.relative_to(root))
            if relative in text or path.name in text:
                named.add(relative)
    more, _ = editable_sources(root, named, hello.tests)
    return {**more, **sources}


def _import_suspicion(hello: Hello, sources: Mapping[str, SourceFile]) -> dict[Line, float]:
    """Lines that the collection errors' tracebacks name; all others a little, because nothing could be traced."""
    found: dict[Line, float] = {}
    for text in hello.errors.values():
        for path, source in sources.items():
            for number in range(1, source.line_of(len(source.text)) + 1):
                found.setdefault((path, number), UNTRACED)
                if f"{path}:{number}:" in text:
                    found[(path, number)] = 1.0
    return found
