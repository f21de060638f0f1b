"""The forms of what becomes of a finished run's change."""

from __future__ import annotations

from runtime.errors import UsageError
from runtime.view.model import RunView
from tui import words
from tui.dialogs.form import Choice, Field, Form, Values


def _size(view: RunView) -> str:
    diff = view.diff
    return "an unknown change" if diff is None else f"{words.plural(diff.files, 'file')}, +{diff.added} -{diff.removed}"


def _verified(view: RunView) -> tuple[str, str]:
    if view.reason is not None and view.reason.value in {"passed", "already_passing"}:
        return "Every verify step passed.", "ok"
    return f"The run ended {words.state(view.state)}: this change isn't verified as a fix.", "warn"


def apply(view: RunView) -> Form:
    """Puts the change into the working tree."""
    lines = (
        (
            f"{_size(view)} go into {view.repo} by a three-way merge. Conflicts are told; nothing is overwritten, nothing is committed.",
            "text",
        ),
        _verified(view),
    )
    return Form("Apply", lines, (Choice("apply", "Apply"),), lambda *_: ("apply", None))


def branch(view: RunView) -> Form:
    """Keeps the change as a branch."""

    def answer(_: str, values: Values) -> tuple[str, str]:
        name = values["branch"].strip()
        if not name or any(part.isspace() for part in name):
            raise UsageError("A branch's name has no blanks and isn't empty.")
        return "branch", name

    lines = (
        (
            f"{_size(view)} become a commit on a branch of {view.repo}. Your working tree and index stay as they are.",
            "text",
        ),
        _verified(view),
    )
    return Form(
        "Branch",
        lines,
        (Choice("branch", "Make the branch"),),
        answer,
        (Field("branch", "Name", f"looptop/{view.run}"),),
    )


def discard(view: RunView) -> Form:
    """Removes the change."""
    lines = (
        (f"Lost for good: {_size(view)}, with the workspace of run {view.run} and its kept refs.", "text"),
        ("Kept: the record of the run, its usage and its outputs.", "text"),
    )
    return Form(
        "Discard",
        lines,
        (Choice("discard", "Discard the change"),),
        lambda *_: ("discard", None),
        danger=True,
        focus="cancel",
    )


FORMS = {"apply": apply, "branch": branch, "discard": discard}
