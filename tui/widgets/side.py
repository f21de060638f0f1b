"""The sections beside the stream: gauges, cache, StopLoss, facts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from tui.paint.gauges import sidebar
from tui.paint.spans import Line
from tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from runtime.view.model import RunView


class Sidebar(Canvas):
    """Draws a run's sections as far as there is room."""

    def __init__(self, now: Callable[[], datetime], now_ms: Callable[[], int], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now, self._now_ms = now, now_ms
        self._view: RunView | None = None

    def show(self, view: RunView) -> None:
        """Draw another picture."""
        self._view = view
        self.redraw()

    def paint(self, width: int, height: int) -> list[Line]:
        """Sections from the top."""
        if self._view is None or not self._view.seq:
            return []
        return sidebar(self._view, self._now_ms(), self._now(), width, height)
