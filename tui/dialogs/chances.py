"""What own history says of one more attempt, for the dialogs that buy one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.curves.legs import family_of
from tui import words
from tui.summary import tokens_used

if TYPE_CHECKING:
    from runtime.view.model import RunView
    from tui.backend import CurvesReport

Paragraph = tuple[str, str]


def chance(report: CurvesReport, view: RunView) -> Paragraph:
    """How many runs of the model's family that made the next attempt passed in it; or that none did, so that it isn't known."""
    following = view.attempts_of_leg + 1
    family = family_of(view.model, dict.fromkeys((one.curve.family for one in report.families), 0))
    one = next((one.curve for one in report.families if one.curve.family == family), None)
    point = next((point for point in one.points if point.attempt == following), None) if one is not None else None
    if one is None or point is None:
        return (
            f"The chance that attempt {following} helps isn't known: no finished run of {family} has made it.",
            "muted",
        )
    interval = f"{point.low:.0%} to {point.high:.0%}"
    text = (
        f"Of {words.plural(point.at_risk, 'run')} of {family} that made attempt {following}, {point.rate:.0%} passed in it "
        f"({interval})."
    )
    if one.recommended.cap is None:
        return f"{text} That is little to go by.", "text"
    return text, "warn" if following > one.recommended.cap and not one.recommended.open_ended else "text"


def worst_case(view: RunView) -> str:
    """What one more attempt may cost at worst, in words: what the budgets leave."""
    left = []
    if view.budget_micros is not None and view.money.known:
        left.append(words.money(max(0, view.budget_micros - view.money.micros)))
    used = tokens_used(view)
    if view.budget_tokens is not None and used is not None:
        left.append(f"{words.tokens(max(0, view.budget_tokens - used))} tokens")
    if left:
        return f"At worst a further attempt takes what the budgets leave: {' and '.join(left)}."
    rounds = view.settings.max_rounds if view.settings else None
    bound = f"{rounds} calls" if rounds else "its limit of calls"
    return f"No budget bounds what a further attempt costs: at worst {bound} of this model."
