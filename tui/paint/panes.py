"""The panes of the Run screen that are read rather than followed: Verify, StopLoss, Recovery, Conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import words
from tui.paint.bars import gauge
from tui.paint.chart import score_chart
from tui.paint.spans import Line, Span, clean, cut, fit, paragraphs, spread

if TYPE_CHECKING:
    from runtime.events.values import Comparison
    from runtime.view.model import AttemptRow, RunView, VerifyRow

FINDINGS_SHOWN = 200
MARKS: dict[str, Span] = {
    "fixed": ("✓ fixed ", "ok"),
    "new": ("✗ new   ", "bad"),
    "still": ("· still ", "warn"),
    "before": ("  before", "muted"),
}


def section(name: str, width: int, right: Line = ()) -> Line:
    """A heading with a rule."""
    line: list[Span] = [(name + " ", "title")]
    used = len(name) + 2 + sum(len(text) for text, _ in right)
    return [*line, ("─" * max(0, width - used - 1), "rule"), (" ", ""), *right]


# Verify


def verify_lines(view: RunView, width: int, now_ms: int, attempt: int | None = None) -> list[Line]:
    """Verify steps of an attempt (None: the latest that has any) with their findings, marked by what became of them."""
    numbers = sorted({row.attempt for row in view.verifies})
    if not numbers:
        return [[("nothing was verified yet", "muted")]]
    shown = attempt if attempt in numbers else numbers[-1]
    rows = [row for row in view.verifies if row.attempt == shown]
    of = next((row for row in view.attempts if row.attempt == shown), None)
    name = "baseline" if shown == 0 else f"attempt {shown}"
    lines: list[Line] = [section(name, width, [(f"{len(numbers)} verified: [ and ] change", "muted")])]
    for row in rows:
        lines += _step(row, of.comparison if of else None, width, now_ms)
    if of is not None and of.comparison is not None and of.comparison.fixed:
        lines += [[], [(f"fixed by this attempt: {len(of.comparison.fixed)}", "muted")]]
        lines += [
            [MARKS["fixed"], ("  ", ""), (cut(one, width - 10), "text")] for one in of.comparison.fixed[:FINDINGS_SHOWN]
        ]
    return lines


def _step(row: VerifyRow, comparison: Comparison | None, width: int, now_ms: int) -> list[Line]:
    head: list[Span] = [(f"{row.step}/{row.of}  ", "muted"), (clean(row.command), "strong")]
    if row.verdict is None:
        return [[], spread(head, [(f"running {words.duration(now_ms - row.started_ms)} ", "live")], width)]
    passed = row.verdict.value == "passed"
    code = f" (exit {row.exit_code})" if row.exit_code else ""
    cpu = f", {words.duration(row.cpu_ms)} CPU" if row.cpu_ms is not None else ""
    right: Line = [
        (row.verdict.value.replace("_", " ") + code, "ok" if passed else "bad"),
        (f"  {words.duration(row.wall_ms)}{cpu} ", "muted"),
    ]
    lines: list[Line] = [[], spread(head, right, width)]
    if row.summary:
        lines.append([("     ", ""), (cut(row.summary, width - 5), "muted")])
    kinds = _kinds(comparison)
    for one in row.findings[:FINDINGS_SHOWN]:
        mark = MARKS.get(kinds.get(one.id, ""), ("  failing", "text"))
        lines.append([mark, ("  ", ""), (cut(one.id, width - 10), "text")])
        if one.message:
            place = f"{one.path}:{one.line}  " if one.line is not None else ""
            lines.append([("          ", ""), (cut(place + one.message, width - 11), "muted")])
    lines += _rest(row, width)
    return lines


def _rest(row: VerifyRow, width: int) -> list[Line]:
    lines: list[Line] = []
    total = row.findings_total
    shown = min(len(row.findings), FINDINGS_SHOWN)
    if total is None and row.verdict is not None and row.verdict.value != "passed":
        lines.append([("     the output couldn't be parsed into findings", "warn")])
    elif total is not None and total > shown:
        lines.append([(f"     {shown} of {total} findings shown", "muted")])
    if row.output_path is not None:
        dropped = f", {words.size(row.dropped_bytes)} dropped" if row.dropped_bytes else ""
        lines.append([(f"     output {words.size(row.output_bytes)}{dropped}: O opens it", "muted")])
    if row.excerpt and row.verdict is not None and row.verdict.value != "passed":
        lines += [
            [("     │ ", "rule"), (text, "muted")]
            for text in paragraphs(row.excerpt.rstrip("\n"), max(1, width - 8))[:60]
        ]
    return lines


def _kinds(comparison: Comparison | None) -> dict[str, str]:
    if comparison is None:
        return {}
    pairs = (
        ("new", comparison.new),
        ("still", comparison.still),
        ("before", comparison.pre_existing),
        ("fixed", comparison.fixed),
    )
    return {one: kind for kind, ids in pairs for one in ids}


# StopLoss


def stoploss_lines(view: RunView, width: int, height: int) -> list[Line]:
    """Score against threshold over the checkpoints; without any, what is missing."""
    if not view.scores:
        mode = view.settings.stoploss if view.settings else "unknown"
        why = (
            "The mode is off: no checkpoint is scored."
            if mode == "off"
            else "The first checkpoint is at tool step 5, then every third."
        )
        return [
            section("StopLoss", width),
            [],
            [(f"No score yet. {why}", "text")],
            [(f"Tool steps so far: {view.steps_total}.", "muted")],
        ]
    lines: list[Line] = [section("StopLoss", width, [(f"mode {view.scores[-1].mode} ", "muted")]), []]
    lines += score_chart(
        [(row.step, row.score, row.threshold) for row in view.scores], width, max(4, min(12, height - 8))
    )
    lines.append([])
    lines.append([(f"{'step':>5}  {'score':>5}  {'threshold':>9}  scorer", "head")])
    for row in reversed(view.scores):
        over = row.score is not None and row.threshold is not None and row.score > row.threshold
        lines.append(
            [
                (f"{row.step:>5}  ", "text"),
                (f"{words.score(row.score):>5}  ", "bad" if over else "text"),
                (f"{words.score(row.threshold):>9}  ", "muted"),
                (cut(f"{row.scorer}{'  ' + row.error if row.error else ''}", max(0, width - 26)), "muted"),
            ]
        )
    if view.scores[-1].threshold is None:
        lines += [[], [("Without a calibration a score only watches: at least 19 own successes make one.", "muted")]]
    return lines


# Recovery


def recovery_lines(view: RunView, width: int) -> list[Line]:
    """What was decided after each failed attempt, and what the router thought of each action."""
    lines: list[Line] = [section("Recovery", width, [(view.settings.recovery + " " if view.settings else "", "muted")])]
    if not view.recoveries:
        return [*lines, [], [("No attempt has failed yet: there was nothing to decide.", "text")]]
    for row in reversed(view.recoveries):
        by = f"  chosen by {clean(row.overridden_by)}" if row.overridden_by else f"  by the {clean(row.router)} router"
        lines += [[], [(f"after attempt {row.attempt}  ", "muted"), (row.action.value, "accent"), (by, "muted")]]
        lines += [[("  ", ""), (text, "text")] for text in paragraphs(row.why, max(1, width - 4))]
        if row.quotes:
            lines.append([(f"  {'action':<10}{'score':>6}  {'cost':>8}  {'value':>6}", "head")])
        for quote in row.quotes:
            chosen = quote.action is row.action
            lines.append(
                [
                    ("▸ " if chosen else "  ", "accent"),
                    (fit(quote.action.value, 10), "accent" if chosen else "muted" if quote.masked else "text"),
                    (
                        f"{words.score(quote.score):>6}  {words.money(quote.cost_micros):>8}  {words.score(quote.value):>6}",
                        "text",
                    ),
                    (f"  {clean(quote.masked)}", "muted"),
                ]
            )
    return lines


# Conversation


def conversation_lines(view: RunView, width: int) -> list[Line]:
    """The user-side turns of the transcript, with the window's gauge."""
    lines: list[Line] = [section("Conversation", width)]
    lines.append([("window   ", "muted"), (clean(view.window) or "no earlier conversation: nothing was cut", "text")])
    if view.context_tokens and view.rounds:
        size = view.rounds[-1].usage.prompt or view.rounds[-1].prompt_estimate
        estimated = view.rounds[-1].usage.prompt is None
        part = words.ratio(size, view.context_tokens)
        text = f" {'about ' if estimated else ''}{words.tokens(size)} of {words.tokens(view.context_tokens)}"
        lines.append([("context  ", "muted"), *gauge(part, 24), (text, "text")])
    if view.compactions:
        lines.append([("compacted", "muted"), (f" {words.plural(view.compactions, 'time')}", "text")])
    if view.steers_waiting:
        lines.append([("waiting  ", "muted"), (words.plural(len(view.steers_waiting), "steering message"), "warn")])
    for turn in view.turns:
        lines += [[], [(f"attempt {turn.attempt}  ", "muted"), (turn.kind.replace("_", " "), "user")]]
        lines += [[("▎ ", "user"), (text, "text")] for text in paragraphs(turn.text, max(1, width - 3))]
    if view.summary:
        lines += [[], [("summary", "user")]]
        lines += [[("▎ ", "user"), (text, "text")] for text in paragraphs(view.summary, max(1, width - 3))]
    if view.analysis:
        lines += [[], [("failure analysis", "user")]]
        lines += [[("▎ ", "warn"), (text, "text")] for text in paragraphs(view.analysis, max(1, width - 3))]
    return lines


def latest_attempt(view: RunView) -> AttemptRow | None:
    """The row of the latest attempt."""
    return view.attempts[-1] if view.attempts else None
