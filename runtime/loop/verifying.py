"""The verify phase: every step in order, compared with the baseline and the attempt before."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from decimal import Decimal

from runtime.catalog.rates import whole_micros
from runtime.events.checks import VerifyCharged, VerifyFinished, VerifyStarted
from runtime.events.loop import OutputDelta
from runtime.events.values import Cause, Comparison, DiffStat, Finding, Verdict
from runtime.loop.control import Control
from runtime.loop.deltas import DeltaBatch
from runtime.loop.interruptions import Aborted, Cut
from runtime.loop.keeping import keep_row
from runtime.loop.limits import Gate, seconds_left
from runtime.loop.services import Services
from runtime.loop.state import RunState
from runtime.ports import CallRow
from runtime.scope import scope
from runtime.text import plain
from runtime.usage import FREE
from runtime.verify.causes import cause_of
from runtime.verify.compare import compare, findings_by_id, lost_tests, silent_steps, steps_by_id
from runtime.verify.edits import edited_checks
from runtime.verify.excerpt import excerpt
from runtime.verify.steps import StepResult, VerifyContext, run_step, step_name
from runtime.workspace.clone import Workspace

PURPOSE = "verify"
EVENT_FINDINGS = 500
EVENT_EXCERPT = 4_000


@dataclass(frozen=True, slots=True)
class Checked:
    """What a verify phase showed."""

    passed: bool
    results: tuple[StepResult, ...]
    findings: dict[str, Finding]
    comparison: Comparison
    cause: Cause | None
    excerpt: str
    first_failure: str
    tree: str
    diff: DiffStat
    edited: tuple[str, ...]
    """Changed paths that are tests or settings of verify commands."""

    @property
    def wall_ms(self) -> int:
        """Wall time of all steps."""
        return sum(result.wall_ms for result in self.results)

    @property
    def cpu_ms(self) -> int | None:
        """CPU time of all steps; None where one isn't known."""
        known = [result.cpu_ms for result in self.results if result.cpu_ms is not None]
        return sum(known) if len(known) == len(self.results) else None


class Verifier:
    """Runs the verify phases of one run."""

    def __init__(
        self,
        state: RunState,
        control: Control,
        services: Services,
        workspace: Workspace,
        context: VerifyContext,
        gate: Gate,
    ) -> None:
        self._state = state
        self._control = control
        self._services = services
        self._workspace = workspace
        self._context = context
        self._gate = gate
        self.phases = 0
        """Phases begun so far, those of earlier processes included; the kept outputs are named by it."""
        self.charged_micros: int | None = None
        """What the latest phase cost; None where verify has no price."""

    async def baseline(self) -> Checked:
        """Verify the start, before anything was changed; its findings are what later phases are compared with."""
        checked = await self.phase(0)
        standing = self._state.standing
        standing.baseline = checked.findings
        standing.before = checked.findings
        standing.baseline_collected = {n: result.collected for n, result in enumerate(checked.results, 1)}
        return checked

    async def phase(self, attempt: int) -> Checked:
        """Run every step for an attempt and compare.

        Raises Aborted, and RunEnds where the time budget is used up; a cut by anything else lets the phase begin anew.
        """
        self.charged_micros = None
        while True:
            began = self._services.clock.monotonic()
            try:
                left = seconds_left(self._state, self._control)
                results = await self._control.guard(self._steps(attempt), left)
            except Cut:
                await self._charge(attempt, began)
                await self._control.gate()
                await self._gate.check_time()
            except Aborted:
                await self._charge(attempt, began)
                raise
            else:
                await self._charge(attempt, began)
                return await self._judge(tuple(results))

    async def _charge(self, attempt: int, began: float) -> None:
        """Put what the time since `began` cost into the ledger, where a minute of verify has a price."""
        price, clock = self._state.settings.verify_micros_per_minute, self._services.clock
        if price is None:
            return
        wall_ms = int((clock.monotonic() - began) * 1000)
        cost = whole_micros(Decimal(price) * wall_ms / 60_000)
        self.charged_micros = (self.charged_micros or 0) + cost
        self._control.emitter.emit(VerifyCharged(attempt=attempt, wall_ms=wall_ms, cost_micros=cost))
        row = CallRow(
            call_id=f"{self._state.run}-verify-{secrets.token_hex(4)}",
            provider=PURPOSE,
            model=PURPOSE,
            usage=FREE,
            cost_micros=cost,
            price_version="project",
            started_at=clock.now(),
            latency_ms=wall_ms,
            ttft_ms=None,
            request_id=None,
            outcome="ok",
        )
        with scope(attempt=attempt, leg=self._state.counters.leg, round=None, purpose=PURPOSE):
            await keep_row(self._services, self._control, row)

    async def _steps(self, attempt: int) -> list[StepResult]:
        results: list[StepResult] = []
        self.phases += 1
        specs = self._state.verify
        for number, spec in enumerate(specs, 1):
            name = step_name(spec)
            self._control.emitter.emit(
                VerifyStarted(attempt=attempt, step=number, of=len(specs), name=name, command=spec.command)
            )
            output = DeltaBatch(lambda text, step=number: self._output(step, text))  # type: ignore[misc]
            label = f"verify-{self.phases:03d}-attempt-{attempt}-step-{number}"
            result = await run_step(spec, self._context, label, lambda text, batch=output: batch.add(plain(text)))  # type: ignore[misc]
            output.flush()
            results.append(result)
            self._finished(attempt, number, result)
            if spec.setup and result.verdict is not Verdict.PASSED:
                break
        return results

    def _output(self, step: int, text: str) -> None:
        self._control.emitter.emit(OutputDelta(verify_step=step, text=self._services.masker.mask(text)))

    def _finished(self, attempt: int, number: int, result: StepResult) -> None:
        mask = self._services.masker.mask
        self._control.emitter.emit(
            VerifyFinished(
                attempt=attempt,
                step=number,
                of=len(self._state.verify),
                name=step_name(result.spec),
                command=result.spec.command,
                verdict=result.verdict,
                exit_code=result.exit_code,
                findings=tuple(
                    finding.model_copy(update={"message": mask(finding.message)})
                    for finding in result.findings[:EVENT_FINDINGS]
                ),
                findings_total=result.findings_total,
                collected=result.collected,
                summary=mask(result.summary),
                wall_ms=result.wall_ms,
                cpu_ms=result.cpu_ms,
                output_path=str(result.output_path) if result.output_path else None,
                output_bytes=result.output_bytes,
                dropped_bytes=result.dropped_bytes,
                excerpt=mask(excerpt([result], EVENT_EXCERPT)),
            )
        )

    async def _judge(self, results: tuple[StepResult, ...]) -> Checked:
        standing = self._state.standing
        book = self._workspace.book
        tree = await book.snapshot()
        now = findings_by_id(results)
        silent = silent_steps(results, len(self._state.verify))
        unheard = {name for name, step in standing.step_of.items() if step in silent}
        standing.step_of |= steps_by_id(results)
        comparison = compare(
            standing.baseline, standing.before, now, task_given=bool(self._state.task), unheard=unheard
        )
        no_tests = lost_tests(results, standing.baseline_collected)
        passed = all(result.verdict is Verdict.PASSED for result in results) and not no_tests
        changes = await book.changes(self._workspace.start_tree, tree)
        edited = edited_checks([change.path for change in changes], [spec.command for spec in self._state.verify])
        cause: Cause | None = None
        if not passed:
            same = tree == standing.verified_tree
            cause = cause_of(results, comparison, standing.before, now, same_tree=same, no_tests=no_tests)
        elif edited and not self._state.settings.allow_test_edits:
            cause = Cause.TESTS_EDITED
        standing.verified_tree = tree
        standing.comparison = comparison
        standing.diff = await book.stat(self._workspace.start_tree, tree)
        text = excerpt(results)
        if no_tests and not text:
            text = "The verify steps exited with 0 but collected no tests, where the baseline collected some."
        standing.excerpt = self._services.masker.mask(text)
        return Checked(
            passed=passed,
            results=results,
            findings=now,
            comparison=comparison,
            cause=cause,
            excerpt=standing.excerpt,
            first_failure=self._services.masker.mask(next((r.first_failure for r in results if r.first_failure), "")),
            tree=tree,
            diff=standing.diff,
            edited=edited,
        )
