"""Fix rate by attempt with its interval, what a further attempt costs, the recommended cap, and other caps tried. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import words
from tui.paint.panes import section
from tui.paint.spans import Line, Span, clean, cut_line, paragraphs

if TYPE_CHECKING:
    from runtime.curves.curve import Curve, Point
    from runtime.curves.whatif import Outcome
    from tui.backend import CurvesReport

FIGURES = 48


def curves_lines(report: CurvesReport, chosen: int, width: int) -> list[Line]:
    """Every family's curve, the chosen one marked, each with what other caps would have done; no line wider than the screen."""
    if not report.families:
        return [
            [],
            [("  No finished run yet: what a further attempt brings isn't known.", "text")],
            [("  Until a family has 30 runs its cap stays on trial.", "muted")],
        ]
    lines: list[Line] = []
    for number, one in enumerate(report.families):
        mark = "▸ " if number == chosen else "  "
        title: Line = [(f"{words.plural(one.curve.runs, 'run')}, cap now {one.cap} ({clean(one.cap_from)}) ", "muted")]
        lines += [[], section(f"{mark}{clean(one.curve.family)}", width, title)]
        lines += _advice(one.curve, one.cap, width)
        lines += _curve(one.curve, width)
        lines += _whatifs(one.whatifs)
    return [cut_line(line, width) for line in lines]


def _advice(curve: Curve, now: int, width: int) -> list[Line]:
    advice = curve.recommended
    if advice.to_set is None:
        head: Span = ("  no recommendation: ", "muted")
    else:
        head = (f"  recommended {advice.to_set}: ", "ok" if advice.to_set == now else "warn-strong")
    text = paragraphs(advice.why, max(10, width - len(head[0]) - 2))
    lines: list[Line] = [[head if n == 0 else (" " * len(head[0]), ""), (part, "text")] for n, part in enumerate(text)]
    if advice.cap is not None:
        spent = words.money(curve.after_useful_micros, curve.complete)
        lines.append([(f"  attempts after the {_ordinal(advice.cap)} have cost {spent}", "muted")])
    return lines


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


def _curve(curve: Curve, width: int) -> list[Line]:
    lines: list[Line] = [[(f"  {'attempt':>7}{'open':>7}{'rate':>8}{'95%':>14}{'cost':>10}  ", "head")]]
    room = max(8, width - FIGURES - 2)
    lines += [_point(point, room) for point in curve.points]
    return lines


def _point(point: Point, room: int) -> Line:
    """Rate as a bar to 100%; its interval's ends as marks."""
    cost = None if point.micros is None else round(point.micros + (point.verify_micros or 0))
    interval = f"{point.low:.0%}-{point.high:.0%}"
    figures = (
        f"  {point.attempt:>7}{point.at_risk:>7,}{words.share(point.rate):>8}{interval:>14}{words.money(cost):>10}  "
    )
    return [(figures, "text"), *rate_bar(point.rate, point.low, point.high, room)]


def rate_bar(rate: float, low: float, high: float, room: int) -> list[Span]:
    """A bar of `room` cells for 0 to 1: full up to the rate, the interval as a line with its ends."""
    last = room - 1
    first, end, filled = round(low * last), round(high * last), round(rate * room)
    spans: list[Span] = []
    for cell in range(room):
        if cell in (first, end):
            spans.append(("┃", "warn"))
        elif cell < filled:
            spans.append(("█", "accent"))
        elif first < cell < end:
            spans.append(("─", "warn"))
        else:
            spans.append(("·", "faint"))
    return _joined(spans)


def _joined(spans: list[Span]) -> list[Span]:
    made: list[Span] = []
    for text, role in spans:
        if made and made[-1][1] == role:
            made[-1] = (made[-1][0] + text, role)
        else:
            made.append((text, role))
    return made


def _whatifs(found: tuple[Outcome, ...]) -> list[Line]:
    lines: list[Line] = [
        [(f"  {'at a cap of':<13}{'fixed':>11}{'lost':>7}{'saved':>10}{'in vain':>10}{'handed on':>12}", "head")]
    ]
    for one in found:
        figures = (
            f"{_bounds(one.fixed_low, one.fixed_high):>11}{one.lost:>7,}"
            f"{words.money(one.saved_micros, one.saved_complete):>10}{words.money(one.vain_micros, one.vain_complete):>10}"
            f"{_bounds(one.handed_low, one.handed_high):>12}"
        )
        lines.append([(f"  {one.limits.cap or words.UNKNOWN:<13}", "muted"), (figures, "text")])
    return lines


def _bounds(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"
