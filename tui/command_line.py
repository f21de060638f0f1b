"""The `:` prompt: words to actions and commands, with the same effect as keys."""

from __future__ import annotations

import difflib
from functools import partial
from typing import TYPE_CHECKING

from pydantic import ValidationError

from runtime import commands as c
from runtime.errors import LooptopError, UsageError
from tui.actions import ACTIONS, BY_ID
from tui.dialogs.quotes import SENDER, parse_number
from tui.supervise import resume, send
from tui.tasks import start

if TYPE_CHECKING:
    from tui.screens.base import Base

ALIASES = {
    "q": "quit",
    "exit": "quit",
    "help": "keys",
    "?": "keys",
    "fleet": "back",
    "runs": "back",
    "go": "pause",
    "cost": "usage",
}
OWN = ("tokens", "minutes", "open", "resume", "deny", "sort")


def command_of(name: str, rest: str) -> c.Command | None:
    """The command that a line with an argument stands for; None where it needs a dialog. Raises UsageError."""
    if name == "resume":
        return c.Resume(sender=SENDER)
    if name in {"approve", "deny"} and rest == "now":
        return c.Approve(sender=SENDER) if name == "approve" else c.Deny(sender=SENDER)
    if not rest:
        return None
    try:
        match name:
            case "cap":
                return c.SetCap(sender=SENDER, cap=int(parse_number(rest, "The cap")))
            case "budget":
                return c.SetBudget(sender=SENDER, kind="micros", value=parse_number(rest, "The budget") * 1_000_000)
            case "tokens":
                return c.SetBudget(sender=SENDER, kind="tokens", value=parse_number(rest, "The token budget"))
            case "minutes":
                return c.SetBudget(sender=SENDER, kind="seconds", value=parse_number(rest, "The time budget") * 60)
            case "steer":
                return c.Steer(sender=SENDER, text=rest)
            case "model":
                return c.SwitchModel(sender=SENDER, model=rest)
            case "recovery":
                return c.command_from_dict({"command": "choose_recovery", "action": rest, "sender": SENDER})
            case "abort":
                return c.Abort(sender=SENDER, reason=rest)
            case "set_stoploss":
                from tui.dialogs.stoploss import from_line

                return from_line(rest)
    except ValidationError as error:
        raise UsageError(f"{name} {rest}: {error.errors()[0]['msg']}.") from None
    return None


async def run_line(screen: Base, line: str) -> None:
    """Run one line on a screen; what is wrong is said in a toast."""
    head, _, rest = line.strip().removeprefix(":").partition(" ")
    name, rest = ALIASES.get(head.lower(), head.lower()), rest.strip()
    app = screen.looptop
    try:
        if name == "theme" and rest:
            if rest not in app.available_themes:
                raise UsageError(
                    f"There is no theme {rest!r}.", f"There are: {', '.join(sorted(app.available_themes))}."
                )
            app.theme = rest
        elif name == "open" and rest:
            # The app does it: a screen that waits for its own removal would wait for ever.
            start(app, partial(app.open_run, rest), "open", "open a run")
        elif name == "resume" and rest:
            start(app, partial(resume, app, rest), "resume", "resume a run")
        elif name == "resume" and _interrupted(screen):
            screen.do("resume")
        elif name == "find" and rest:
            screen.typed("find", rest, True)
        elif name == "compare" and rest:
            await _compare(screen, rest)
        elif (command := command_of(name, rest)) is not None:
            if screen.target is None:
                raise UsageError("There is no run here to act on.")
            await send(app, screen.target, command)
        elif name in BY_ID:
            screen.do(name)
        else:
            raise UsageError(f"There is no command {head!r}.", _near(name))
    except LooptopError as error:
        app.tell(str(error), "warning")


async def _compare(screen: Base, rest: str) -> None:
    from tui.screens.run import RunScreen

    numbers = rest.split()
    if not isinstance(screen, RunScreen):
        raise UsageError("Attempts are compared on a run's own screen.", "Open the run first.")
    if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
        raise UsageError(f"compare {rest}: attempts are numbers.", "Write :compare 1 3; 0 is the baseline.")
    await screen.compare(int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else None)


def _interrupted(screen: Base) -> bool:
    """Whether the run here waits for a process to go on with it, and not for a supervisor."""
    known = screen.looptop.runs.get(screen.target or "")
    return known is not None and known.state == "interrupted"


def _near(name: str) -> str:
    known = [action.id for action in ACTIONS] + list(ALIASES) + list(OWN)
    close = difflib.get_close_matches(name, known, 1)
    return f"Did you mean {close[0]!r}?" if close else "? lists every key; their names are commands too."
