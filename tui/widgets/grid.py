"""A table of painted cells on the line API: any number of rows, only the visible ones are drawn, and rows keep their place by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.paint.spans import Align, Line, Span, fit, width_of
from tui.widgets.canvas import ground_of, palette_of, to_strip

Row = TypeVar("Row")
GAP = 2


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column: its head, width in cells (the least one where it stretches), and how a row's cell is painted.

    `rank` says what goes first where there is no room: the highest. Rank 0 always stays.
    """

    head: str
    width: int
    cell: Callable[[Row, int], str | Span | Line]
    align: Align = "left"
    stretch: bool = False
    rank: int = 0


def layout(columns: Sequence[Column[Row]], width: int) -> list[tuple[Column[Row], int]]:
    """The columns that fit, with their widths; the stretching ones share what is left over."""
    kept = list(columns)
    while len(kept) > 1 and sum(c.width + GAP for c in kept) + 1 > width:
        worst = max(kept, key=lambda c: c.rank)
        if worst.rank == 0:
            break
        kept.remove(worst)
    spare = max(0, width - 1 - sum(c.width + GAP for c in kept))
    elastic = [c for c in kept if c.stretch]
    widths = []
    for column in kept:
        extra = 0
        if column.stretch:
            extra = spare // len(elastic)
            spare -= extra
            elastic = elastic[1:]
        widths.append((column, column.width + extra))
    return widths


def painted(cell: str | Span | Line, width: int, align: Align) -> Line:
    """A cell's content in exactly its width."""
    if isinstance(cell, str):
        return [(fit(cell, width, align), "")]
    if isinstance(cell, tuple) and len(cell) == 2 and isinstance(cell[0], str):
        return [(fit(cell[0], width, align), str(cell[1]))]
    line: list[Span] = [(str(text), str(role)) for text, role in cell]
    blank = (" " * max(0, width - width_of(line)), "")
    return [blank, *line] if align == "right" else [*line, blank]


class Grid(ScrollView, Generic[Row], can_focus=True):
    """Rows of type Row under fixed heads, with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(-1)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
        Binding("enter", "choose", "Open", show=False),
    ]

    _ground = Style.null()

    class Chosen(Message):
        """A row was opened by key or by mouse."""

        def __init__(self, grid: Grid[Any], key: str) -> None:
            super().__init__()
            self.grid = grid
            self.key = key

        @property
        def control(self) -> Grid[Any]:
            """The table."""
            return self.grid

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, grid: Grid[Any], key: str) -> None:
            super().__init__()
            self.grid = grid
            self.key = key

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        key: Callable[[Row], str],
        *,
        empty: str = "",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.columns = columns
        self._key = key
        self.empty = empty
        self.rows: list[Row] = []
        self.cursor_key: str | None = None
        self._cursor = 0
        self._layout: tuple[int, list[tuple[Column[Row], int]]] = (0, [])

    # Rows

    def show(self, rows: Sequence[Row]) -> None:
        """Replace the rows. The cursor stays on its row by key, or near its place where that row is gone."""
        before, self.rows = self.rows, list(rows)
        keys = [self._key(row) for row in self.rows]
        if self.cursor_key in keys:
            self._cursor = keys.index(self.cursor_key)
        else:
            self._cursor = max(0, min(self._cursor, len(keys) - 1))
            self.cursor_key = keys[self._cursor] if keys else None
        if len(before) != len(self.rows) or not self.rows:
            self.virtual_size = Size(0, len(self.rows) + 1)
            self.refresh()
            return
        top, height = self.scroll_offset.y, max(0, self.size.height - 1)
        changed = [
            Region(0, y + 1, self.size.width, 1)
            for y in range(height)
            if top + y < len(self.rows) and before[top + y] != self.rows[top + y]
        ]
        if changed:
            self.refresh(*changed)

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self._cursor] if self.rows else None

    # Moving

    def move_to(self, index: int) -> None:
        """Put the cursor on a row and bring it into view."""
        if not self.rows:
            return
        index = max(0, min(index, len(self.rows) - 1))
        self._cursor, self.cursor_key = index, self._key(self.rows[index])
        top, room = self.scroll_offset.y, max(1, self.size.height - 1)
        if index < top:
            self.scroll_to(y=index, animate=False)
        elif index >= top + room:
            self.scroll_to(y=index - room + 1, animate=False)
        self.refresh()
        self.post_message(self.Moved(self, self.cursor_key))

    def action_move(self, step: int) -> None:
        """Move by rows."""
        self.move_to(self._cursor + step)

    def action_page(self, step: int) -> None:
        """Move by a screenful."""
        self.move_to(self._cursor + step * max(1, self.size.height - 2))

    def action_edge(self, step: int) -> None:
        """Move to the first or the last row."""
        self.move_to(0 if step < 0 else len(self.rows) - 1)

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        if self.cursor_key is not None:
            self.post_message(self.Chosen(self, self.cursor_key))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a click on the row under it opens it."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y == 0:
            return
        index = offset.y - 1 + self.scroll_offset.y
        if index >= len(self.rows):
            return
        again = index == self._cursor
        self.move_to(index)
        if again or event.chain > 1:
            self.action_choose()

    # Drawing

    def on_resize(self, _: events.Resize) -> None:
        """Columns are laid out for the width; the cursor stays in view."""
        if self.rows:
            top, room = self.scroll_offset.y, max(1, self.size.height - 1)
            if not top <= self._cursor < top + room:
                self.scroll_to(y=max(0, self._cursor - room + 1), animate=False)
        self.refresh()

    def _columns(self, width: int) -> list[tuple[Column[Row], int]]:
        if self._layout[0] != width:
            self._layout = (width, layout(self.columns, width))
        return self._layout[1]

    def relayout(self) -> None:
        """Forget the columns' layout, after `columns` was replaced."""
        self._layout = (0, [])
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Look the background up once, then draw."""
        self._ground = ground_of(self)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The heads, then the rows."""
        width = self.size.width
        palette = palette_of(self.app)
        over = self._ground
        line: list[Span] = [(" ", "")]
        index = y - 1 + self.scroll_offset.y
        if y == 0:
            for column, size in self._columns(width):
                line += [(fit(column.head, size, column.align), "head"), (" " * GAP, "")]
        elif index < len(self.rows):
            row = self.rows[index]
            if index == self._cursor:
                over = palette.cursor if self.has_focus else over
                line = [("▌", "accent" if self.has_focus else "faint")]
            for column, size in self._columns(width):
                line += [*painted(column.cell(row, size), size, column.align), (" " * GAP, "")]
        elif not self.rows and y == 2:
            line += [(self.empty, "muted")]
        return to_strip(line, palette, over).adjust_cell_length(width, palette[""] + over)
