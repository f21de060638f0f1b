"""Events as single lines: what the stream and the events tab say about a decision, a hold, a retry, a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.text import one_line, revealed
from tui import words
from tui.paint.spans import Line, Span, clean

if TYPE_CHECKING:
    from runtime.events.base import Event
    from runtime.events.loop import RoundFinished
    from runtime.events.values import Comparison

Narrator = Callable[[Any], Line]


def title(arguments: dict[str, Any] | None) -> str:
    """What a tool call is about, in one line: its command, path or pattern."""
    if arguments is None:
        return "(malformed call)"
    for key in ("command", "path", "pattern", "query"):
        value = arguments.get(key)
        if isinstance(value, str):
            return one_line(value)
    return ""


def call_body(tool: str, arguments: dict[str, Any] | None) -> tuple[str, list[str] | None]:
    """A change that a call asks for, as lines with roles; nothing for calls that change nothing."""
    if not arguments:
        return "", None
    lines: list[tuple[str, str]] = []
    if tool == "edit_file":
        old = next(
            (arguments[key] for key in ("old", "old_text", "old_string") if isinstance(arguments.get(key), str)), ""
        )
        new = next(
            (arguments[key] for key in ("new", "new_text", "new_string") if isinstance(arguments.get(key), str)), ""
        )
        lines += [("- " + line, "removed") for line in old.splitlines()]
        lines += [("+ " + line, "added") for line in new.splitlines()]
    elif tool == "write_file" and isinstance(arguments.get("content"), str):
        lines += [("+ " + line, "added") for line in arguments["content"].splitlines()]
    return "\n".join(text for text, _ in lines), [role for _, role in lines] or None


def usage_spans(e: RoundFinished) -> list[Span]:
    """A round's tokens and cost, in columns."""
    use = e.usage
    known = use.prompt is not None
    if not known and use.output is None:
        return [("usage not reported", "warn"), (f"  {words.duration(e.latency_ms):>6}", "muted")]
    if use.prompt == 0 and not use.output:
        return [("no tokens", "muted"), (f"  {words.duration(e.latency_ms):>6}", "muted")]
    spans: list[Span] = []
    for name, count, role in (
        ("read", use.cache_read, "read"),
        ("written", use.cache_write, "written"),
        ("fresh", use.input, "fresh"),
    ):
        spans += [(f"{name} ", "muted"), (f"{words.tokens(count):>5}  ", role)]
    spans += [("out ", "muted"), (f"{words.tokens(use.output):>5}", "text")]
    spans += [(f"  {words.money(e.cost_micros):>7}", "text"), (f"  {words.duration(e.latency_ms):>6}", "muted")]
    if e.outcome != "ok":
        spans.insert(0, (f"{e.outcome}  ", "warn"))
    return spans


def comparison_spans(c: Comparison) -> list[Span]:
    """Findings fixed, new and still failing, as coloured counts; pre-existing ones apart."""
    parts: list[Span] = []
    for count, name, role in (
        (len(c.fixed), "fixed", "ok"),
        (len(c.new), "new", "bad"),
        (len(c.still), "still", "warn"),
    ):
        if count:
            parts.append((f"{count} {name}  ", role))
    if c.pre_existing:
        parts.append((f"{len(c.pre_existing)} before", "muted"))
    return parts or [("no findings", "muted")]


def _attempt_finished(e: Any) -> Line:
    if e.passed:
        return [(f"attempt {e.attempt} passed", "ok")]
    why = f"  {e.cause.value.replace('_', ' ')}" if e.cause else ""
    end = f"  {clean(e.phase_end)}" if e.phase_end else ""
    return [(f"attempt {e.attempt} failed  ", "bad"), *comparison_spans(e.comparison), (why + end, "muted")]


def _recovery(e: Any) -> Line:
    by = f" (chosen by {clean(e.overridden_by)})" if e.overridden_by else ""
    return [("next  ", "muted"), (e.action.value, "accent"), (f"{by}  {clean(e.why)}", "muted")]


def _retried(e: Any) -> Line:
    return [
        (f"sent again {e.attempt_of_call} of {e.of}", "warn"),
        (f"  {clean(e.error)}", "text"),
        (f"  after {words.duration(e.wait_s * 1000)}", "muted"),
    ]


def _scored(e: Any) -> Line:
    if e.score is None:
        return [("StopLoss  ", "muted"), (f"no score: {clean(e.error)}", "warn")]
    over = e.threshold is not None and e.score > e.threshold
    against = f" of {words.score(e.threshold)}" if e.threshold is not None else ", not calibrated"
    return [
        (f"StopLoss at step {e.step}  ", "muted"),
        (words.score(e.score), "bad" if over else "text"),
        (against, "muted"),
    ]


def _accepted(e: Any) -> Line:
    change = f" {clean(e.old or 'nothing')} → {clean(e.new)}" if e.new is not None else ""
    effect = f"  {clean(e.effect)}" if e.effect else ""
    return [(f"{clean(e.command)}{change}", "accent"), (f" by {clean(e.sender)}{effect}", "muted")]


def _finished(e: Any) -> Line:
    role = "ok" if e.reason.value in {"passed", "already_passing"} else "bad"
    return [(words.state(e.reason.value), role), (f"  {clean(e.detail)}", "text")]


def _aborted(e: Any) -> Line:
    receipt = e.receipt
    kept = f", work kept as {clean(receipt.kept_ref)}" if receipt.kept_ref else ""
    alive = f", {len(receipt.survivors)} still alive" if receipt.survivors else ""
    return [
        (f"aborted by {clean(e.sender)}", "bad"),
        (f"  ended {words.plural(receipt.ended_processes, 'process', 'processes')}{alive}{kept}", "muted"),
    ]


def _prepared(e: Any) -> Line:
    failing = "findings unknown" if e.baseline_failing is None else f"{e.baseline_failing} failing"
    return [
        ("prepared  ", "muted"),
        (f"baseline {failing}", "text"),
        (f"  at {clean(e.base_commit[:10])}, sandbox: {clean(e.sandbox)}", "muted"),
    ]


def _held(e: Any) -> Line:
    return [("held  ", "warn-strong"), (clean(e.text), "text")]


def _given(e: Any) -> Line:
    return [(f"step {e.step} {'approved' if e.approved else 'denied'}", "accent"), (f" by {clean(e.sender)}", "muted")]


def _delivered(e: Any) -> Line:
    rest = clean(e.detail or ", ".join(e.conflicts))
    return [(f"{e.how} {'done' if e.ok else 'failed'}", "ok" if e.ok else "bad"), (f"  {rest}", "text")]


def _plain(role: str, *fields: str) -> Narrator:
    def narrate(e: Any) -> Line:
        return [(clean("  ".join(str(getattr(e, name)) for name in fields)), role)]

    return narrate


NARRATORS: dict[str, Narrator] = {
    "run_prepared": _prepared,
    "leg_started": lambda e: [
        (f"leg {e.leg}  ", "muted"),
        (clean(e.model), "model"),
        (f"  cap {e.cap}, {clean(e.cap_source)}", "muted"),
    ],
    "model_switched": lambda e: [(f"model {clean(e.old)} → {clean(e.new)}", "model"), (f"  {clean(e.why)}", "muted")],
    "transport_retried": _retried,
    "cache_diagnosed": _plain("warn", "text"),
    "attempt_finished": _attempt_finished,
    "recovery_decided": _recovery,
    "stoploss_scored": _scored,
    "window_taken": lambda e: [(f"conversation: {e.turns} of {e.turns_total} turns sent", "muted")],
    "compacted": lambda e: [(f"compacted {words.tokens(e.tokens_before)} → {words.tokens(e.tokens_after)}", "warn")],
    "failure_analysed": lambda e: [("analysis  ", "muted"), (clean(e.text or e.error), "text")],
    "command_accepted": _accepted,
    "command_refused": lambda e: [(f"{clean(e.command)} refused", "warn"), (f"  {clean(e.why)}", "text")],
    "steer_delivered": lambda e: [
        ("steering message ", "muted"),
        (f"dropped: {clean(e.dropped)}" if e.dropped else f"delivered in round {e.round}", "text"),
    ],
    "approval_requested": lambda e: [
        (f"step {e.step} waits for approval  ", "warn-strong"),
        (clean(e.tool), "tool"),
        (f" {one_line(revealed(e.command[:400]), 200)}", "text"),
        (f"  {clean(e.why)}", "muted"),
    ],
    "approval_given": _given,
    "run_held": _held,
    "run_paused": lambda e: [("paused", "warn-strong"), (f" by {clean(e.sender)}  {clean(e.reason)}", "muted")],
    "run_resumed": lambda e: [
        ("resumed in a new process" if e.resumed else "goes on", "accent"),
        (f" after {words.duration(e.held_ms)}" if e.held_ms else "", "muted"),
    ],
    "run_aborted": _aborted,
    "change_delivered": _delivered,
    "run_finished": _finished,
    "notice": lambda e: [(clean(e.text), "warn" if e.level == "warning" else "bad" if e.level == "error" else "muted")],
}


def line_of(event: Event) -> Line:
    """The event in a line; nothing for events that the stream shows otherwise or not at all."""
    narrator = NARRATORS.get(event.type)
    if narrator is None:
        return []
    try:
        return narrator(event)
    except (AttributeError, TypeError):  # an event of a newer version under a known name
        return [(clean(event.type), "muted")]
