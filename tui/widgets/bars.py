"""The one-line bars of a screen: header, tabs, banner and footer. Each is a canvas; what can be clicked is mapped by its column."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from tui.actions import Action
from tui.paint.spans import Line, Span, cells, cut_line, spread, width_of
from tui.widgets.canvas import Canvas


class LineBar(Canvas):
    """One or more lines, each with a left and a right part."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._content: list[tuple[Line, Line]] = []

    def show(self, left: Line, right: Line = ()) -> None:
        """Draw one line."""
        self.show_lines([(left, right)])

    def show_lines(self, content: Sequence[tuple[Line, Line]]) -> None:
        """Draw lines."""
        self._content = list(content)
        self.redraw()

    def paint(self, width: int, height: int) -> list[Line]:
        """Left parts are cut where they would meet the right ones."""
        return [spread(left, right, width) if right else cut_line(left, width) for left, right in self._content]


class Tabs(Canvas):
    """Names to choose from; the chosen one is drawn so."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, names: Sequence[str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.names = tuple(names)
        self.active = self.names[0]
        self.right: Line = ()
        self._spots: list[tuple[int, int, str]] = []

    def choose(self, name: str) -> None:
        """Draw another tab as chosen."""
        self.active = name
        self.redraw()

    def paint(self, width: int, height: int) -> list[Line]:
        """One line; digits name the keys where there is room."""
        digits = width >= sum(len(name) + 4 for name in self.names) + 2
        gap = 2 if width >= sum(len(name) + 2 for name in self.names) else 1
        spans: list[Span] = [(" ", "")]
        self._spots = []
        for number, name in enumerate(self.names, 1):
            start = width_of(spans)
            if digits:
                spans.append((f"{number} ", "faint"))
            spans.append((name, "tab-on" if name == self.active else "muted"))
            self._spots.append((start, width_of(spans), name))
            spans.append((" " * gap, ""))
        return [spread(spans, self.right, width) if self.right else cut_line(spans, width)]

    def on_click(self, event: events.Click) -> None:
        """Choose by mouse."""
        for start, end, name in self._spots:
            if start <= event.x < end:
                self.post_message(self.Chosen(name))


class KeyBar(Canvas):
    """The footer: keys of this place, as many as fit, most important first, in a fixed order."""

    class Pressed(Message):
        """An action was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._actions: tuple[tuple[str, str, str, int], ...] = ()
        self._spots: list[tuple[int, int, str]] = []

    def show(self, actions: Sequence[Action], labels: dict[str, str] | None = None) -> None:
        """Draw these; `labels` are other words for some."""
        labels = labels or {}
        self._actions = tuple((a.id, a.key_text, labels.get(a.id, a.label), a.rank) for a in actions)
        self.redraw()

    def paint(self, width: int, height: int) -> list[Line]:
        """Leave out the least important until the rest fits."""
        kept = list(self._actions)
        while kept and sum(cells(key) + cells(label) + 3 for _, key, label, _ in kept) > width:
            kept.remove(max(reversed(kept), key=lambda one: one[3]))
        spans: list[Span] = [(" ", "")]
        self._spots = []
        for action, key, label, _ in kept:
            start = width_of(spans)
            spans += [(key, "key"), (f" {label}", "muted")]
            self._spots.append((start, width_of(spans), action))
            spans.append(("  ", ""))
        return [cut_line(spans[:-1], width)]

    def on_click(self, event: events.Click) -> None:
        """Act by mouse."""
        for start, end, action in self._spots:
            if start <= event.x < end:
                self.post_message(self.Pressed(action))
