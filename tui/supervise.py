"""From an action to a command: asks where it must, sends, and says what came of it. Both screens act through here."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runtime import commands as c
from runtime.errors import LooptopError
from tui.actions import BY_ID
from tui.dialogs import delivery, quotes
from tui.dialogs.form import FormDialog
from tui.paint.spans import clean

if TYPE_CHECKING:
    from runtime.view.model import RunView
    from tui.app import LooptopApp

CHANCE_S = 1.0
"""Longest that a dialog waits for what history says, in seconds."""


async def supervise(app: LooptopApp, run: str, view: RunView, action: str, argument: str = "") -> None:
    """Do an action of the table to a run. `argument` comes from the command line and spares the dialog where it can."""
    known = BY_ID.get(action)
    why_not = known.check(view) if known is not None and known.check is not None else ""
    if why_not:
        app.tell(f"{known.label if known else action}: {why_not}", "warning")
        return
    if action == "resume":
        await resume(app, run)
        return
    if action in delivery.FORMS:
        await _deliver(app, run, view, action)
        return
    direct = _direct(view, action)
    if direct is not None:
        await send(app, run, direct)
        return
    if action == "approve" and view.approvals:
        await _approve(app, run, view)
        return
    form = quotes.FORMS.get(action)
    if form is None:
        return
    made = form(view)
    if action in ("cap", "budget"):
        made = replace(made, lines=(*made.lines, *await _chance(app, view)))
    answer = await app.push_screen_wait_safe(FormDialog(made))
    for command in answer if isinstance(answer, list) else [answer]:
        if command is not None:
            await send(app, run, command)


def _direct(view: RunView, action: str) -> c.Command | None:
    """Commands that neither spend nor destroy go without a dialog."""
    if action == "pause":
        going_on = view.paused or (view.hold is not None and "resume" in view.hold.ends_with)
        return c.Resume(sender=quotes.SENDER) if going_on else c.Pause(sender=quotes.SENDER)
    if action == "verify":
        return c.VerifyNow(sender=quotes.SENDER)
    if action == "end_attempt":
        return c.EndAttempt(sender=quotes.SENDER)
    return None


async def _approve(app: LooptopApp, run: str, view: RunView) -> None:
    """Decide the tool calls that wait, until none is left or the supervisor decides later."""
    from tui.dialogs.approval import ApprovalDialog

    waiting = view.approvals
    while waiting and app.backend is not None:
        decided: list[c.Approve | c.Deny] | None = await app.push_screen_wait_safe(ApprovalDialog(waiting))
        if decided is None:
            return
        for command in decided:
            await send(app, run, command)
        done = {command.step for command in decided}
        try:
            now = (await app.backend.load_view(run)).approvals
        except LooptopError as error:
            app.tell(str(error), "error")
            return
        # What others decided meanwhile isn't asked again, nor what this dialog decided, whatever came of it.
        waiting = tuple(one for one in now if one in waiting and one.step not in done)


async def _chance(app: LooptopApp, view: RunView) -> tuple[tuple[str, str], ...]:
    """What own history says of one more attempt, or that it can't be read now: the dialog must not wait for it."""
    from tui.dialogs.chances import chance

    if app.backend is None:
        return ()
    try:
        async with asyncio.timeout(CHANCE_S):
            report = await app.backend.curves()
    except (LooptopError, TimeoutError):
        return (("The chance that a further attempt helps isn't known: own history can't be read now.", "muted"),)
    return (chance(report, view),)


async def send(app: LooptopApp, run: str, command: c.Command) -> None:
    """Send a command and show its answer."""
    if app.backend is None:
        return
    try:
        answer = await app.backend.send(run, command)
    except LooptopError as error:
        app.tell(str(error), "error")
        return
    name = command.command.replace("_", " ")
    if answer.accepted:
        app.tell(f"{run} {name}: {clean(answer.text) or 'accepted'}")
    else:
        app.tell(f"{run} {name} refused: {clean(answer.text)}", "warning")


async def _deliver(app: LooptopApp, run: str, view: RunView, action: str) -> None:
    answer: Any = await app.push_screen_wait_safe(FormDialog(delivery.FORMS[action](view)))
    if answer is None or app.backend is None:
        return
    how, branch = answer
    try:
        app.tell(await app.backend.deliver(run, how, branch))
    except LooptopError as error:
        app.tell(str(error), "error")


async def resume(app: LooptopApp, run: str) -> None:
    """Quote what going on with an interrupted run means, and do it where that is wanted."""
    from tui.dialogs.resuming import resume as form

    if app.backend is None:
        return
    try:
        quote = await app.backend.quote_resume(run)
        if await app.push_screen_wait_safe(FormDialog(form(quote))) is None:
            return
        app.tell(f"{await app.backend.resume(quote.run)} goes on")
    except LooptopError as error:
        app.tell(str(error), "error")
