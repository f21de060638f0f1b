"""The attempt ladder: a row for the baseline and for each attempt, with what its verify said and why the run went on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui import words
from tui.paint.narration import comparison_spans
from tui.paint.spans import Line, Span, clean, cut_line

if TYPE_CHECKING:
    from runtime.view.model import AttemptRow, RunView


@dataclass(frozen=True)
class Rung:
    """One row, ready to be drawn; frozen so that rows that didn't change aren't drawn again."""

    number: int
    model: str
    findings: tuple[Span, ...]
    diff: tuple[Span, ...]
    rounds: str
    cost: str
    cache: str
    next: Span


def rungs(view: RunView, now_ms: int) -> list[Rung]:
    """Rows of the ladder, the baseline first."""
    return [_baseline(view), *(_rung(view, row, now_ms) for row in view.attempts)]


def _baseline(view: RunView) -> Rung:
    running = next((row for row in view.baseline if row.verdict is None), None)
    state: Span = ("", "")
    if running is not None:
        findings: tuple[Span, ...] = ((f"{clean(running.name or running.command)} running", "live"),)
    elif not view.baseline:
        findings = (("not verified yet" if not view.finished else "unknown", "muted"),)
    else:
        findings, state = _baseline_words(view)
    return Rung(0, "baseline", findings, (("", ""),), "", "", "", state)


def _baseline_words(view: RunView) -> tuple[tuple[Span, ...], Span]:
    failing = view.baseline_failing
    if failing is None:
        known = [row.findings_total for row in view.baseline]
        failing = sum(total for total in known if total is not None) if None not in known else None
    if failing is None:
        return (("findings unknown", "muted"),), ("", "")
    if failing == 0 and all(row.verdict is not None and row.verdict.value == "passed" for row in view.baseline):
        return (("passes", "ok"),), ("", "")
    old = next((len(row.comparison.pre_existing) for row in view.attempts if row.comparison), 0)
    spans: list[Span] = [(f"{failing} failing", "text")]
    if old:
        spans.append((f"  {old} pre-existing", "muted"))
    return tuple(spans), ("", "")


def _rung(view: RunView, row: AttemptRow, now_ms: int) -> Rung:
    last = row.attempt == view.attempt
    diff: tuple[Span, ...] = (("", ""),)
    if row.diff is not None:
        diff = ((f"+{row.diff.added}", "added"), (f" -{row.diff.removed}", "removed"))
        if not row.diff.files:
            diff = (("nothing", "muted"),)
    return Rung(
        row.attempt,
        words.short_model(row.model),
        tuple(_findings(view, row, now_ms) if last else _verified(row)),
        diff,
        str(row.rounds),
        words.money(row.cost.micros, row.cost.complete) if row.rounds else "",
        words.share(row.usage.cache_share) if row.rounds else "",
        _next(view, row, last),
    )


def _verified(row: AttemptRow) -> list[Span]:
    if row.passed:
        return [("passed", "ok")]
    if row.comparison is None:
        return [("not verified", "muted")]
    spans = comparison_spans(row.comparison)
    if row.cause is not None and not row.comparison.new and not row.comparison.still:
        return [(row.cause.value.replace("_", " "), "warn")]
    return spans


def _findings(view: RunView, row: AttemptRow, now_ms: int) -> list[Span]:
    """What the latest attempt is doing, or what came of it."""
    if row.passed is not None or view.finished:
        return _verified(row)
    running = next((v for v in reversed(view.verifies) if v.attempt == row.attempt and v.verdict is None), None)
    if running is not None:
        name = clean(running.name or running.command)
        return [
            (f"{name} ", "live"),
            (f"{words.duration(now_ms - running.started_ms)}", "text"),
            (f"  {running.step}/{running.of}", "muted"),
        ]
    if view.phase.value == "verifying":
        return [("verifying", "live")]
    if view.recent_steps and view.recent_steps[-1].attempt == row.attempt:
        step = view.recent_steps[-1]
        return [(clean(step.tool), "tool"), (f" {clean(step.title)}", "muted")]
    return [("fixing", "live")]


def _next(view: RunView, row: AttemptRow, last: bool) -> Span:
    if row.passed:
        return "done", "ok"
    if row.next_action is not None:
        return row.next_action.value, "accent"
    if not last or row.passed is None:
        return "", ""
    if view.finished:
        return words.state(view.state), "muted"
    return ("held", "warn-strong") if view.hold else ("", "")


def cell(spans: tuple[Span, ...], width: int) -> Line:
    """Spans in a cell."""
    return cut_line([span for span in spans if span[0]], width)
