"""The Fleet screen: every run a line, what needs a decision first, then by money at risk."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from tui import words
from tui.actions import footer, of_place
from tui.paint import fleet as paint
from tui.paint.spans import Span, clean
from tui.screens.base import Base, bindings
from tui.tasks import start
from tui.widgets.bars import KeyBar, LineBar
from tui.widgets.grid import Column, Grid

if TYPE_CHECKING:
    from tui.backend import RunSummary
    from tui.bridge import Frame


class FleetScreen(Base):
    """Shows `app.runs`, filtered and ordered."""

    place = "fleet"
    BINDINGS: ClassVar[list[BindingType]] = bindings(of_place("fleet"))

    def __init__(self) -> None:
        super().__init__()
        self.order = paint.ORDERS[0]
        self.pattern = ""
        self._stale = False

    def compose(self) -> ComposeResult:
        """Header, table, the run under the cursor, keys."""
        yield LineBar(id="head")
        yield Grid(self._columns(), lambda run: run.run, empty="connecting ...", id="runs")
        yield LineBar(id="note")
        yield KeyBar(id="keys")
        yield LineBar(id="tiny")

    def _columns(self) -> list[Column[RunSummary]]:
        return [
            Column("", 1, lambda run, _: ("!", "warn-strong") if run.needs else ("", "")),
            Column("run", 6, lambda run, _: (run.run, "accent" if not run.finished else "muted")),
            Column("state", 14, lambda run, _: paint.state_cell(run)),
            Column("task", 18, lambda run, _: (run.task or "make verify pass", "text"), stretch=True),
            Column("project", 10, lambda run, _: (run.project, "muted"), rank=8),
            Column("model", 11, lambda run, _: (words.short_model(run.model), "model"), rank=5),
            Column("try", 4, lambda run, _: paint.attempt_cell(run), align="right", rank=1),
            Column("left", 4, lambda run, _: paint.failing_cell(run), align="right", rank=7),
            Column("stoploss", 9, lambda run, _: paint.score_cell(run), align="right", rank=6),
            Column("tokens", 6, lambda run, _: (words.used(run.tokens, run.unmetered), "text"), align="right", rank=3),
            Column("cost", 8, lambda run, _: paint.money_cell(run), align="right"),
            Column("budget", 8, paint.budget_cell, rank=4),
            Column("cache", 5, lambda run, _: (words.share(run.cache_share), "muted"), align="right", rank=6),
            Column("seen", 4, lambda run, _: paint.age_cell(run, self.looptop.now()), align="right", rank=2),
        ]

    @property
    def grid(self) -> Grid[RunSummary]:
        """The table."""
        return self.query_one("#runs", Grid)

    @property
    def target(self) -> str | None:
        """The run under the cursor."""
        return self.grid.cursor_key

    def on_mount(self) -> None:
        """The table has the focus from the start."""
        super().on_mount()
        self.grid.focus()
        self._frame_only()

    def _frame_only(self) -> None:
        self.query_one("#head", LineBar).show([(" looptop", "title")], [("connecting ", "muted")])
        self.query_one("#keys", KeyBar).show(footer("fleet", None))

    def take(self, frame: Frame) -> None:
        """Summaries changed; while another screen is on top, only note that."""
        if not frame.summaries:
            return
        if self.is_current or self.app.screen is self:
            self.show_runs()
        else:
            self._stale = True

    def on_screen_resume(self) -> None:
        """Back on top: draw what changed meanwhile."""
        if self._stale:
            self.show_runs()

    def tick(self) -> None:
        """Ages grow; only the table's own cells change."""
        if self.is_current:
            self.grid.refresh()

    def show_runs(self) -> None:
        """Draw all runs that the filter lets through."""
        if not self.is_mounted:
            return
        self._stale = False
        runs = list(self.looptop.runs.values())
        wanted = paint.matcher(self.pattern)
        shown = paint.ordered([run for run in runs if wanted(run)], self.order)
        self.grid.empty = self._empty(bool(runs))
        self.grid.show(shown)
        self._head(runs, len(shown))
        self._note()

    def _empty(self, any_runs: bool) -> str:
        if self.looptop.trouble:
            return clean(self.looptop.trouble)
        if any_runs:
            return f"no run matches {clean(self.pattern)!r}: escape shows all"
        return "no runs yet: N starts one, or `looptop demo` shows the loop at work"

    def _head(self, runs: list[RunSummary], shown: int) -> None:
        right: list[Span] = []
        if self.pattern:
            right.append((f"filter {clean(self.pattern)} ({shown})   ", "warn"))
        if self.order != paint.ORDERS[0]:
            right.append((f"by {self.order}   ", "muted"))
        backend = self.looptop.backend
        if backend is not None and backend.recorded:
            right.append(("recorded, simulated server   ", "warn"))
        self.query_one("#head", LineBar).show([(" looptop   ", "title"), *paint.totals(runs)], right)

    def _note(self) -> None:
        self.query_one("#note", LineBar).show(paint.detail(self.grid.current))
        keys = self.query_one("#keys", KeyBar)
        current = self.grid.current
        shown = footer("fleet", None)
        if current is None or current.finished:
            kept = {"diff", "apply", "resume"} if current and current.state == "interrupted" else {"diff", "apply"}
            shown = [action for action in shown if action.place != "supervise" or action.id in kept]
        elif current.finished is False:
            shown = [
                a
                for a in shown
                if a.id not in {"apply", "branch", "resume"} and (a.id != "approve" or "approval" in current.needs)
            ]
        keys.show(shown, {"pause": "go on" if current and current.state == "paused" else "pause"})

    def on_grid_moved(self) -> None:
        """Another run is under the cursor."""
        self._note()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        """Open a run."""
        start(self, partial(self.looptop.open_run, message.key), "open", "open a run")

    def on_do_open(self) -> None:
        """Open the run under the cursor."""
        self.grid.action_choose()

    def on_do_diff(self) -> None:
        """Open the run at its diff."""
        if self.grid.cursor_key is not None:
            start(self, partial(self.looptop.open_run, self.grid.cursor_key, "Diff"), "open", "open")

    def on_do_order(self) -> None:
        """The next order."""
        at = paint.ORDERS.index(self.order)
        self.order = paint.ORDERS[(at + 1) % len(paint.ORDERS)]
        self.show_runs()

    def on_do_find(self) -> None:
        """Filter."""
        self.ask("filter", "filter: text, !text leaves out, ~text is fuzzy", self.pattern)

    def on_do_back(self) -> None:
        """Show all again."""
        self.pattern = ""
        self.show_runs()

    def on_do_new(self) -> None:
        """Start a run."""
        from tui.dialogs.new_run import new_run

        start(self, partial(new_run, self.looptop), "new", "new run")

    def typed(self, purpose: str, text: str, final: bool) -> None:
        """Filter while typing."""
        self.pattern = text
        self.show_runs()

    async def supervise(self, action: str, argument: str = "") -> None:
        """Act on the run under the cursor."""
        run, backend = self.grid.cursor_key, self.looptop.backend
        if run is None or backend is None:
            return
        from tui.supervise import supervise

        await supervise(self.looptop, run, await backend.load_view(run), action, argument)
