"""What StopLoss would have done on own held-out runs: policies side by side, a reliability curve, and what is in force. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import words
from tui.paint.panes import section
from tui.paint.spans import Line, Span, clean, cut, cut_line, fit, paragraphs

if TYPE_CHECKING:
    from runtime.stoploss.evaluate.ranking import Bin, Estimate
    from runtime.stoploss.evaluate.report import Evaluation
    from tui.backend import StoplossReport

NAME = 16
WIDE = 92
"""Columns from which intervals are shown."""
MODES = {
    "allowed": ("abort allowed", "ok"),
    "refused": ("abort not allowed", "warn"),
    "unmeasured": ("not measured", "muted"),
}


def stoploss_report(report: StoplossReport, width: int) -> list[Line]:
    """Everything that is known of one project, no line wider than the screen."""
    return [cut_line(line, width) for line in _report(report, width)]


def _report(report: StoplossReport, width: int) -> list[Line]:
    lines: list[Line] = [[], *_in_force(report, width)]
    found = report.evaluation
    if found is None:
        return [*lines, [], *[[("  ", ""), (text, "warn")] for text in paragraphs(report.missing, max(10, width - 4))]]
    lines += [[], section("Policies, held out group by group", width), *_policies(found, width)]
    lines += [[("  ", ""), (text, "muted")] for text in _legend(width)]
    for one in found.measured:
        lines += [[], section(f"Reliability of {one.name}", width), *reliability_curve(one.reliability, width)]
    lines += [[], section("Why", width)]
    for one in found.measured:
        text, role = MODES[one.qualification.verdict]
        lines.append(
            [
                (f"  {fit(one.name, NAME)}", "text"),
                (f"{text}: ", role),
                (cut(one.qualification.why, max(10, width - NAME - len(text) - 4)), "muted"),
            ]
        )
    return lines


def _in_force(report: StoplossReport, width: int) -> list[Line]:
    found, made = report.evaluation, report.calibration
    lines: list[Line] = []
    if made is None:
        lines.append(
            [("  calibrated    ", "muted"), ("not yet: StopLoss only watches (looptop stoploss calibrate)", "text")]
        )
    else:
        limit = f"above {max(0.0, made.threshold):.2f}"
        lines.append(
            [
                ("  calibrated    ", "muted"),
                (
                    f"{made.scorer}, {limit}, from {words.plural(made.successes, 'successful run')} of {clean(made.executor)}",
                    "text",
                ),
            ]
        )
        text, role = MODES[made.abort]
        lines.append(
            [("  abort         ", "muted"), (text, role), (f"  {cut(made.abort_why, max(10, width - 40))}", "muted")]
        )
    if found is not None:
        runs = f"{found.runs} runs, {found.successes} successful, {words.plural(found.groups, 'group')}"
        lines.append([("  history       ", "muted"), (f"{runs}; {', '.join(map(clean, found.executors))}", "text")])
        why = paragraphs(
            f"{found.decision.policy}, {found.decision.mode.value}: {found.decision.why}", max(10, width - 18)
        )
        lines += [[("  best policy   " if n == 0 else " " * 16, "muted"), (text, "text")] for n, text in enumerate(why)]
    return lines


def _policies(found: Evaluation, width: int) -> list[Line]:
    wide = width >= WIDE
    auc, false = (18, 20) if wide else (10, 14)
    head = f"  {'':<{NAME}}{'tier AUC':>{auc}}{'false aborts':>{false}}{'failed stopped':>16}{'cost per solve':>16}"
    lines: list[Line] = [[(head, "head")]]
    for one in found.measured:
        ledger = one.ledger
        lines.append(
            [
                (f"  {fit(one.name, NAME)}", "strong" if one.qualification.verdict == "allowed" else "text"),
                (f"{_ranged(one.tier, wide):>{auc}}", "text"),
                (f"{_percents(ledger.r, wide):>{false}}", "text"),
                (f"{_percent(ledger.failed_stopped):>16}", "text"),
                (f"{_percent(ledger.change, signed=True):>16}", "ok" if (ledger.change.value or 0.0) < 0 else "warn"),
            ]
        )
    return lines


def _legend(width: int) -> list[str]:
    return paragraphs(
        "tier AUC compares failed and successful runs at the same checkpoint only (0.50 is chance); false aborts are successes "
        "that would have been stopped, with their 95% interval; cost per solve is the change against never stopping.",
        max(10, width - 4),
    )


def _ranged(found: Estimate, interval: bool) -> str:
    if found.value is None:
        return words.UNKNOWN
    if not interval or found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _percent(found: Estimate, signed: bool = False) -> str:
    return words.UNKNOWN if found.value is None else f"{found.value * 100:{'+' if signed else ''}.1f}%"


def _percents(found: Estimate, interval: bool) -> str:
    if not interval or found.value is None or found.low is None or found.high is None:
        return _percent(found)
    return f"{found.value * 100:.1f}% ({found.low * 100:.0f}-{found.high * 100:.0f}%)"


def reliability_curve(bins: tuple[Bin, ...], width: int) -> list[Line]:
    """A row for each tenth of the windows, lowest scores first: the share of failed runs as a bar, the mean score as a mark on it.

    Where mark and bar's end lie together the scores mean what they say.
    """
    if not bins:
        return [[("  no checkpoint was reached", "muted")]]
    room = max(10, min(60, width - 44))
    lines: list[Line] = [
        [(f"  {'score':>6}  {'windows':>8}  {'failed':>7}  ", "head"), ("0%" + " " * (room - 6) + "100%", "muted")]
    ]
    for one in bins:
        bar = _bar(one.failed_share, one.mean_score, room)
        figures = f"  {one.mean_score:>6.2f}  {one.windows:>8,}  {words.share(one.failed_share):>7}  "
        lines.append([(figures, "text"), *bar])
    lines.append([(" " * 29, ""), ("█ share of failed runs   ◆ mean score", "muted")])
    return lines


def _bar(share: float, score: float, room: int) -> list[Span]:
    filled, mark = round(share * room), min(room - 1, max(0, round(score * room)))
    cells = ["█" if n < filled else "·" for n in range(room)]
    before, after = "".join(cells[:mark]), "".join(cells[mark + 1 :])
    spans: list[Span] = []
    for text in (before, "◆", after):
        if text == "◆":
            spans.append((text, "warn-strong"))
            continue
        done = text.rstrip("·")
        spans += [(done, "accent"), ("·" * (len(text) - len(done)), "faint")]
    return [span for span in spans if span[0]]
