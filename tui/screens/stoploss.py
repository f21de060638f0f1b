"""StopLoss on own history: is a score worth anything here, what would stopping have saved, and which policy is in force."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from tui.backend import StoplossReport
from tui.paint.spans import Line, Span, clean
from tui.paint.stoploss import stoploss_report
from tui.screens.over import Over
from tui.tasks import start
from tui.widgets.panes import PaintedSheet


class StoplossScreen(Over):
    """Measures when it is opened, and again for another project; a long history takes some seconds."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,p", "project", "Another project", show=False),
        Binding("r", "reload", "Measure again", show=False),
    ]
    heading = "StopLoss"
    keys = (("p", "another project"), ("r", "measure again"), ("/", "find"), ("esc", "back"))

    def __init__(self, project: str = "") -> None:
        super().__init__()
        self.project = project
        self.report: StoplossReport | None = None

    def content(self) -> Widget:
        """The report."""
        return PaintedSheet(self._painted)

    def _painted(self, width: int, _: int) -> list[Line]:
        if self.report is None:
            return [[], [("  measuring on own history ...", "muted")]]
        return stoploss_report(self.report, width)

    def on_mount(self) -> None:
        """Measure."""
        super().on_mount()
        self.query_one(PaintedSheet).focus()
        self.action_reload()

    def action_project(self) -> None:
        """The next project."""
        if self.report is not None and self.report.projects:
            names = self.report.projects
            at = names.index(self.report.project) if self.report.project in names else -1
            self.project = names[(at + 1) % len(names)]
            self.action_reload()

    def action_reload(self) -> None:
        """Measure anew."""
        self.report = None
        self.query_one(PaintedSheet).repaint()
        start(self, self._read, "stoploss", "measure StopLoss")

    async def _read(self) -> None:
        from runtime.errors import LooptopError

        if self.looptop.backend is None:
            return
        try:
            self.report = await self.looptop.backend.stoploss(self.project)
        except LooptopError as error:
            self.looptop.tell(str(error), "error")
            self.report = StoplossReport(self.project, missing=str(error))
        right: list[Span] = [(f"{clean(self.report.project) or 'no project yet'}  ", "accent")]
        self.title_line(right)
        self.query_one(PaintedSheet).repaint()
