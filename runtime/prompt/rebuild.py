"""The transcript of a run's present leg from its events, byte for byte as it was sent, for going on after a crash."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.events.base import Event
from runtime.events.loop import PromptAdded, RoundFinished, RoundStarted, ToolFinished
from runtime.events.values import StepStatus
from runtime.models.base import Block, Stop, ToolCall, ToolResult
from runtime.prompt.transcript import Transcript

NO_ANSWER = (Stop.REFUSAL.value, Stop.UNKNOWN.value)


def rebuild(events: Iterable[Event]) -> Transcript:
    """The transcript as it stood when the events ended; calls without a result are left open, to be answered as interrupted.

    A refusal is part of it only where the loop answered it with a nudge: the last one of several ends the phase unsaid.
    """
    transcript = Transcript()
    results: list[ToolResult] = []
    unsaid: tuple[Block, ...] = ()
    for event in events:
        if isinstance(event, ToolFinished):
            failed = event.status is not StepStatus.OK
            results.append(ToolResult(call_id=event.call_id, content=event.content, is_error=failed))
        elif isinstance(event, RoundStarted):
            results = _deliver(transcript, results)
            transcript.close_calls()
        elif isinstance(event, RoundFinished) and event.outcome == "ok":
            results = _deliver(transcript, results)
            unsaid = ()
            if event.stop in NO_ANSWER and not any(isinstance(block, ToolCall) for block in event.reply):
                unsaid = event.reply
            else:
                transcript.add_reply(event.reply)
        elif isinstance(event, PromptAdded):
            if event.fresh:
                transcript, results = Transcript(), []
            results = _deliver(transcript, results)
            if unsaid and event.kind == "nudge":
                transcript.add_reply(unsaid)
            unsaid = ()
            transcript.add_user(event.text)
    _deliver(transcript, results)
    return transcript


def _deliver(transcript: Transcript, results: list[ToolResult]) -> list[ToolResult]:
    if results:
        transcript.add_results(results)
    return []
