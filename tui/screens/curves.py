"""Curves: what each further attempt brings and costs by model family, the cap that follows, and other caps tried."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from runtime.catalog.caps import MAX_CAP, MIN_CAP
from runtime.errors import LooptopError, UsageError
from tui.backend import CurvesReport
from tui.dialogs.form import Choice, Field, Form, FormDialog, Values
from tui.dialogs.quotes import parse_number
from tui.paint.curves import curves_lines
from tui.paint.spans import Line
from tui.screens.over import Over
from tui.tasks import start
from tui.widgets.panes import PaintedSheet

MOST_TRIED = 6


def caps_form(caps: tuple[int, ...]) -> Form:
    """Asks for the caps to try; answers with them, in order."""
    lines = (("Finished runs are replayed under each cap, without a model call.", "text"),)

    def answer(_: str, values: Values) -> tuple[int, ...]:
        found = [parse_number(part, "A cap") for part in values["caps"].replace(",", " ").split()]
        if len(found) > MOST_TRIED or any(cap != int(cap) or not MIN_CAP <= cap <= MAX_CAP for cap in found):
            raise UsageError(f"Caps are whole numbers from {MIN_CAP} to {MAX_CAP}, {MOST_TRIED} of them at most.")
        return tuple(sorted({int(cap) for cap in found}))

    label = "Caps, such as 3 5 7 (empty: those around each family's own)"
    field = Field("caps", label, " ".join(map(str, caps)))
    return Form("What if", lines, (Choice("try", "Try them"),), answer, (field,))


class CurvesScreen(Over):
    """Reads the store when it is opened, and again after a recommendation was applied."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,j", "choose(1)", "Next family", show=False),
        Binding("shift+tab,k", "choose(-1)", "Family before", show=False),
        Binding("a,enter", "apply", "Apply the recommendation", show=False),
        Binding("w", "try", "Try other caps", show=False),
        Binding("r", "reload", "Read again", show=False),
    ]
    heading = "Curves"
    keys = (
        ("j k", "family"),
        ("a", "apply its recommended cap"),
        ("w", "try other caps"),
        ("r", "read again"),
        ("esc", "back"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0
        self.caps: tuple[int, ...] = ()
        """The caps that are tried; none: those around each family's own."""
        self.report: CurvesReport | None = None

    def content(self) -> Widget:
        """The curves."""
        return PaintedSheet(self._painted)

    def _painted(self, width: int, _: int) -> list[Line]:
        if self.report is None:
            return [[], [("  reading the store ...", "muted")]]
        return curves_lines(self.report, self.chosen, width)

    def on_mount(self) -> None:
        """Read."""
        super().on_mount()
        self.query_one(PaintedSheet).focus()
        self.action_reload()

    def action_choose(self, step: int) -> None:
        """Another family."""
        if self.report is not None and self.report.families:
            self.chosen = (self.chosen + step) % len(self.report.families)
            self.query_one(PaintedSheet).repaint()

    def action_reload(self) -> None:
        """Read again."""
        start(self, self._read, "curves", "read the curves")

    def action_apply(self) -> None:
        """Write the chosen family's recommendation into the settings, after a dialog that quotes it."""
        start(self, self._apply, "apply", "apply a recommendation")

    def action_try(self) -> None:
        """Choose the caps that are tried on the finished runs."""
        start(self, self._try, "try", "try other caps")

    async def _try(self) -> None:
        answer: Any = await self.looptop.push_screen_wait_safe(FormDialog(caps_form(self.caps)))
        if answer is not None:
            self.caps = answer
            await self._read()

    async def _read(self) -> None:
        if self.looptop.backend is None:
            return
        try:
            self.report = await self.looptop.backend.curves(self.caps)
        except LooptopError as error:
            self.looptop.tell(str(error), "error")
            return
        self.chosen = min(self.chosen, max(0, len(self.report.families) - 1))
        self.query_one(PaintedSheet).repaint()

    async def _apply(self) -> None:
        if self.report is None or not self.report.families or self.looptop.backend is None:
            return
        one = self.report.families[self.chosen]
        cap = one.curve.recommended.to_set
        if cap is None:
            self.looptop.tell(f"nothing is recommended for {one.curve.family}: {one.curve.recommended.why}", "warning")
            return
        lines = (
            (
                f"caps.defaults.{one.curve.family} is set to {cap} in your configuration; now it is {one.cap} ({one.cap_from}).",
                "text",
            ),
            (f"{one.curve.recommended.why}; from {one.curve.runs} runs.", "text"),
            ("Who did so, and these figures, are kept.", "muted"),
        )
        form = Form("Apply", lines, (Choice("apply", f"Set it to {cap}"),), lambda choice, _: choice)
        answer: Any = await self.looptop.push_screen_wait_safe(FormDialog(form))
        if answer is None:
            return
        try:
            self.looptop.tell(await self.looptop.backend.apply_cap(one.curve.family))
        except LooptopError as error:
            self.looptop.tell(str(error), "error")
        await self._read()
