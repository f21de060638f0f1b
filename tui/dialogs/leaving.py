"""Leaving while runs go on."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.text import one_line
from tui import words
from tui.backend import RunSummary
from tui.dialogs.form import Choice, Form, FormDialog


def leaving(live: Sequence[RunSummary]) -> FormDialog:
    """Asks what becomes of live runs. Answers True to abort them, False to leave them resumable, None to stay."""
    listed = tuple((one_line(f"{run.run}  {words.state(run.state):<10}  {run.task}", 68), "text") for run in live[:8])
    more = ((f"  and {len(live) - 8} more", "muted"),) if len(live) > 8 else ()
    form = Form(
        f"{words.plural(len(live), 'run')} still going",
        (
            *listed,
            *more,
            ("", ""),
            (
                "Leave: they are interrupted where they stand and can be resumed; a model call in flight is lost and counted as estimated.",
                "text",
            ),
            ("Abort them: they end, their work is kept.", "text"),
        ),
        (Choice("leave", "Leave, resume later"), Choice("abort", "Abort them and leave")),
        lambda choice, _: choice == "abort",
        focus="cancel",
    )
    return FormDialog(form)
