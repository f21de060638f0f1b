"""Lines without end on Textual's line API: scrolled, searched, selected and copied; only what is visible is ever drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui.paint.spans import Line, cells, width_of
from tui.widgets.canvas import ground_of, palette_of, to_strip


class Sheet(ScrollView, can_focus=True):
    """Draws the lines that a subclass or `show` gives it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("home,g", "scroll_home", "Top", show=False),
        Binding("end,G", "scroll_end", "End", show=False),
        Binding("n", "next_match(1)", "Next match", show=False),
        Binding("N", "next_match(-1)", "Previous match", show=False),
    ]

    _ground = Style.null()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self.needle = ""
        self._match: int | None = None

    # What is drawn; a subclass with another source overrides these two.

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def line(self, y: int) -> Line:
        """One line."""
        return self._lines[y]

    def show(self, lines: Sequence[Line]) -> None:
        """Replace what is shown; the scroll position stays."""
        self._lines = list(lines)
        self.resized(max((width_of(line) for line in self._lines), default=0))
        self.refresh()

    def resized(self, width: int) -> None:
        """Tell the scroll bars about the lines' number and the widest of them."""
        self.virtual_size = Size(width, self.count)

    # Searching

    def find(self, needle: str) -> int:
        """Mark a text and go to its first place at or below the present one; returns how many lines hold it."""
        self.needle = needle.casefold()
        self._match = None
        self.refresh()
        if not self.needle:
            return 0
        found = sum(1 for y in range(self.count) if self.needle in self.text_at(y).casefold())
        if found:
            self.action_next_match(1)
        return found

    def action_next_match(self, step: int) -> None:
        """Go to the next line that holds what is searched for, around the end."""
        if not self.needle or not self.count:
            return
        start = self._match if self._match is not None else self.scroll_offset.y - step
        for offset in range(1, self.count + 1):
            y = (start + offset * step) % self.count
            if self.needle in self.text_at(y).casefold():
                self._match = y
                self.scroll_to(y=max(0, y - self.size.height // 3), animate=False)
                self.refresh()
                return

    # Drawing

    def text_at(self, y: int) -> str:
        """A line as plain text."""
        return "".join(text for text, _ in self.line(y))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Look the background up once, then draw."""
        self._ground = ground_of(self)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The line at a place of the viewport."""
        scroll_x, scroll_y = self.scroll_offset
        width = self.size.width
        palette = palette_of(self.app)
        at = y + scroll_y
        if at >= self.count:
            return Strip.blank(width, palette[""] + self._ground)
        over = palette.cursor if at == self._match else self._ground
        strip = to_strip(self._marked(self.line(at)), palette, over)
        selection = self.text_selection
        if selection is not None:
            strip = self._selected(strip, selection, at, palette.selection)
        strip = strip.crop_extend(scroll_x, scroll_x + width, palette[""] + over)
        return strip.apply_offsets(scroll_x, at)

    def _marked(self, line: Line) -> Line:
        """The line with what is searched for marked, where it lies within one span."""
        if not self.needle:
            return line
        marked = []
        for text, role in line:
            low, at = text.casefold(), 0
            while len(low) == len(text) and (found := low.find(self.needle, at)) >= 0:
                marked += [(text[at:found], role), (text[found : found + len(self.needle)], "match")]
                at = found + len(self.needle)
            marked.append((text[at:], role))
        return [span for span in marked if span[0]]

    def _selected(self, strip: Strip, selection: Selection, y: int, style: Style) -> Strip:
        span = selection.get_span(y)
        if span is None:
            return strip
        text = strip.text
        start = cells(text[: span[0]])
        end = strip.cell_length if span[1] == -1 else cells(text[: span[1]])
        before, chosen, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end)
        return Strip.join([before, chosen.apply_style(style), after])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, for the clipboard."""
        return selection.extract("\n".join(self.text_at(y).rstrip() for y in range(self.count))), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def on_resize(self, _: events.Resize) -> None:
        """Lines may be laid out for the width."""
        self.refresh()
