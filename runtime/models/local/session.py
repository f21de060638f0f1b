"""A repair of one state of a workspace: learns what the tests say, searches, and comes back with a patch or the reason why not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path

from runtime.events.values import VerifySpec
from runtime.models.local.candidate import Candidate
from runtime.models.local.commands import TestCommand, test_command
from runtime.models.local.confirm import TIMEOUT_S, Confirmer
from runtime.models.local.doubt import LIKELY, doubtful
from runtime.models.local.editable import editable_sources
from runtime.models.local.errors import CannotHelp
from runtime.models.local.explain import lines_words, plural
from runtime.models.local.harvest import harvest
from runtime.models.local.hopeless import check_imports, leave_out_network
from runtime.models.local.lint.repair import LintRepair
from runtime.models.local.lint.steps import lint_steps
from runtime.models.local.localise import suspicion
from runtime.models.local.opening import import_suspicion, opening, with_unimported
from runtime.models.local.oracle import Line, learn
from runtime.models.local.outcome import GaveUp, Job, Patch, Progress
from runtime.models.local.scratch import copy_workspace
from runtime.models.local.search import Found, Search, Tally
from runtime.models.local.source import SourceFile
from runtime.models.local.space import Space, build_space
from runtime.models.local.trials import Driver, Hello

WORKERS = 2
MAX_UNDECIDED = 4
"""Candidates whose success only a long real run can tell."""
UNDECIDED_S = 15.0


Refusal = Callable[[Candidate, Mapping[str, SourceFile]], bool]


class RepairSession:
    """Makes one patch at a time. Nothing is left running after `next_patch` has returned or was cancelled."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.tally = Tally()

    async def next_patch(
        self,
        refused: Refusal = lambda candidate, sources: False,
        progress: Callable[[Progress], None] = lambda news: None,
        known_failing: frozenset[str] = frozenset(),
    ) -> Patch | GaveUp:
        """Search for a patch of the workspace as it is now; `refused` tells which candidates were tried in the loop already."""
        self.tally = Tally()
        outcome = await self._by_tests(refused, progress, known_failing)
        linters = lint_steps(self.job.steps)
        if isinstance(outcome, Patch) or not outcome.no_test_fails or not linters:
            return outcome
        try:
            return await LintRepair(self.job, linters).patch(refused, progress)
        except CannotHelp as error:
            return GaveUp(str(error))

    async def _by_tests(
        self, refused: Refusal, progress: Callable[[Progress], None], known_failing: frozenset[str]
    ) -> Patch | GaveUp:
        driver: Driver | None = None
        try:
            command = test_command([step.command for step in self.job.steps], self.job.workspace, self.job.env)
        except CannotHelp as error:
            return GaveUp(str(error), no_test_fails=True)
        try:
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
        refused: Refusal,
        progress: Callable[[Progress], None],
        known_failing: frozenset[str],
    ) -> Patch | GaveUp:
        if not hello.items and not hello.errors:
            return GaveUp("there are no tests to go by")
        sources, problems = editable_sources(driver.root, hello.modules, hello.tests)
        check_imports(driver.root, hello.errors, hello.modules)
        oracle = await learn(driver, hello, known_failing)
        without = leave_out_network(oracle, known_failing)
        broken = sorted(hello.errors)
        if broken:
            sources = with_unimported(driver.root, sources, hello)
        if not oracle.failing and not broken:
            return GaveUp("every test passes here, so there is nothing to go by", no_test_fails=True)
        if not sources:
            return GaveUp(
                "; ".join(problems) or "the failing tests use no Python file of the project that may be edited"
            )
        lines = suspicion(oracle, frozenset(sources))
        if broken:
            lines = import_suspicion(hello, sources) | lines
            lines = dict(sorted(lines.items(), key=lambda item: (-item[1], item[0])))
        if not lines:
            return GaveUp("the failing tests execute no line of the project's own Python files")
        space = await asyncio.to_thread(build_space, sources, oracle, lines, harvest(driver.root, oracle.failing))
        failing = len(oracle.failing) + len(broken)
        progress(Progress(opening(oracle, failing, lines, sources, len(space.ranked)) + without))
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
        held: Found | None = None
        async with aclosing(search.complete()) as complete:
            async for found in complete:
                if found.verdict.undecided:
                    undecided += 1
                    if undecided > MAX_UNDECIDED:
                        continue
                timeout = UNDECIDED_S if found.verdict.undecided else TIMEOUT_S
                if held is not None and found.scored.score < LIKELY * held.scored.score:
                    continue
                doubt = doubtful(found.scored.candidate, space.sources)
                if doubt and held is not None:
                    continue
                if await confirmer.holds(found.scored.candidate, timeout):
                    if doubt:
                        held, self.tally.doubted_at = found, (self.tally.tried, self.tally.seconds)
                        continue
                    return self._patch(found, space.sources, failing, whole=not confirmer.tolerated)
        if held is not None:
            return self._patch(held, space.sources, failing, whole=not confirmer.tolerated)
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
        mended = failing if whole or found.verdict.complete else len(found.verdict.mended)
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
