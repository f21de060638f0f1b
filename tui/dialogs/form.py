"""The one dialog: quotes what a command buys and costs, asks for what it needs, and sends it. What differs is a `Form`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, TextArea

from tui.paint.spans import Line, paragraphs
from tui.widgets.canvas import Canvas


@dataclass(frozen=True)
class Field:
    """One thing to fill in; `long` is text of several lines."""

    name: str
    label: str
    value: str = ""
    hint: str = ""
    long: bool = False


@dataclass(frozen=True)
class Choice:
    """One button."""

    id: str
    label: str


Values = dict[str, str]
Answer = Callable[[str, Values], Any]
"""What comes of a choice and the values; raises LooptopError with what is wrong in one sentence."""


@dataclass(frozen=True)
class Form:
    """A dialog's content. Choosing `cancel`, or escape, answers None."""

    title: str
    lines: tuple[tuple[str, str], ...]
    """Paragraphs and their roles."""
    choices: tuple[Choice, ...]
    answer: Answer
    fields: tuple[Field, ...] = ()
    danger: bool = False
    focus: str = ""
    """The choice or field that has the focus at first: the harmless one of a dialog that destroys."""


class Paragraphs(Canvas):
    """Wrapped paragraphs, as high as they need."""

    def __init__(self, parts: Sequence[tuple[str, str]], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.parts = tuple(parts)

    def say(self, parts: Sequence[tuple[str, str]]) -> None:
        """Say something else; the same again costs nothing."""
        if tuple(parts) == self.parts:
            return
        self.parts = tuple(parts)
        self._painted_for = None
        self.refresh(layout=True)

    def paint(self, width: int, height: int) -> list[Line]:
        """Every paragraph from its own line."""
        return [[(piece, role)] for text, role in self.parts for piece in (paragraphs(text, width) or [""])]

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        """Lines at this width."""
        return len(self.paint(max(1, width), 0))


class FormDialog(ModalScreen[Any]):
    """Shows a Form."""

    CSS_PATH = "form.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", show=False),
        Binding("ctrl+s,ctrl+j", "main", "Send", show=False),
        Binding("left,up", "app.focus_previous", show=False),
        Binding("right,down", "app.focus_next", show=False),
    ]

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form

    def compose(self) -> ComposeResult:
        """Title, paragraphs, fields, what is wrong, buttons."""
        form = self.form
        with Vertical(classes="dialog -danger" if form.danger else "dialog"):
            yield Paragraphs([(form.title, "bad-strong" if form.danger else "title"), ("", ""), *form.lines])
            for field in form.fields:
                yield Paragraphs([("", ""), (field.label, "muted")])
                if field.long:
                    yield TextArea(field.value, id=f"field-{field.name}", tab_behavior="focus")
                else:
                    yield Input(field.value, placeholder=field.hint, id=f"field-{field.name}")
            yield Paragraphs([], id="wrong")
            with Horizontal(classes="buttons"):
                for choice in form.choices:
                    yield Button(choice.label, id=choice.id, classes="-main" if choice is form.choices[0] else "")
                yield Button("Cancel", id="cancel")

    def on_mount(self) -> None:
        """Focus what the form says."""
        first = self.form.fields[0].name if self.form.fields else ""
        wanted = self.form.focus or (
            f"field-{first}" if first else self.form.choices[0].id if self.form.choices else "cancel"
        )
        self.query_one(f"#{wanted}").focus()

    def values(self) -> Values:
        """What is filled in."""
        found: Values = {}
        for field in self.form.fields:
            if field.long:
                found[field.name] = self.query_one(f"#field-{field.name}", TextArea).text
            else:
                found[field.name] = self.query_one(f"#field-{field.name}", Input).value
        return found

    def choose(self, choice: str) -> None:
        """Take a choice; what is wrong is said in place."""
        from runtime.errors import LooptopError

        if choice == "cancel":
            self.dismiss(None)
            return
        try:
            answer = self.form.answer(choice, self.values())
        except LooptopError as error:
            self.query_one("#wrong", Paragraphs).say([(str(error), "bad")])
            return
        self.dismiss(answer)

    def on_button_pressed(self, message: Button.Pressed) -> None:
        """A button."""
        self.choose(cast(str, message.button.id))

    def on_input_submitted(self, _: Input.Submitted) -> None:
        """Enter in a field is the first choice."""
        self.action_main()

    def action_main(self) -> None:
        """The first choice."""
        self.choose(self.form.choices[0].id if self.form.choices else "cancel")

    def action_cancel(self) -> None:
        """Nothing happens."""
        self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        """A click beside the dialog closes it, unless something was typed."""
        if event.widget is self and not any(
            value != field.value for field, value in zip(self.form.fields, self.values().values(), strict=True)
        ):
            self.dismiss(None)
