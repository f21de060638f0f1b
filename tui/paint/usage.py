"""Usage against the span before, with bars. Pure."""

from __future__ import annotations

from tui import words
from tui.backend import UsageLine, UsageReport
from tui.paint.bars import columns, gauge, stacked
from tui.paint.panes import section
from tui.paint.spans import Line, Span, fit

SPANS = ("day", "week", "month")
BYS = ("project", "model", "purpose")


def usage_lines(report: UsageReport, width: int) -> list[Line]:
    """Totals against the span before, spending by day, and a line for each key."""
    lines: list[Line] = [[], *_totals(report, width)]
    if len(report.days) > 1:
        lines += [[], section("By day", width), *_days(report, width)]
    lines += [[], section(f"By {report.by}", width), *_keys(report, width)]
    return lines


def _totals(report: UsageReport, width: int) -> list[Line]:
    rows: list[Line] = [
        [(f"  {'':<14}{'calls':>7}{'read':>9}{'written':>9}{'fresh':>9}{'output':>9}{'cost':>11}", "head")]
    ]
    for name, line in ((f"this {report.span}", report.total), (f"{report.span} before", report.before)):
        figures = "".join(f"{words.tokens(n):>9}" for n in (line.cache_read, line.cache_write, line.input, line.output))
        role = "text" if line is report.total else "muted"
        rows.append([(f"  {name:<14}{line.calls:>7,}{figures}{words.money(line.micros, line.complete):>11}", role)])
    now, before = report.total.micros, report.before.micros
    change = words.ratio(now, before)
    if change is not None and report.total.complete and report.before.complete:
        rows.append([(f"  {'change':<14}", "muted"), (f"{change - 1:+.0%} in cost", "warn" if change > 1 else "ok")])
    prompt = _prompt(report.total)
    if prompt:
        total = report.total
        bar = stacked(total.input or 0, total.cache_write or 0, total.cache_read or 0, max(10, min(60, width - 30)))
        rows += [
            [],
            [
                ("  prompt        ", "muted"),
                *bar,
                (f"  {words.share(words.ratio(total.cache_read, prompt))} from cache", "text"),
            ],
        ]
    return rows


def _prompt(line: UsageLine) -> int | None:
    if line.input is None:
        return None
    return line.input + (line.cache_read or 0) + (line.cache_write or 0)


def _days(report: UsageReport, width: int) -> list[Line]:
    shown = report.days[-max(1, (width - 12) // 2) :]
    values = [None if day.micros is None else float(day.micros) for day in shown]
    top = max((value for value in values if value is not None), default=0.0)
    lines: list[Line] = []
    for index, text in enumerate(columns(values, 5)):
        label = words.money(round(top)) if index == 0 else ""
        spaced = " ".join(text)
        lines.append([(f"{label:>9} ", "muted"), (spaced, "accent")])
    first, last = shown[0].key[5:], shown[-1].key[5:]
    gap = max(1, 2 * len(shown) - 1 - len(first) - len(last))
    lines.append([(" " * 10 + first + " " * gap + last, "muted")])
    return lines


def _keys(report: UsageReport, width: int) -> list[Line]:
    if not report.lines:
        return [[("  no call yet", "muted")]]
    most = max((line.micros or 0 for line in report.lines), default=0)
    name_width = max(12, min(30, width - 60))
    bar = max(0, width - name_width - 42)
    lines: list[Line] = []
    for line in report.lines:
        cost = words.money(line.micros, line.complete)
        spans: list[Span] = [
            ("  ", ""),
            (fit(line.key or "none", name_width), "text"),
            (f"{line.calls:>6,} calls ", "muted"),
        ]
        spans += [
            (f"{cost:>9}", "text" if line.complete else "warn"),
            ("  ", ""),
            *gauge(words.ratio(line.micros, most), bar),
        ]
        hit = words.share(words.ratio(line.cache_read, _prompt(line)))
        lines.append([*spans, (f"  {hit:>4} cached", "muted")])
    return lines
