"""Tool steps: every call of a reply is answered by exactly one result, and repetition is seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.events.loop import OutputDelta, ToolCalled, ToolFinished
from runtime.events.values import StepStatus
from runtime.loop.approving import Approver
from runtime.loop.control import Control
from runtime.loop.deltas import DeltaBatch
from runtime.loop.interruptions import Aborted, Cut
from runtime.loop.keeping import durable
from runtime.loop.services import Services
from runtime.loop.state import RunState
from runtime.models.base import ToolCall, ToolResult
from runtime.tools.registry import ToolContext, ToolOutcome, call_key, execute

REPEATS_END = 3
"""The same call with the same result this many times in a row ends the fix phase."""
PHASE_ENDED = "the fix phase has ended"
MALFORMED_REPEATS_END = 2
"""A call that is cut at the same place again won't get through by trying once more."""


@dataclass
class Repetition:
    """How many times in a row one call gave one result."""

    key: tuple[str, str] | None = None
    count: int = 0

    def see(self, call: str, result: str) -> int:
        """Count a call with its result; returns how many times in a row it came."""
        key = (call, result)
        self.count = self.count + 1 if key == self.key else 1
        self.key = key
        return self.count


@dataclass
class Stepper:
    """Executes a reply's tool calls, one after the other."""

    state: RunState
    control: Control
    services: Services
    context: ToolContext
    repetition: Repetition = field(default_factory=Repetition)
    approver: Approver = field(init=False)

    def __post_init__(self) -> None:
        self.approver = Approver(self.state, self.control, self.services, self.context)

    async def run(self, calls: tuple[ToolCall, ...]) -> tuple[list[ToolResult], str]:
        """Execute the calls; returns their results in order, and why the phase ends (empty: it goes on).

        A call after which the phase ends, and every call cut by a supervisor, still has its result. All calls that need an
        approval are asked for before the first one is executed; each waits for its own in its turn. Raises Aborted.
        """
        results: list[ToolResult] = []
        ends = ""
        self.approver.ask(calls, self.state.counters.step + 1)
        for call in calls:
            step = self.state.counters.step + 1
            denied = None if ends else await self.approver.permit(call, step)
            self._announce(call)
            if ends:
                self.approver.drop(step, PHASE_ENDED)
                outcome = ToolOutcome(StepStatus.DENIED, f"Not executed: {PHASE_ENDED}.")
            else:
                outcome = denied or await self._execute(call)
            ends = self._finish(call, outcome, results) or ends
        return results, ends

    def _announce(self, call: ToolCall) -> None:
        counters = self.state.counters
        counters.step += 1
        mask = self.services.masker.mask
        self.control.emitter.emit(
            ToolCalled(
                attempt=counters.attempt,
                round=counters.round,
                step=counters.step,
                call_id=call.id,
                tool=call.name,
                arguments=call.arguments,
                raw=mask(call.raw) if call.arguments is None else "",
            )
        )

    async def _execute(self, call: ToolCall) -> ToolOutcome:
        step = self.state.counters.step
        output = DeltaBatch(lambda text: self._output(step, text))
        # What a call may have done is never without a trace: after a crash the record tells which calls were begun.
        await durable(self.services, self.control)
        try:
            return await self.control.guard(execute(call, self.context, output.add))
        except Aborted:
            self._finish(call, ToolOutcome(StepStatus.INTERRUPTED, "Interrupted: the run was aborted."), [])
            raise
        except Cut:
            return ToolOutcome(StepStatus.INTERRUPTED, "Interrupted by the supervisor; it may have had effects.")
        finally:
            output.flush()

    def _output(self, step: int, text: str) -> None:
        self.control.emitter.emit(OutputDelta(step=step, text=self.services.masker.mask(text)))

    def _finish(self, call: ToolCall, outcome: ToolOutcome, results: list[ToolResult]) -> str:
        content = self.services.masker.mask(outcome.content)
        results.append(ToolResult(call_id=call.id, content=content, is_error=outcome.status is not StepStatus.OK))
        repeats = self.repetition.see(call_key(call), f"{outcome.status} {outcome.content}")
        counters = self.state.counters
        self.control.emitter.emit(
            ToolFinished(
                attempt=counters.attempt,
                round=counters.round,
                step=counters.step,
                call_id=call.id,
                tool=call.name,
                status=outcome.status,
                content=content,
                exit_code=outcome.exit_code,
                duration_ms=outcome.duration_ms,
                dropped_bytes=outcome.dropped_bytes,
                repeats=repeats,
            )
        )
        if outcome.status is StepStatus.MALFORMED and repeats >= MALFORMED_REPEATS_END:
            return f"the same {call.name} call was cut or malformed {repeats} times in a row"
        if repeats >= REPEATS_END:
            return f"the same {call.name} call gave the same result {repeats} times in a row"
        return ""
