"""Fold of model calls and tool steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtime.events.loop import (
    CacheDiagnosed,
    ModelSwitched,
    OutputDelta,
    RoundFinished,
    RoundStarted,
    TextDelta,
    ToolCalled,
    ToolFinished,
    TransportRetried,
    UsageDelta,
)
from runtime.usage import add_usage
from runtime.view.attempts import at_phase, on_attempt
from runtime.view.model import Handler, Phase, RoundRow, RunView, StepRow, changed

TAIL_CHARACTERS = 2_000
STEPS_KEPT = 50


def _on_round(view: RunView, number: int, **changes: Any) -> RunView:
    if view.rounds and view.rounds[-1].round == number:
        return changed(view, rounds=(*view.rounds[:-1], replace(view.rounds[-1], **changes)))
    rows = tuple(replace(row, **changes) if row.round == number else row for row in view.rounds)
    return changed(view, rounds=rows)


def _round(view: RunView, number: int) -> RoundRow | None:
    if view.rounds and view.rounds[-1].round == number:
        return view.rounds[-1]
    return next((row for row in view.rounds if row.round == number), None)


def _started(view: RunView, e: RoundStarted) -> RunView:
    row = RoundRow(
        e.round, e.attempt, e.leg, e.model, e.mono_ms, e.at, e.prompt_estimate, predicted_read=e.predicted_read
    )
    view = at_phase(view, Phase.FIXING, e.mono_ms)
    return changed(view, rounds=(*view.rounds, row), tail="", live_usage=None)


def _delta(view: RunView, e: TextDelta) -> RunView:
    return changed(view, tail=(view.tail + e.text)[-TAIL_CHARACTERS:])


def _usage(view: RunView, e: UsageDelta) -> RunView:
    return changed(view, live_usage=e.usage)


def _finished(view: RunView, e: RoundFinished) -> RunView:
    view = _on_round(
        view,
        e.round,
        finished_ms=e.mono_ms,
        usage=e.usage,
        cost_micros=e.cost_micros,
        saved_micros=e.saved_micros,
        rewarm_micros=e.rewarm_micros,
        latency_ms=e.latency_ms,
        ttft_ms=e.ttft_ms,
        stop=e.stop,
        outcome=e.outcome,
        model=e.model,
    )
    row = next((row for row in view.attempts if row.attempt == e.attempt), None)
    if row is not None:
        usage, money = add_usage(row.usage, e.usage), row.money.plus(e.cost_micros)
        view = on_attempt(view, e.attempt, rounds=row.rounds + 1, usage=usage, money=money)
    return changed(
        view,
        usage=add_usage(view.usage, e.usage),
        money=view.money.plus(e.cost_micros),
        unmetered_calls=view.unmetered_calls + (e.usage.total is None),
        live_usage=None,
    )


def _retried(view: RunView, e: TransportRetried) -> RunView:
    row = _round(view, e.round)
    if row is not None:
        view = _on_round(view, e.round, retries=row.retries + 1, retry_error=e.error)
    if e.usage is not None or e.cost_micros is not None:
        usage = add_usage(view.usage, e.usage) if e.usage else view.usage
        view = changed(view, usage=usage, money=view.money.plus(e.cost_micros))
    return changed(view, retries=view.retries + 1, tail="")


def _diagnosed(view: RunView, e: CacheDiagnosed) -> RunView:
    return _on_round(view, e.round, diagnosis=e.text)


def step_title(tool: str, arguments: dict[str, Any] | None) -> str:
    """What a tool step is about, in one line: its command, path or pattern."""
    if arguments is None:
        return "(malformed call)"
    for key in ("command", "path", "pattern", "query"):
        value = arguments.get(key)
        if isinstance(value, str):
            return value
    return ""


def _called(view: RunView, e: ToolCalled) -> RunView:
    row = StepRow(e.step, e.round, e.attempt, e.tool, step_title(e.tool, e.arguments), e.mono_ms)
    attempt = next((old for old in view.attempts if old.attempt == e.attempt), None)
    if attempt is not None:
        view = on_attempt(view, e.attempt, steps=attempt.steps + 1)
    round_row = _round(view, e.round)
    if round_row is not None:
        view = _on_round(view, e.round, tools=round_row.tools + 1)
    return changed(
        view, steps_total=max(view.steps_total, e.step), recent_steps=(*view.recent_steps, row)[-STEPS_KEPT:]
    )


def _done(view: RunView, e: ToolFinished) -> RunView:
    rows = tuple(
        replace(row, status=e.status.value, duration_ms=e.duration_ms, exit_code=e.exit_code, repeats=e.repeats)
        if row.step == e.step
        else row
        for row in view.recent_steps
    )
    return changed(view, recent_steps=rows)


def _output(view: RunView, _: OutputDelta) -> RunView:
    return view


def _switched(view: RunView, e: ModelSwitched) -> RunView:
    return changed(view, notices=(*view.notices, f"model {e.old} -> {e.new}: {e.why}".removesuffix(": "))[-50:])


HANDLERS: dict[str, Handler] = {
    "round_started": _started,
    "text_delta": _delta,
    "usage_delta": _usage,
    "round_finished": _finished,
    "transport_retried": _retried,
    "cache_diagnosed": _diagnosed,
    "tool_called": _called,
    "tool_finished": _done,
    "output_delta": _output,
    "model_switched": _switched,
}
