"""The dialog for tool calls that wait: every character of each is shown, and none is approved before it was shown to its end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input

from runtime import commands as c
from runtime.text import hidden_characters, one_line, revealed
from tui import words
from tui.dialogs.form import Paragraphs
from tui.paint.spans import Line, Span, cut_line, paragraphs, wrap
from tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from runtime.view.model import Approval

SENDER = "supervisor"
WIDTH, SIDES = 76, 7
"""Columns of the dialog at most, and of what stands beside its text: border, padding, scroll bar."""
LOW = 22
"""Below so many rows gaps and padding are left out."""
REST, LOW_REST, LEAST = 9, 5, 3
"""Rows of place, label, field, buttons, gaps and padding; the same on a low screen; and of the command at least."""
_MARK = re.compile("(\u27e8[^\u27e9]*\u27e9)")


def command_lines(command: str, width: int) -> list[Line]:
    """A command whole, wrapped without losing a character; marks stand out."""
    pieces = [piece for line in revealed(command).split("\n") for piece in wrap(line, width) or [""]]
    return [[_span(part) for part in _MARK.split(piece) if part] or [("", "")] for piece in pieces]


def _span(part: str) -> Span:
    return part, "bad-strong" if _MARK.fullmatch(part) else "strong"


class CommandText(Canvas):
    """The command, as high as it needs."""

    def __init__(self, command: str) -> None:
        super().__init__(id="command-text")
        self.command = command

    def show(self, command: str) -> None:
        """Another command."""
        self.command = command
        self._painted_for = None
        self.refresh(layout=True)

    def paint(self, width: int, height: int) -> list[Line]:
        """Every line."""
        return command_lines(self.command, width)

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        """Lines at this width."""
        return len(self.paint(max(1, width), 0))


class Place(Canvas):
    """One line that says which part is on screen; it never changes its size, so that reading on costs no new layout."""

    span: Span = ("", "muted")

    def show(self, text: str, role: str) -> None:
        """Say it."""
        self.span = (text, role)
        self.redraw()

    def paint(self, width: int, height: int) -> list[Line]:
        """The line."""
        return [cut_line([self.span], width)]

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        """One."""
        return 1


class ApprovalDialog(ModalScreen["list[c.Command] | None"]):
    """Shows the calls that wait, one at a time. Answers the commands that decide them; None decides nothing."""

    CSS_PATH: ClassVar[list[str]] = ["form.tcss", "approval.tcss"]  # type: ignore[assignment]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Decide later", show=False),
        Binding("pageup", "page(-1)", "Read up", show=False),
        Binding("pagedown,space", "page(1)", "Read on", show=False),
        Binding("n", "step(1)", "Next call", show=False),
        Binding("p", "step(-1)", "Call before", show=False),
        Binding("left,up", "app.focus_previous", show=False),
        Binding("right,down", "app.focus_next", show=False),
    ]

    def __init__(self, waiting: Sequence[Approval]) -> None:
        super().__init__()
        self.waiting = tuple(waiting)
        self.at = 0
        self._room = 0
        self.read: set[int] = set()
        """Steps whose call was shown to its end."""

    @property
    def shown(self) -> Approval:
        """The call on screen."""
        return self.waiting[self.at]

    @property
    def scroll(self) -> VerticalScroll:
        """What the command scrolls in."""
        return self.query_one("#command", VerticalScroll)

    def compose(self) -> ComposeResult:
        """What wants to run and why it waits, the command, where in it one is, the reason, buttons."""
        several = len(self.waiting) > 1
        with Vertical(classes="dialog"):
            yield Paragraphs(self._head(), id="head")
            with VerticalScroll(id="command", can_focus=False):
                yield CommandText(self.shown.command)
            yield Place(id="where")
            yield Paragraphs([("Why (the model reads it when you deny)", "muted")])
            yield Input(id="field-reason")
            yield Paragraphs([], id="wrong")
            with Horizontal(classes="buttons"):
                yield Button("Approve", id="approve", classes="-main")
                if several:
                    yield Button(f"Approve all {len(self.waiting)}", id="approve-all")
                yield Button("Deny", id="deny")
                if several:
                    yield Button("Next", id="next")
                yield Button("Later", id="cancel")

    def on_mount(self) -> None:
        """Whoever presses enter unread denies."""
        self.query_one("#deny").focus()
        self.watch(self.scroll, "scroll_y", self._look, init=False)
        self._fit()

    def on_resize(self) -> None:
        """Another size, another number of lines."""
        self._fit()

    def _fit(self) -> None:
        """Give the command the lines that everything else leaves, so that all of it stays on the screen."""
        self.set_class(self.size.height < LOW, "-low")
        width = max(1, min(WIDTH, self.size.width) - SIDES)
        words_of = [*self.query_one("#head", Paragraphs).parts, *self.query_one("#wrong", Paragraphs).parts]
        others = sum(len(paragraphs(text, width)) or 1 for text, _ in words_of)
        room = self.size.height - others - (LOW_REST if self.size.height < LOW else REST)
        if room != self._room:
            self._room = room
            self.scroll.styles.max_height = max(LEAST, room)
        self.call_after_refresh(self._look)

    def _say(self, text: str) -> None:
        """Say what is wrong."""
        self.query_one("#wrong", Paragraphs).say([(text, "bad")] if text else [])
        self._fit()

    def _head(self) -> list[tuple[str, str]]:
        one = self.shown
        count = f" {self.at + 1} of {len(self.waiting)}" if len(self.waiting) > 1 else ""
        gap = [("", "")] if self.size.height >= LOW else []
        parts = [
            (f"Approve{count}", "title"),
            *gap,
            (f"{one_line(one.tool, 40)} wants to run, at step {one.step}: {one_line(one.why, 160)}", "text"),
        ]
        hidden = max(one.hidden, hidden_characters(one.command))
        if hidden:
            parts.append((f"has {words.plural(hidden, 'hidden character')}; here they are marks", "bad-strong"))
        return [*parts, *gap]

    def _look(self) -> None:
        """Say which part of the command is on screen; what was shown to its end is read."""
        scroll = self.scroll
        total, height = self.query_one(CommandText).size.height, scroll.size.height
        if not total or not height:
            return
        if not self.query_one(".dialog").content_region.contains_region(scroll.region):
            self.query_one(Place).show("The terminal is too small to show the call: enlarge it.", "bad")
            return
        first = min(round(scroll.scroll_y), max(0, total - height))
        last = min(total, first + height)
        if last >= total:
            self.read.add(self.shown.step)
        size = f"{len(self.shown.command):,} characters"
        if total <= height:
            text, role = f"{size}, all of them shown.", "muted"
        elif last < total:
            text, role = (
                f"Lines {first + 1} to {last} of {total}: {total - last} more below, pgdn reads on.",
                "warn-strong",
            )
        else:
            text, role = f"Lines {first + 1} to {last} of {total}, the end; {size}. pgup goes back.", "muted"
        self.query_one(Place).show(text, role)

    def action_page(self, step: int) -> None:
        """A page of the command, with one line kept."""
        scroll = self.scroll
        scroll.scroll_to(y=scroll.scroll_y + step * max(1, scroll.size.height - 1), animate=False)
        self.call_after_refresh(self._look)

    def action_step(self, step: int) -> None:
        """Another call."""
        self._go((self.at + step) % len(self.waiting))

    def _go(self, at: int) -> None:
        self.at = at
        self.query_one("#head", Paragraphs).say(self._head())
        self.query_one(CommandText).show(self.shown.command)
        self.scroll.scroll_home(animate=False)
        self._say("")

    def on_button_pressed(self, message: Button.Pressed) -> None:
        """A button."""
        choice = cast(str, message.button.id)
        if choice == "cancel":
            self.dismiss(None)
        elif choice == "next":
            self.action_step(1)
        else:
            self._decide(choice)

    def _decide(self, choice: str) -> None:
        reason = self.query_one("#field-reason", Input).value.strip()
        steps = [one.step for one in (self.waiting if choice == "approve-all" else (self.shown,))]
        if choice == "deny":
            self.dismiss([c.Deny(sender=SENDER, step=self.shown.step, reason=reason)])
            return
        unread = [step for step in steps if step not in self.read]
        if unread:
            if self.shown.step not in unread:
                self._go([one.step for one in self.waiting].index(unread[0]))
            what = (
                "It is"
                if len(steps) == 1
                else f"{words.plural(len(unread), 'call')} {'is' if len(unread) == 1 else 'are'}"
            )
            self._say(f"{what} not read to the end yet: pgdn reads on.")
            return
        self.dismiss([c.Approve(sender=SENDER, step=step, reason=reason) for step in steps])

    def on_input_submitted(self, _: Input.Submitted) -> None:
        """Enter after a reason denies: it is what a reason is for."""
        self._decide("deny")

    def action_cancel(self) -> None:
        """Nothing is decided."""
        self.dismiss(None)
