"""The Run screen: the attempt ladder, the stream beside the gauges, and everything else about one run in tabs."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical

from runtime.errors import UsageError
from runtime.view.model import RunView
from tui.actions import footer, of_place
from tui.paint import gauges, ladder
from tui.paint import run as paint
from tui.paint.compare import attempt_name
from tui.screens.base import Base, bindings
from tui.screens.run_panes import TABS, RunPanes
from tui.tasks import start
from tui.widgets.bars import KeyBar, LineBar, Tabs
from tui.widgets.grid import Grid
from tui.widgets.panes import ladder_grid
from tui.widgets.side import Sidebar

if TYPE_CHECKING:
    from tui.bridge import Frame

LADDER_MOST = 7


class RunScreen(Base):
    """Shows one run; `view` is the picture after the latest frame."""

    CSS_PATH = "run.tcss"
    place = "run"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(of_place("run")),
        *(Binding(str(number), f"screen.tab('{name}')", name, show=False) for number, name in enumerate(TABS, 1)),
        Binding("left_square_bracket", "screen.step(-1)", "Earlier attempt", show=False),
        Binding("right_square_bracket", "screen.step(1)", "Later attempt", show=False),
        Binding("O", "screen.full_output", "Full output", show=False),
        Binding("tab", "app.focus_next", "Next part", show=False),
    ]

    def __init__(self, run: str, tab: str) -> None:
        super().__init__()
        self.run_id = run
        self.first_tab = tab
        self.view = RunView(run=run)
        self.loaded = False
        self._early: list[Frame] = []

    def compose(self) -> ComposeResult:
        """Header, banner, ladder, tabs and panes at the left, sections at the right, keys."""
        yield LineBar(id="head")
        yield LineBar(id="banner")
        yield LineBar(id="strip")
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield ladder_grid()
                yield Tabs(TABS, id="tabs")
                yield RunPanes(self, id="panes")
            with Container(id="side"):
                yield Sidebar(self.now, self.now_ms, id="sections")
        yield KeyBar(id="keys")
        yield LineBar(id="tiny")

    @property
    def target(self) -> str | None:
        """The run on screen."""
        return self.run_id

    @property
    def panes(self) -> RunPanes:
        """The tabs' contents."""
        return self.query_one(RunPanes)

    def now_ms(self) -> int:
        """The run's own clock."""
        return paint.now_ms(self.view, self.looptop.now())

    def now(self) -> datetime:
        """The time of day."""
        return self.looptop.now()

    async def on_mount(self) -> None:  # type: ignore[override]
        """Open the run."""
        super().on_mount()
        await self.panes.choose(self.first_tab)
        self.query_one(Tabs).choose(self.first_tab)
        self.panes.focus_pane()
        start(self, self._open, "open", "open the run")

    async def _open(self) -> None:
        from runtime.errors import LooptopError

        bridge, backend = self.looptop.bridge, self.looptop.backend
        if bridge is None or backend is None:
            return
        try:
            view = await bridge.watch(self.run_id)
            batch = await backend.events_before(self.run_id, view.seq + 1, 1_500)
        except LooptopError as error:
            self.looptop.give_up(str(error))
            return
        self.view = view
        self.panes.take(view, batch)
        self.loaded = True
        early, self._early = self._early, []
        for frame in early:
            self.take(frame)
        self.show()

    def on_unmount(self) -> None:
        """Nobody looks at the run any more."""
        if self.looptop.bridge is not None:
            self.looptop.bridge.unwatch()

    def take(self, frame: Frame) -> None:
        """Something happened in this run."""
        if frame.view is None or frame.view.run != self.run_id:
            return
        if not self.loaded:
            self._early.append(frame)
            return
        self.view = frame.view
        self.panes.take(frame.view, frame.events)
        self.show()

    def tick(self) -> None:
        """Running times grow."""
        if self.loaded and not self.view.finished and self.is_current:
            self.show()
            self.panes.tick()

    def show(self) -> None:
        """Draw everything outside the panes."""
        if not self.is_mounted:
            return
        view, now = self.view, self.looptop.now()
        ms = paint.now_ms(view, now)
        backend = self.looptop.backend
        summary = self.looptop.runs.get(self.run_id)
        live = summary is None or (summary.live and not summary.stale)
        self.query_one("#head", LineBar).show(*paint.header(view, now, bool(backend and backend.recorded), live))
        banner = self.query_one("#banner", LineBar)
        lines = paint.banner(view, max(20, self.size.width - 2), now)
        banner.set_class(bool(lines), "-on")
        if lines:
            banner.styles.height = len(lines)
        banner.show_lines([(line, ()) for line in lines])
        self.query_one("#strip", LineBar).show(gauges.strip(view, ms, self.size.width))
        rows = ladder.rungs(view, ms)
        grid = self.query_one("#ladder", Grid)
        grid.styles.height = min(len(rows) + 1, LADDER_MOST if self.size.height >= 28 else 4)
        grid.show(rows)
        if not grid.has_focus:
            grid.move_to(len(rows) - 1)
        self.query_one(Sidebar).show(view)
        labels = {"pause": "go on" if view.paused or (view.hold and "resume" in view.hold.ends_with) else "pause"}
        self.query_one(KeyBar).show(footer("run", view), labels)

    # Tabs

    async def action_tab(self, name: str) -> None:
        """Show a tab."""
        await self.panes.choose(name)
        self.query_one(Tabs).choose(name)
        self.panes.focus_pane()

    async def on_tabs_chosen(self, message: Tabs.Chosen) -> None:
        """A tab by mouse."""
        await self.action_tab(message.name)

    async def on_grid_chosen(self, message: Grid.Chosen) -> None:
        """An attempt of the ladder: its diff; the baseline: its verify. A round: the stream."""
        if message.grid.id == "ladder":
            self.panes.attempt = int(message.key)
            await self.action_tab("Diff" if int(message.key) else "Verify")
            self.panes.attempt_changed()

    def action_step(self, step: int) -> None:
        """Another attempt in Diff and Verify."""
        self.panes.step(step)

    def action_full_output(self) -> None:
        """The whole output of the latest verify step shown."""
        self.panes.full_output()

    # Actions

    def on_do_diff(self) -> None:
        """Show the diff."""
        start(self, partial(self.action_tab, "Diff"), "tab", "tab")

    def on_do_compare(self) -> None:
        """Compare with the attempt that is shown, or no more."""
        start(self, self._compare, "compare", "compare")

    async def _compare(self) -> None:
        if self.panes.base is not None:
            self.panes.compare(None)
            return
        await self.compare(self.panes.shown_attempt, None)
        self.looptop.tell(
            f"comparing with {attempt_name(self.panes.shown_attempt)}: [ and ] choose the other, c ends it"
        )

    async def compare(self, base: int, other: int | None) -> None:
        """Show what became of the findings between two attempts. Raises UsageError for one that isn't there."""
        numbers = [0, *(row.attempt for row in self.view.attempts)]
        for number in (base, other):
            if number is not None and number not in numbers:
                raise UsageError(f"There is no attempt {number} here.", f"There are: {', '.join(map(str, numbers))}.")
        if self.panes.active not in ("Verify", "Diff"):
            await self.action_tab("Verify")
        self.panes.compare(base, other)

    def on_do_find(self) -> None:
        """Search in the pane."""
        self.ask("find", "search: n and N go on")

    def typed(self, purpose: str, text: str, final: bool) -> None:
        """Search while typing."""
        self.panes.find(text, final)

    def on_do_back(self) -> None:
        """Back to the fleet; what is searched for is forgotten first."""
        if not self.panes.forget_search():
            self.app.pop_screen()

    async def supervise(self, action: str, argument: str = "") -> None:
        """Act on this run."""
        from tui.supervise import supervise

        if self.loaded:
            await supervise(self.looptop, self.run_id, self.view, action, argument)
