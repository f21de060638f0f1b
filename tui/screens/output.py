"""The whole kept output of a verify step, however large: pieces are read as they are scrolled to."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from runtime.text import plain
from tui import words
from tui.paint.spans import TAB, Line
from tui.screens.over import Over
from tui.tasks import start
from tui.widgets.sheet import Sheet

PIECE = 256 * 1024
KEPT = 40_000
"""Most lines kept; scrolling on drops the ones furthest away."""


class OutputView(Sheet):
    """Lines of a file; a partial last line waits for the piece that ends it."""

    def __init__(self) -> None:
        super().__init__(classes="loose")
        self.rest = ""

    def add(self, text: str, final: bool) -> None:
        """Lines of another piece."""
        pieces = (self.rest + text).split("\n")
        self.rest = "" if final else pieces.pop()
        fresh: list[Line] = [[(plain(piece).replace("\t", TAB)[:10_000], "text")] for piece in pieces]
        lines = [*self._lines, *fresh]
        surplus = max(0, len(lines) - KEPT)
        y = self.scroll_offset.y
        self.show(lines[surplus:])
        if surplus:
            self.scroll_to(y=max(0, y - surplus), animate=False, immediate=True)


class OutputScreen(Over):
    """Opened with O."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("G,end", "tail", "End", show=False),
        Binding("g,home", "top", "Top", show=False),
    ]
    keys = (("g G", "top, end"), ("/", "find in what is loaded"), ("esc", "back"))

    def __init__(self, run: str, path: str, command: str) -> None:
        super().__init__()
        self.heading = command
        self._run, self._path = run, path
        self._next = 0
        self._total: int | None = None
        self._busy = False

    def content(self) -> Widget:
        """The lines."""
        return OutputView()

    @property
    def view(self) -> OutputView:
        """The lines."""
        return self.query_one(OutputView)

    def on_mount(self) -> None:
        """Read the first piece; more when the end comes near."""
        super().on_mount()
        self.view.focus()
        self.watch(self.view, "scroll_y", self._near_end, init=False)
        self.more()

    def _near_end(self, _: float) -> None:
        view = self.view
        if view.scroll_offset.y + 3 * view.size.height >= view.count:
            self.more()

    def more(self) -> None:
        """Read the next piece unless one is on its way or all is read."""
        if not self._busy and (self._total is None or self._next < self._total):
            self._busy = True
            start(self, partial(self._read, self._next), "output", "read an output", exclusive=False)

    async def _read(self, offset: int, fresh: bool = False) -> None:
        from runtime.errors import LooptopError

        backend = self.looptop.backend
        if backend is None:
            return
        try:
            page = await backend.read_output(self._run, self._path, offset, PIECE)
        except LooptopError as error:
            self.looptop.tell(str(error), "error")
            return
        finally:
            self._busy = False
        if fresh:
            self.view.show([])
            self.view.rest = ""
        self._next, self._total = page.offset + page.size, page.total
        self.view.add(page.text, self._next >= page.total or not page.size)
        self.title_line([(f"{words.size(self._next)} of {words.size(page.total)} ", "muted")])

    def action_top(self) -> None:
        """Read from the beginning."""
        start(self, partial(self._again, 0, False), "output", "output")

    def action_tail(self) -> None:
        """Read the end."""
        start(self, partial(self._again, -PIECE, True), "output", "output")

    async def _again(self, offset: int, end: bool) -> None:
        await self._read(offset, fresh=True)
        self.view.scroll_to(y=self.view.count if end else 0, animate=False)
