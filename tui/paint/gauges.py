"""What a run has used of what it may use, and the sections beside the stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui import words
from tui.paint.bars import gauge, gauge_role, stacked
from tui.paint.spans import Line, Span, clean, cut_line, fit, spread
from tui.summary import tokens_used

if TYPE_CHECKING:
    from datetime import datetime

    from runtime.view.model import RunView

LABEL = 9
TTL_S = {"5m": 300, "1h": 3_600}


@dataclass(frozen=True)
class Gauge:
    """One gauge: its name, the share used (None: no limit or unknown) and the figures in words."""

    name: str
    part: float | None
    text: str


def gauges(view: RunView, now_ms: int) -> list[Gauge]:
    """Attempts, tokens, dollars and time of a run."""
    used = tokens_used(view)
    spent = words.money(view.money.micros, view.money.complete)
    active = active_ms(view, now_ms)
    minutes = None if view.budget_seconds is None else view.budget_seconds / 60
    return [
        Gauge(
            "attempts",
            words.ratio(view.attempts_of_leg, view.cap),
            f"{view.attempts_of_leg} of {view.cap if view.cap is not None else words.UNKNOWN}",
        ),
        Gauge(
            "tokens",
            words.ratio(used, view.budget_tokens),
            _of(
                words.used(used, view.unmetered_calls), words.tokens(view.budget_tokens) if view.budget_tokens else None
            ),
        ),
        Gauge(
            "dollars",
            words.ratio(view.money.micros if view.money.known else None, view.budget_micros),
            _of(spent, words.limit_money(view.budget_micros) if view.budget_micros is not None else None),
        ),
        Gauge(
            "time",
            words.ratio(active / 60_000, minutes),
            _of(words.clock(active), f"{minutes:g} min" if minutes else None),
        ),
    ]


def _of(used: str, limit: str | None) -> str:
    return f"{used} of {limit}" if limit else used


def active_ms(view: RunView, now_ms: int) -> int:
    """Time that counts against the time budget, up to now while the run goes on."""
    if view.finished or view.hold is not None or view.paused:
        return view.active_ms
    return view.active_ms + max(0, now_ms - view.last_ms)


def gauge_lines(view: RunView, now_ms: int, width: int) -> list[Line]:
    """Gauges, one a line, in columns that don't move."""
    words_width = 16
    bar = max(0, width - LABEL - words_width - 1)
    lines: list[Line] = []
    for one in gauges(view, now_ms):
        role = gauge_role(one.part) if one.name != "attempts" else "accent"
        filled = gauge(one.part, bar, role)
        lines.append([(fit(one.name, LABEL), "muted"), *filled, (" " + fit(one.text, words_width, "right"), "text")])
    return lines


def strip(view: RunView, now_ms: int, width: int) -> Line:
    """All gauges in one line, for narrow screens."""
    spans: list[Span] = [(" ", "")]
    for one in gauges(view, now_ms):
        text = one.text.replace(" of ", "/").replace(" min", "m")
        role = gauge_role(one.part) if one.name != "attempts" else "text"
        spans += [(f"{one.name} ", "muted"), (text, "text" if role == "accent" else role), ("  ", "")]
    spans += [("cache ", "muted"), (words.share(view.usage.cache_share if view.rounds else None), "text")]
    return cut_line(spans, width)


def cache_lines(view: RunView, now: datetime, width: int) -> list[Line]:
    """What was read, written and fresh so far, and how long the prefix stays warm."""
    if not view.rounds:
        return [[("no call yet", "muted")]]
    use = view.usage
    if use.prompt == 0 and not use.output:
        return [[("no tokens used", "muted")]]
    lines: list[Line] = []
    if use.cache_read is None:
        lines.append([("the server doesn't report cache reads", "warn")])
    else:
        bar = stacked(use.input or 0, use.cache_write or 0, use.cache_read, width)
        lines.append(bar)
    columns: tuple[tuple[str, int | None, str], ...] = (
        ("read", use.cache_read, "read"),
        ("written", use.cache_write, "written"),
        ("fresh", use.input, "fresh"),
    )
    for name, count, role in columns:
        part = words.ratio(count, use.prompt)
        lines.append(
            spread(
                [(fit(name, LABEL), role), (f"{words.tokens(count):>6}", "text")],
                [(f"{words.share(part):>4}", "muted")],
                width,
            )
        )
    lines.append(spread([("output   ", "muted"), (f"{words.tokens(use.output):>6}", "text")], [], width))
    saved = [row.saved_micros for row in view.rounds if row.finished_ms is not None]
    if saved and None not in saved:
        lines.append(
            [(fit("saved", LABEL), "muted"), (f"{words.money(sum(s for s in saved if s is not None)):>6}", "ok")]
        )
    prefix = cold(view, now)
    if prefix is not None:
        lines += [[(fit("prefix", LABEL), "muted"), prefix], [(fit("", LABEL), ""), (_rewarm(view), "muted")]]
    return lines


def cold(view: RunView, now: datetime) -> Span | None:
    """When the cached prefix expires, in words; None where nothing is cached or its lifetime isn't known.

    A lifetime counts from the start of the call that used the entry last; servers that don't tell what they write tell no
    lifetime either.
    """
    done = [row for row in view.rounds if row.finished_ms is not None]
    if view.finished or not done or done[-1].usage.cache_write is None:
        return None
    last = done[-1]
    if not (last.usage.cache_read or last.usage.cache_write):
        return None
    left = TTL_S.get(view.settings.ttl if view.settings else "5m", 300) - (now - last.started_at).total_seconds()
    if left <= 0:
        return ("cold: the next call writes anew", "warn")
    return (f"{words.duration(left * 1_000)} until cold", "text" if left > 60 else "warn")


def _rewarm(view: RunView) -> str:
    """What waiting until the prefix is cold costs."""
    last = [row for row in view.rounds if row.finished_ms is not None][-1]
    return f"cold costs {words.money(last.rewarm_micros)} more"


def pause_cost(view: RunView, now: datetime) -> str:
    """What a pause costs in cache, for whoever thinks about one or is in one; empty where there is nothing to lose."""
    prefix = cold(view, now)
    return f"cache: {prefix[0]}, {_rewarm(view)}" if prefix is not None else ""


def stoploss_lines(view: RunView, width: int) -> list[Line]:
    """The latest score against its threshold, and when the next check is."""
    if not view.scores:
        return [[("no checkpoint yet" if not view.finished else "no checkpoint", "muted")]]
    last = view.scores[-1]
    role = "bad" if last.score is not None and last.threshold is not None and last.score > last.threshold else "accent"
    lines: list[Line] = [
        [
            (fit("score", LABEL), "muted"),
            *gauge(last.score, max(0, width - LABEL - 14), role),
            (fit(f"{words.score(last.score)} of {words.score(last.threshold)}", 14, "right"), "text"),
        ]
    ]
    following = f", next at step {last.next_step}" if last.next_step and not view.finished else ""
    lines.append([(fit("checked", LABEL), "muted"), (f"step {last.step}{following}", "text")])
    if last.threshold is None:
        lines.append([(fit("", LABEL), ""), ("not calibrated: watching only", "muted")])
    return lines


def facts(view: RunView, width: int) -> list[Line]:
    """Where the run works and with what."""
    settings = view.settings
    rows: list[tuple[str, str]] = [
        ("project", view.project),
        ("base", view.base_commit[:10] or words.UNKNOWN),
        ("sandbox", view.sandbox or words.UNKNOWN),
    ]
    if settings is not None:
        rows += [("recovery", settings.recovery), ("approval", settings.approval)]
    if view.cap_source:
        rows.append(("cap", view.cap_source))
    lines: list[Line] = [
        [(fit(name, LABEL), "muted"), (fit(clean(text), max(0, width - LABEL)), "text")] for name, text in rows
    ]
    lines += [[("! ", "warn"), (fit(text, max(0, width - 2)), "text")] for text in view.warnings[-3:]]
    return lines


def sidebar(view: RunView, now_ms: int, now: datetime, width: int, height: int) -> list[Line]:
    """Everything beside the stream, section by section, as far as there is room."""
    sections: list[tuple[str, list[Line]]] = [
        ("Gauges", gauge_lines(view, now_ms, width)),
        ("Cache", cache_lines(view, now, width)),
        ("StopLoss", stoploss_lines(view, width)),
        ("Run", facts(view, width)),
    ]
    lines: list[Line] = []
    for name, body in sections:
        if lines and len(lines) + 1 + len(body) > height:
            break
        if lines:
            lines.append([])
        lines.append([(name, "title")])
        lines += [line for line in body if line]
    return lines[:height]
