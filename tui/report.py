"""A run in plain words: progress as it happens, and the report at its end. For pipes, logs and people without a screen."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.events import checks, loop, supervision
from runtime.events.base import Event
from runtime.events.values import Verdict
from runtime.text import one_line, revealed, visible
from runtime.view import RunView
from runtime.view.model import AttemptRow
from runtime.view.rounds import step_title
from tui.words import UNKNOWN, duration, money, plural, share, state, tokens

LISTED = 8


class Progress:
    """Turns events into lines, one per thing that happened."""

    def lines(self, event: Event, view: RunView) -> Iterator[str]:
        """The lines that an event is worth; `view` is the picture after it."""
        if isinstance(event, supervision.ApprovalRequested):
            yield from _approval_lines(event)
            return
        for line in self._lines(event, view):
            indent = len(line) - len(line.lstrip(" "))
            yield " " * indent + one_line(line, 400)

    def _lines(self, event: Event, view: RunView) -> Iterator[str]:
        match event:
            case loop.RunQueued():
                yield f"run {event.run}: {event.task or 'make verify pass'}"
            case loop.RunPrepared():
                failing = UNKNOWN if event.baseline_failing is None else str(event.baseline_failing)
                yield f"baseline: {failing} failing; {event.sandbox}"
                yield from (f"note: {text}" for text in event.warnings)
            case loop.LegStarted():
                yield f"model {event.model}, cap {event.cap} ({event.cap_source})"
                yield from (f"note: {text}" for text in event.warnings)
            case loop.AttemptStarted():
                yield f"attempt {event.attempt} of {view.cap}"
            case loop.RoundFinished():
                yield _round_line(event)
            case loop.TransportRetried():
                yield f"  try {event.attempt_of_call} of {event.of} failed: {event.error}; again in {event.wait_s:.1f} s"
            case loop.ToolCalled():
                yield f"  {event.tool} {step_title(event.tool, event.arguments)}"
            case loop.ToolFinished() if event.status.value != "ok":
                last = (event.content.strip().splitlines() or ["nothing printed"])[-1]
                yield f"    {event.status.value.replace('_', ' ')}: {last}"
            case checks.VerifyFinished():
                yield _verify_line(event)
            case loop.AttemptFinished():
                yield _attempt_line(event)
            case supervision.RunHeld():
                yield f"held ({event.why.value}): {event.text}"
                if "approve" in event.ends_with:
                    step = " [STEP]" if view.approvals else ""
                    yield f"  decide with: looptop send {event.run} approve|deny{step}"
            case supervision.ApprovalGiven():
                said = f": {event.reason}" if event.reason else ""
                yield f"  step {event.step} {'approved' if event.approved else 'denied'} by {event.sender}{said}"
            case supervision.CommandAccepted() | supervision.CommandRefused():
                yield view.last_answer
            case supervision.Notice():
                yield event.text
            case loop.ChangeDelivered():
                yield view.delivered


def _approval_lines(event: supervision.ApprovalRequested) -> Iterator[str]:
    """A call that waits, whole: what is agreed to must be on the screen."""
    yield one_line(f"  step {event.step}, {event.tool}, needs approval: {event.why}", 400)
    if event.hidden:
        yield f"    has {plural(event.hidden, 'hidden character')}, shown as marks"
    yield from (f"    | {line}" for line in revealed(event.command).split("\n"))


def _round_line(event: loop.RoundFinished) -> str:
    usage = event.usage
    parts = [f"fresh {tokens(usage.input)}", f"written {tokens(usage.cache_write)}", f"read {tokens(usage.cache_read)}"]
    marks = " (estimated)" if usage.estimated else ""
    return (
        f"  round {event.round}: {', '.join(parts)}, out {tokens(usage.output)}{marks}; {money(event.cost_micros)}"
        f"; {duration(event.latency_ms)}" + ("" if event.outcome == "ok" else f"; {event.outcome}: {event.stop_detail}")
    )


def _verify_line(event: checks.VerifyFinished) -> str:
    found = "" if event.verdict is Verdict.PASSED else f": {event.summary}"
    name = "baseline" if event.attempt == 0 else "verify"
    return f"{name} {event.step}/{event.of} {event.command}: {event.verdict.value.replace('_', ' ')}{found}"


def _attempt_line(event: loop.AttemptFinished) -> str:
    parts = _counts(event.comparison.fixed, event.comparison.new, event.comparison.still, event.comparison.pre_existing)
    word = "passed" if event.passed else "not passed"
    cause = f" ({event.cause.value.replace('_', ' ')})" if event.cause else ""
    return f"attempt {event.attempt} {word}{cause}: {parts}; +{event.diff.added} -{event.diff.removed}"


def _counts(*groups: tuple[str, ...]) -> str:
    words = ("fixed", "new", "still failing", "pre-existing")
    return (
        ", ".join(f"{len(group)} {word}" for word, group in zip(words, groups, strict=True) if group) or "no findings"
    )


def report(view: RunView) -> str:
    """The final report of a run, as text without control characters."""
    reason = state(view.reason.value) if view.reason else "not finished"
    lines = [f"run {view.run}: {reason}" + (f" - {one_line(view.detail)}" if view.detail else "")]
    lines.append(f"task        {one_line(view.task) or 'make verify pass'}")
    lines.append(f"repository  {one_line(view.repo)}")
    lines.append(f"model       {one_line(', then '.join(view.models) or view.model)}")
    if view.baseline:
        failing = UNKNOWN if view.baseline_failing is None else str(view.baseline_failing)
        lines.append(f"baseline    {failing} failing")
    lines += [_attempt_row(row) for row in view.attempts]
    lines.append(_sums(view))
    if view.diff is not None and view.diff.files:
        size = f"+{view.diff.added} -{view.diff.removed}"
        lines.append(
            f"change      {plural(view.diff.files, 'file')}, {size}"
            + (f"; {one_line(view.delivered)}" if view.delivered else "")
        )
        if not view.delivered and view.result_ref:
            lines.append(f"            look: looptop show {view.run} --diff; take it: looptop apply {view.run}")
    last = view.attempts[-1] if view.attempts else None
    if last is not None and last.cause is not None and last.cause.value == "tests_edited":
        lines.append(
            "caution     all steps pass, but tests or verify settings were edited (--allow-test-edits accepts that)"
        )
    if view.summary:
        lines += ["", visible(view.summary)]
    if view.analysis:
        lines += ["", visible(view.analysis)]
    return "\n".join(lines)


def _attempt_row(row: AttemptRow) -> str:
    if row.comparison is None:
        found = "not verified"
    else:
        c = row.comparison
        found = _counts(c.fixed, c.new, c.still, c.pre_existing)
    size = f"+{row.diff.added} -{row.diff.removed}" if row.diff else ""
    cost = money(row.cost.micros if row.cost.known else None, row.cost.complete)
    used = f"{plural(row.rounds, 'round')}, {cost}, cache {share(row.usage.cache_share)}"
    line = f"attempt {row.attempt:<3} " + "; ".join(filter(None, (found, size, used)))
    if row.passed:
        return f"{line}; passed"
    return f"{line}; {one_line(row.first_failure, 200)}" if row.first_failure else line


def _sums(view: RunView) -> str:
    usage = view.usage
    if not view.rounds:
        return "used        nothing: no model call was made"
    marks = " (partly estimated)" if usage.estimated else ""
    return (
        f"used        fresh {tokens(usage.input)}, written {tokens(usage.cache_write)}, read {tokens(usage.cache_read)},"
        f" out {tokens(usage.output)}{marks}; {money(view.money.micros if view.money.known else None, view.money.complete)}"
        f"; {plural(len(view.rounds), 'round')}; {duration(view.active_ms)}"
    )
