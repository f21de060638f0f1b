"""Projects: each with its cap override, which can be set and cleared here, its verify steps, budgets, runs and cost."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from runtime.errors import LooptopError, UsageError
from tui.backend import ProjectLine
from tui.dialogs.form import Choice, Field, Form, FormDialog, Values
from tui.dialogs.quotes import parse_number
from tui.paint.projects import projects_lines
from tui.paint.spans import Line
from tui.screens.over import Over
from tui.tasks import start
from tui.widgets.panes import PaintedSheet


def cap_form(one: ProjectLine) -> Form:
    """Sets or clears a project's cap override."""
    lines = (
        (f"{one.name}: {'no override, the default by model holds' if one.cap is None else f'now {one.cap}'}.", "text"),
        ("It holds for every model of this project, from the next leg on; --cap and a live change beat it.", "muted"),
    )

    def answer(choice: str, values: Values) -> dict[str, int | None]:
        if choice == "clear" or not values["cap"].strip():
            return {"fix_verify_retry_cap": None}
        value = parse_number(values["cap"], "The cap")
        if value != int(value) or not 1 <= value <= 20:
            raise UsageError("The cap is a whole number from 1 to 20.")
        return {"fix_verify_retry_cap": int(value)}

    choices = (Choice("set", "Set it"), Choice("clear", "Clear it"))
    field = Field("cap", "Cap, 1 to 20 (empty clears it)", "" if one.cap is None else str(one.cap))
    return Form("Cap override", lines, choices, answer, (field,))


class ProjectsScreen(Over):
    """Reads the store when it is opened, and again after a change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,j,down", "choose(1)", "Next project", show=False),
        Binding("shift+tab,k,up", "choose(-1)", "Project before", show=False),
        Binding("plus,enter", "cap", "Set its cap override", show=False),
        Binding("r", "reload", "Read again", show=False),
    ]
    heading = "Projects"
    keys = (("j k", "project"), ("+", "set or clear its cap override"), ("r", "read again"), ("esc", "back"))

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0
        self.projects: tuple[ProjectLine, ...] | None = None

    def content(self) -> Widget:
        """The list."""
        return PaintedSheet(self._painted)

    def _painted(self, width: int, _: int) -> list[Line]:
        if self.projects is None:
            return [[], [("  reading the store ...", "muted")]]
        return projects_lines(self.projects, self.chosen, width)

    def on_mount(self) -> None:
        """Read."""
        super().on_mount()
        self.query_one(PaintedSheet).focus()
        self.action_reload()

    def action_choose(self, step: int) -> None:
        """Another project."""
        if self.projects:
            self.chosen = (self.chosen + step) % len(self.projects)
            self.query_one(PaintedSheet).repaint()

    def action_reload(self) -> None:
        """Read again."""
        start(self, self._read, "projects", "read the projects")

    def action_cap(self) -> None:
        """Set or clear the chosen project's override."""
        start(self, self._cap, "cap", "set a cap override")

    async def _read(self) -> None:
        if self.looptop.backend is None:
            return
        try:
            self.projects = tuple(await self.looptop.backend.projects())
        except LooptopError as error:
            self.looptop.tell(str(error), "error")
            return
        self.chosen = min(self.chosen, max(0, len(self.projects) - 1))
        self.query_one(PaintedSheet).repaint()

    async def _cap(self) -> None:
        if not self.projects or self.looptop.backend is None:
            return
        one = self.projects[self.chosen]
        answer: Any = await self.looptop.push_screen_wait_safe(FormDialog(cap_form(one)))
        if answer is None:
            return
        try:
            self.looptop.tell(await self.looptop.backend.update_project(one.id, answer))
        except LooptopError as error:
            self.looptop.tell(str(error), "error")
        await self._read()
