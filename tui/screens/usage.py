"""What was used: this day, week or month against the one before, by project, model or purpose."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from tui.backend import UsageReport
from tui.paint.spans import Line, Span
from tui.paint.usage import BYS, SPANS, usage_lines
from tui.screens.over import Over
from tui.tasks import start
from tui.widgets.panes import PaintedSheet


class UsageScreen(Over):
    """Asks the ledger when it is opened, and again for another span or key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "span('day')", "Day", show=False),
        Binding("w", "span('week')", "Week", show=False),
        Binding("m", "span('month')", "Month", show=False),
        Binding("tab,b", "by", "By another property", show=False),
        Binding("r", "reload", "Read again", show=False),
    ]
    heading = "Usage"
    keys = (("d w m", "day, week, month"), ("b", "by project, model, purpose"), ("r", "read again"), ("esc", "back"))

    def __init__(self) -> None:
        super().__init__()
        self.span: Any = "month"
        self.by: Any = "project"
        self.report: UsageReport | None = None

    def content(self) -> Widget:
        """The report."""
        return PaintedSheet(self._painted)

    def _painted(self, width: int, _: int) -> list[Line]:
        return [[], [("  reading the ledger ...", "muted")]] if self.report is None else usage_lines(self.report, width)

    def on_mount(self) -> None:
        """Read the ledger."""
        super().on_mount()
        self.query_one(PaintedSheet).focus()
        self.action_reload()

    def action_span(self, span: str) -> None:
        """Another span."""
        self.span = span
        self.action_reload()

    def action_by(self) -> None:
        """The next property."""
        self.by = BYS[(BYS.index(self.by) + 1) % len(BYS)]
        self.action_reload()

    def action_reload(self) -> None:
        """Read again."""
        right: list[Span] = []
        for one in SPANS:
            right.append((one, "tab-on" if one == self.span else "muted"))
            right.append(("  ", ""))
        self.title_line(right)
        start(self, self._read, "usage", "read the ledger")

    async def _read(self) -> None:
        from runtime.errors import LooptopError

        if self.looptop.backend is None:
            return
        try:
            self.report = await self.looptop.backend.usage(self.by, self.span)
        except LooptopError as error:
            self.looptop.tell(str(error), "error")
            return
        self.query_one(PaintedSheet).repaint()
