"""The line at the foot of a screen for filters, searches and commands. It is made when it is first needed."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class Prompt(Input):
    """An input that says what it is for and closes on escape."""

    DEFAULT_CSS = """
    Prompt { dock: bottom; height: 1; width: 1fr; border: none; padding: 0 1; background: $panel; }
    Prompt:focus { border: none; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    class Typed(Message):
        """The text changed while typing (`final` false) or was entered (`final` true)."""

        def __init__(self, purpose: str, text: str, final: bool) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text
            self.final = final

    class Left(Message):
        """The prompt was closed without an answer."""

        def __init__(self, purpose: str) -> None:
            super().__init__()
            self.purpose = purpose

    def __init__(self, purpose: str, hint: str, value: str = "") -> None:
        super().__init__(value, placeholder=hint, id="prompt", select_on_focus=False)
        self.purpose = purpose

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        event.stop()
        self.post_message(self.Typed(self.purpose, event.value, False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the answer."""
        event.stop()
        self.post_message(self.Typed(self.purpose, event.value, True))

    def action_leave(self) -> None:
        """Close without an answer."""
        self.post_message(self.Left(self.purpose))
