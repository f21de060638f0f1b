"""A widget that draws painted lines and repaints only those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.paint.spans import Line, clean
from tui.widgets.palette import Palette

if TYPE_CHECKING:
    from textual.app import App

PLAIN = Palette({})


def palette_of(app: App[object]) -> Palette:
    """The palette of the app's present theme; a plain one where an app has none."""
    return cast(Palette, getattr(app, "palette", PLAIN))


def to_strip(line: Line, palette: Palette, over: Style) -> Strip:
    """A painted line as Textual wants it. What isn't safe text yet is made so here, whatever painted it."""
    return Strip([Segment(clean(text), palette[role] + over) for text, role in line])


def ground_of(widget: Widget) -> Style:
    """A widget's background. Asking for it walks up the tree: too dear for every line, so widgets do it once per repaint."""
    return Style(bgcolor=widget.background_colors[1].rich_color)


class Canvas(Widget):
    """Draws what `paint` returns. Call `redraw` when its value changed."""

    ALLOW_SELECT = False
    _ground = Style.null()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self._painted_for: tuple[int, int] | None = None

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """The lines of this widget at a size; fewer than `height` leave the rest empty."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Paint anew and repaint the lines that differ."""
        width, height = self.size
        if not width or not height:
            return
        before, self._lines = self._lines, list(self.paint(width, height))[:height]
        if self._painted_for != (width, height):
            self._painted_for = (width, height)
            self.refresh()
            return
        changed = [
            Region(0, y, width, 1)
            for y in range(max(len(before), len(self._lines)))
            if y >= len(before) or y >= len(self._lines) or before[y] != self._lines[y]
        ]
        if changed:
            self.refresh(*changed)

    def on_resize(self, _: events.Resize) -> None:
        """Paint for the new size."""
        self.redraw()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Look the background up once, then draw."""
        self._ground = ground_of(self)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One line, cut or filled to the widget's width."""
        width, height = self.size
        if self._painted_for != (width, height):
            self._lines = list(self.paint(width, height))[:height]
            self._painted_for = (width, height)
        palette = palette_of(self.app)
        line = self._lines[y] if y < len(self._lines) else ()
        return to_strip(line, palette, self._ground).adjust_cell_length(width, palette[""] + self._ground)
