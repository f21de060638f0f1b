"""Every key of the place that it was opened from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from tui.actions import Action
from tui.paint.spans import Line, fit
from tui.screens.over import Over
from tui.widgets.panes import PaintedSheet

GROUPS = (("supervise", "The run"), ("run", "This screen"), ("fleet", "This screen"), ("app", "Everywhere"))
READING: tuple[tuple[str, str], ...] = (
    ("↑ ↓ j k", "move; page up and down, home and end as everywhere"),
    ("tab", "the next part of the screen"),
    ("1 .. 8", "the tabs of a run"),
    ("[ ]", "the attempt before and after, in Verify and Diff"),
    ("O", "the whole output of a verify step"),
    ("n N", "the next and the previous match of a search"),
    ("f", "follow the stream's end"),
    ("w", "wrap long lines or not"),
    ("enter space", "fold or unfold a step; o all of them"),
    ("ctrl+p", "the palette: every action by name"),
    ("ctrl+c", "copy what is selected with the mouse"),
    ("ctrl+q", "leave from anywhere"),
)


class KeysScreen(Over):
    """Made from the table of actions."""

    heading = "Keys"

    def __init__(self, actions: Sequence[Action]) -> None:
        super().__init__()
        self._actions = tuple(actions)

    def content(self) -> Widget:
        """Groups of keys."""
        return PaintedSheet(lambda width, _: keys_lines(self._actions, width))

    def on_mount(self) -> None:
        """The list has the focus."""
        super().on_mount()
        self.query_one(PaintedSheet).focus()


def keys_lines(actions: Sequence[Action], width: int) -> list[Line]:
    """Keys, names for the `:` prompt, and what they do."""
    lines: list[Line] = []
    for place, name in GROUPS:
        group = [action for action in actions if action.place == place]
        if not group:
            continue
        lines += [[], [(f" {name}", "title")]]
        for action in group:
            argument = f" {action.argument}" if action.argument else ""
            left = [(f"  {fit(action.key_text, 12)}", "key"), (fit(f":{action.id}{argument}", 34), "muted")]
            lines.append([*left, (action.help, "text")] if width >= 90 else [left[0], (action.help, "text")])
    lines += [[], [(" Reading", "title")]]
    lines += [[(f"  {fit(key, 12)}", "key"), (text, "text")] for key, text in READING]
    return lines
