"""A full screen on top of another one, that escape leaves: a heading, something to read, and its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from tui.paint.spans import Line, Span, clean
from tui.screens.base import LEAST
from tui.widgets.bars import LineBar
from tui.widgets.sheet import Sheet

if TYPE_CHECKING:
    from textual import events

    from tui.app import LooptopApp
    from tui.widgets.prompt import Prompt


class Over(Screen[None]):
    """A subclass composes its content in `content` and says its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", show=False),
        Binding("slash", "find", "Find", show=False),
    ]
    heading: str = ""
    keys: tuple[tuple[str, str], ...] = (("esc", "back"), ("/", "find"))

    @property
    def looptop(self) -> LooptopApp:
        """The app, typed."""
        return cast("LooptopApp", self.app)

    def compose(self) -> ComposeResult:
        """Heading, content, keys."""
        yield LineBar(id="head")
        yield self.content()
        yield LineBar(id="foot")
        yield LineBar(id="tiny")

    def content(self) -> Widget:
        """What is read here."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Draw heading and keys."""
        self.title_line()
        spans: list[Span] = [(" ", "")]
        for key, label in self.keys:
            spans += [(key, "key"), (f" {label}  ", "muted")]
        self.query_one("#foot", LineBar).show(spans)

    def title_line(self, right: Line = ()) -> None:
        """Draw the heading."""
        self.query_one("#head", LineBar).show([(f" {clean(self.heading)}", "title")], right)

    def on_resize(self, event: events.Resize) -> None:
        """Say so where there is no room."""
        tiny = event.size.width < LEAST[0] or event.size.height < LEAST[1]
        self.set_class(tiny, "-tiny")
        if tiny:
            text = f"looptop wants {LEAST[0]}x{LEAST[1]}; this is {event.size.width}x{event.size.height}"
            self.query_one("#tiny", LineBar).show([(text, "warn-strong")])

    def action_leave(self) -> None:
        """Back."""
        self.app.pop_screen()

    def action_find(self) -> None:
        """Search."""
        from tui.widgets.prompt import Prompt

        prompt = Prompt("find", "search: n and N go on")
        self.mount(prompt)
        prompt.focus()

    def on_prompt_typed(self, message: Prompt.Typed) -> None:
        """Search while typing."""
        for sheet in self.query(Sheet):
            sheet.find(message.text)
        if message.final:
            self._close_prompt()

    def on_prompt_left(self, _: Prompt.Left) -> None:
        """Escape in the prompt."""
        for sheet in self.query(Sheet):
            sheet.find("")
        self._close_prompt()

    def _close_prompt(self) -> None:
        from tui.widgets.prompt import Prompt

        for prompt in self.query(Prompt):
            prompt.remove()
        for sheet in self.query(Sheet):
            sheet.focus()
