"""Every action once: its id, key, words and when it is there. Bindings, footer, palette, `?` and `:` are all made from this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from runtime.view.model import RunView

Place = Literal["app", "fleet", "run", "supervise"]
"""Where an action is there: everywhere, on the Fleet screen, on the Run screen, or on both for the run they show."""
Check = Callable[["RunView"], str]
"""Why an action isn't available for a run, in words; empty where it is."""


@dataclass(frozen=True)
class Action:
    """Something a supervisor can do."""

    id: str
    key: str
    label: str
    """A word or two, for the footer."""
    help: str
    """What it does, for `?` and the palette."""
    place: Place
    check: Check | None = None
    rank: int = 9
    """Place in the footer, lowest first; 9 isn't shown there."""
    shown_key: str = ""
    """How the key is written, where its name isn't what is on it."""
    argument: str = ""
    """What may follow it on the command line."""

    @property
    def key_text(self) -> str:
        """The key as it is written on screen."""
        return self.shown_key or self.key


def _going(view: RunView) -> str:
    return "the run has ended" if view.finished else ""


def _pausable(view: RunView) -> str:
    if view.finished:
        return "the run has ended"
    if view.paused or (view.hold is not None and "resume" in view.hold.ends_with):
        return ""
    return f"the run is held: {view.hold.text}" if view.hold else ""


def _approval(view: RunView) -> str:
    return "" if view.approvals or (view.hold and "approve" in view.hold.ends_with) else "nothing waits for an approval"


def _verifiable(view: RunView) -> str:
    return _going(view) or ("the run is held; decide that first" if view.hold else "")


def _resumable(view: RunView) -> str:
    if not view.finished:
        return "the run goes on"
    return "" if view.state == "interrupted" else "only an interrupted run can be resumed"


def _deliverable(view: RunView) -> str:
    if not view.finished:
        return "the run goes on"
    if view.delivered and "failed" not in view.delivered:
        return f"the change was {view.delivered}"
    return "" if view.diff and view.diff.files else "nothing was changed"


ACTIONS: tuple[Action, ...] = (
    Action("approve", "A", "approve", "Read a waiting tool call and approve or deny it", "supervise", _approval, 0),
    Action("abort", "a", "abort", "End the run now; its work is kept", "supervise", _going, 1),
    Action("pause", "p", "pause", "Pause the run, or go on", "supervise", _pausable, 1),
    Action("steer", "s", "steer", "Say something to the model", "supervise", _going, 1, argument="TEXT"),
    Action("cap", "plus,+", "cap", "Set the retry cap", "supervise", _going, 1, "+", "1..20"),
    Action("cap_less", "minus,-", "cap down", "Set the retry cap lower", "supervise", _going, 9, "-"),
    Action(
        "budget",
        "dollar_sign,$",
        "budget",
        "Set the budgets: tokens, dollars, minutes",
        "supervise",
        _going,
        1,
        "$",
        "DOLLARS",
    ),
    Action(
        "recovery",
        "r",
        "recovery",
        "Choose what follows a failed attempt",
        "supervise",
        _going,
        4,
        argument="reflect|replan|escalate",
    ),
    Action(
        "set_stoploss",
        "l",
        "set stoploss",
        "Set StopLoss of the run: off, watch, ask, abort, or its threshold",
        "supervise",
        _going,
        9,
        argument="MODE THRESHOLD",
    ),
    Action("verify", "v", "verify", "Verify at the next safe point", "supervise", _verifiable, 2),
    Action("end_attempt", "E", "end attempt", "End the fix phase; verify follows", "supervise", _going, 9),
    Action("model", "m", "model", "Go on with another model", "supervise", _going, 9, argument="NAME"),
    Action(
        "resume",
        "u",
        "resume",
        "Go on with an interrupted run; its age and price come first",
        "supervise",
        _resumable,
        1,
        argument="RUN",
    ),
    Action("apply", "y", "apply", "Put the change into the working tree", "supervise", _deliverable, 1),
    Action("branch", "b", "branch", "Keep the change as a branch", "supervise", _deliverable, 3, argument="NAME"),
    Action("discard", "D", "discard", "Remove the change and its workspace", "supervise", _deliverable, 9),
    Action("open", "enter", "open", "Open the run under the cursor", "fleet", None, 0),
    Action("diff", "d", "diff", "Show what the run changed", "supervise", None, 2),
    Action(
        "compare",
        "c",
        "compare",
        "Compare the attempt shown with others, in Verify and Diff",
        "run",
        None,
        9,
        argument="ATTEMPT ATTEMPT",
    ),
    Action("new", "N", "new run", "Start a run", "fleet", None, 1),
    Action("order", "o", "order", "Order the runs another way", "fleet", None, 3),
    Action(
        "find",
        "slash,/",
        "find",
        "Filter the runs (! leaves out, ~ is fuzzy), or search in what is shown",
        "app",
        None,
        3,
        "/",
        "TEXT",
    ),
    Action("usage", "U", "usage", "What was used, by project, model and purpose", "app", None, 9),
    Action("curves", "C", "curves", "Fix rates by attempt and model family, recommended caps, what-if", "app", None, 9),
    Action(
        "projects", "P", "projects", "Projects with their cap override, verify steps, runs and cost", "app", None, 9
    ),
    Action("stoploss", "L", "stoploss", "What StopLoss is worth on own runs, and what is in force", "app", None, 9),
    Action("back", "escape", "back", "Go back", "app", None, 9, "esc"),
    Action("keys", "question_mark,?", "keys", "Every key of this place", "app", None, 1, "?"),
    Action("command", "colon,:", "command", "Type a command", "app", None, 9, ":"),
    Action("theme", "T", "theme", "Change the colours", "app", None, 9, argument="NAME"),
    Action("quit", "q", "quit", "Leave looptop", "app", None, 5),
)
BY_ID = {action.id: action for action in ACTIONS}


def of_place(place: Literal["fleet", "run"]) -> list[Action]:
    """The actions that are there on a screen."""
    return [action for action in ACTIONS if action.place in ("app", "supervise", place)]


def footer(place: Literal["fleet", "run"], view: RunView | None) -> list[Action]:
    """The actions that the footer shows, most important first; what isn't available for the run is left out."""
    shown = [action for action in of_place(place) if action.rank < 9]
    if view is not None:
        shown = [action for action in shown if action.check is None or not action.check(view)]
    elif place == "run":
        shown = [action for action in shown if action.place == "app"]
    return shown
