"""The transcript of a run's present leg from its events, byte for byte as it was sent, for going on after a crash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from runtime.events.base import Event
from runtime.events.checks import Compacted
from runtime.events.loop import LegStarted, PromptAdded, RoundFinished, RoundStarted, ToolFinished
from runtime.events.values import StepStatus
from runtime.models.base import Block, Mark, Message, Stop, ToolCall, ToolResult
from runtime.prompt.breakpoints import newest_user_block
from runtime.prompt.compaction import bytes_to_free, compact
from runtime.prompt.transcript import Transcript

NO_ANSWER = (Stop.REFUSAL.value, Stop.UNKNOWN.value)


@dataclass(frozen=True, slots=True)
class LastSent:
    """The last request that was answered: its messages, and the events around it."""

    messages: tuple[Message, ...]
    started: RoundStarted
    finished: RoundFinished


@dataclass
class Rebuilt:
    """A transcript as it stood when the events ended, with what is known of the last request that was answered."""

    transcript: Transcript = field(default_factory=Transcript)
    mark: Mark | None = None
    """Where its newest cache mark stood; None before any answer, and after a compaction."""
    sent: LastSent | None = None
    _results: list[ToolResult] = field(default_factory=list)
    _unsaid: tuple[Block, ...] = ()
    _started: RoundStarted | None = None
    _asked: tuple[Message, ...] = ()
    _context: int | None = None

    def take(self, event: Event) -> None:
        """One more event; those that say nothing of the transcript are passed over."""
        match event:
            case ToolFinished():
                failed = event.status is not StepStatus.OK
                self._results.append(ToolResult(call_id=event.call_id, content=event.content, is_error=failed))
            case RoundStarted():
                self._deliver()
                self.transcript.close_calls()
                self._started, self._asked = event, self.transcript.messages
            case RoundFinished() if event.outcome == "ok":
                self._answered(event)
            case PromptAdded():
                self._prompt(event)
            case Compacted():
                self._compact(event)
            case LegStarted():
                self._context = event.context_tokens

    def _answered(self, event: RoundFinished) -> None:
        self._deliver()
        if self._started is not None:
            self.mark = newest_user_block(self._asked)
            self.sent = LastSent(self._asked, self._started, event)
        self._unsaid = ()
        if event.stop in NO_ANSWER and not any(isinstance(block, ToolCall) for block in event.reply):
            self._unsaid = event.reply
        else:
            self.transcript.add_reply(event.reply)

    def _prompt(self, event: PromptAdded) -> None:
        if event.fresh:
            self.transcript, self._results = Transcript(), []
            self.mark = self.sent = self._started = None
        self._deliver()
        if self._unsaid and event.kind == "nudge":
            self.transcript.add_reply(self._unsaid)
        self._unsaid = ()
        self.transcript.add_user(event.text)

    def _compact(self, event: Compacted) -> None:
        """Compact as it was done then: it depends on nothing but the transcript, the estimate and the context."""
        self._deliver()
        self.transcript.close_calls()
        if self._context is None:
            return
        done = compact(self.transcript.messages, bytes_to_free(event.tokens_before, self._context))
        if done is not None:
            self.transcript, self.mark = Transcript(done.messages), None

    def _deliver(self) -> None:
        if self._results:
            self.transcript.add_results(self._results)
            self._results = []

    def end(self) -> Rebuilt:
        """Deliver what came last."""
        self._deliver()
        return self


def rebuild_all(events: Iterable[Event]) -> Rebuilt:
    """The transcript as it stood when the events ended; calls without a result are left open, to be answered as interrupted.

    A refusal is part of it only where the loop answered it with a nudge: the last one of several ends the phase unsaid.
    """
    rebuilt = Rebuilt()
    for event in events:
        rebuilt.take(event)
    return rebuilt.end()


def rebuild(events: Iterable[Event]) -> Transcript:
    """The transcript alone."""
    return rebuild_all(events).transcript
