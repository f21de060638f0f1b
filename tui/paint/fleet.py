"""The fleet's lines: cells of a run's row, filters and orders. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from tui import words
from tui.paint.bars import gauge, gauge_role
from tui.paint.spans import Line, Span, clean
from tui.summary import by_attention

if TYPE_CHECKING:
    from tui.backend import RunSummary

STATE_ROLES = {
    "passed": "ok",
    "already_passing": "ok",
    "fixing": "accent",
    "verifying": "accent",
    "recovering": "accent",
    "preparing": "muted",
    "queued": "muted",
    "held": "warn-strong",
    "paused": "warn",
}
ORDERS = ("attention", "cost", "tokens", "newest", "project")


def state_cell(run: RunSummary) -> Span:
    """The state, or what is waited for; a lost worker's run is unknown."""
    if run.stale and not run.finished:
        return "unknown", "stale"
    if run.needs:
        # Several approvals say themselves that the run is held.
        return run.needs if run.needs.endswith("approvals") else f"held: {run.needs}", "warn-strong"
    return words.state(run.state), STATE_ROLES.get(run.state, "bad")


def attempt_cell(run: RunSummary) -> Span:
    """Attempts of the leg and its cap."""
    cap = run.cap if run.cap is not None else words.UNKNOWN
    return f"{run.attempts_of_leg}/{cap}", "text"


def score_cell(run: RunSummary) -> Span:
    """StopLoss score and threshold; a dash before the first checkpoint."""
    if run.score is None:
        return "-", "muted"
    over = run.threshold is not None and run.score > run.threshold
    against = f"/{words.score(run.threshold)}" if run.threshold is not None else ""
    return f"{words.score(run.score)}{against}", "bad" if over else "text"


def budget_cell(run: RunSummary, width: int) -> Line:
    """How much is used of the budget that is nearest to its end."""
    parts = [words.ratio(run.cost_micros, run.budget_micros), words.ratio(run.tokens, run.budget_tokens)]
    known = [part for part in parts if part is not None]
    part = max(known) if known else None
    if part is None and run.budget_micros is None and run.budget_tokens is None:
        return [("no limit", "muted")]
    return gauge(part, width, gauge_role(part))


def failing_cell(run: RunSummary) -> Span:
    """Findings left."""
    if run.failing is None:
        return words.UNKNOWN, "muted"
    return str(run.failing), "ok" if run.failing == 0 else "text"


def money_cell(run: RunSummary) -> Span:
    """Cost so far."""
    return words.money(run.cost_micros, run.cost_complete), "text" if run.cost_complete else "warn"


def age_cell(run: RunSummary, now: datetime) -> Span:
    """Time since the last event; old news of a run that should be going on is drawn so."""
    silent = run.last_at is not None and (now - run.last_at).total_seconds() > 120
    return words.age(run.last_at, now), "stale" if run.stale or (silent and run.live and not run.needs) else "muted"


def fields(run: RunSummary) -> list[str]:
    """What a filter looks at."""
    return [text.casefold() for text in (run.run, run.task, run.project, run.model, run.state, run.needs, run.worker)]


def in_order(letters: Iterable[str], text: str) -> bool:
    """Whether a text holds all letters in their order, with anything between."""
    rest = iter(text)
    return all(letter in rest for letter in letters)


def matcher(pattern: str) -> Callable[[RunSummary], bool]:
    """A filter: plain text, `!text` leaves out, `~text` finds the letters in order with anything between."""
    wanted = pattern.strip().casefold()
    if wanted.startswith("!"):
        left_out = wanted[1:].strip()
        return lambda run: not left_out or left_out not in " ".join(fields(run))
    if wanted.startswith("~"):
        letters = [letter for letter in wanted[1:] if not letter.isspace()]
        return lambda run: any(in_order(letters, field) for field in fields(run))
    words_wanted = wanted.split()
    return lambda run: all(word in " ".join(fields(run)) for word in words_wanted)


def ordered(runs: Iterable[RunSummary], order: str) -> list[RunSummary]:
    """Runs by attention, cost, tokens, time or project; ties by attention."""
    by_need = by_attention(runs)
    if order == "cost":
        return sorted(by_need, key=lambda run: -(run.cost_micros or 0))
    if order == "tokens":
        return sorted(by_need, key=lambda run: -(run.tokens or 0))
    if order == "newest":
        return sorted(by_need, key=lambda run: -(run.queued_at.timestamp() if run.queued_at else 0))
    if order == "project":
        return sorted(by_need, key=lambda run: run.project.casefold())
    return by_need


def totals(runs: Iterable[RunSummary]) -> Line:
    """How many runs there are, how many go on, how many wait, and what they cost."""
    known = list(runs)
    live = sum(1 for run in known if run.live and not run.finished)
    waiting = sum(1 for run in known if run.needs)
    cost = sum(run.cost_micros or 0 for run in known)
    whole = all(run.cost_micros is not None and run.cost_complete for run in known)
    line: list[Span] = [(words.plural(len(known), "run"), "text"), (f"   {live} live", "live" if live else "muted")]
    if waiting:
        line.append((f"   {waiting} need{'s' if waiting == 1 else ''} you", "warn-strong"))
    return [*line, (f"   {words.money(cost, whole)}", "text")]


def detail(run: RunSummary | None) -> Line:
    """What the run under the cursor is about."""
    if run is None:
        return []
    return [
        (" " + clean(run.run), "accent"),
        *(
            [("  interrupted: u goes on with it, and says first what that costs", "warn")]
            if run.state == "interrupted"
            else []
        ),
        ("  " + clean(run.task or "make verify pass"), "text"),
        ("  " + clean(run.repo), "muted"),
    ]
