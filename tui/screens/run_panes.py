"""The tabs of the Run screen. A pane is made when it is first shown, and only the one on screen is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.containers import Container
from textual.widget import Widget

from runtime.view.model import RunView
from tui.paint import panes as paint
from tui.paint.compare import attempt_name, compare_lines
from tui.paint.diff import diff_lines, summary
from tui.paint.spans import Line, clean
from tui.tasks import start
from tui.widgets.panes import EventsView, PaintedSheet, RoundsPane
from tui.widgets.sheet import Sheet
from tui.widgets.stream import StreamView

if TYPE_CHECKING:
    from runtime.events.base import Event
    from tui.screens.run import RunScreen

TABS = ("Stream", "Rounds", "Verify", "Diff", "StopLoss", "Recovery", "Conversation", "Events")


class RunPanes(Container):
    """Holds the panes; the stream is always fed, the others draw when they are shown."""

    def __init__(self, owner: RunScreen, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._owner = owner
        self.view = RunView()
        self.active = TABS[0]
        self.attempt: int | None = None
        """The attempt that Verify and Diff show; None is the latest."""
        self.base: int | None = None
        """The attempt that the shown one is compared with; None: it isn't."""
        self._made: dict[str, Widget] = {}
        self._diff = ""
        self._diff_for: tuple[int | None, int | None] | None = None

    def _make(self, name: str) -> Widget:
        painters = {
            "Verify": lambda w, _: self._verify_painted(w),
            "Diff": lambda w, _: self._diff_painted(w),
            "StopLoss": lambda w, h: paint.stoploss_lines(self.view, w, h),
            "Recovery": lambda w, _: paint.recovery_lines(self.view, w),
            "Conversation": lambda w, _: paint.conversation_lines(self.view, w),
        }
        if name == "Stream":
            return StreamView(self._owner.now_ms, id="pane-Stream")
        if name == "Rounds":
            return RoundsPane()
        if name == "Events":
            return EventsView(id="pane-Events")
        return PaintedSheet(painters[name], id=f"pane-{name}")

    @property
    def stream(self) -> StreamView | None:
        """The stream, once it was made."""
        made = self._made.get("Stream")
        return made if isinstance(made, StreamView) else None

    async def choose(self, name: str) -> None:
        """Show a pane."""
        for needed in dict.fromkeys(("Stream", name)):
            if needed not in self._made:
                self._made[needed] = self._make(needed)
                await self.mount(self._made[needed])
        self.active = name
        for other, pane in self._made.items():
            pane.display = other == name
        if name == "Events" and self.view.seq:
            await self._load_events()
        self.draw()
        if name == "Diff":
            self.load_diff()

    def focus_pane(self) -> None:
        """Give the pane the focus."""
        pane = self._made[self.active]
        (pane.grid if isinstance(pane, RoundsPane) else pane).focus()

    def take(self, view: RunView, batch: Sequence[Event]) -> None:
        """Another picture, and the events that led to it."""
        finished_attempts = sum(1 for row in self.view.attempts if row.finished_ms is not None)
        self.view = view
        if self.stream is not None:
            self.stream.take(batch)
        events = self._made.get("Events")
        if isinstance(events, EventsView) and events.events:
            events.take(batch)
        elif isinstance(events, EventsView):
            start(self, self._load_events, "events", "events")
        self.draw()
        if self.active == "Diff" and finished_attempts != sum(
            1 for row in view.attempts if row.finished_ms is not None
        ):
            self.load_diff()

    def draw(self) -> None:
        """Draw the pane on screen."""
        pane = self._made.get(self.active)
        if isinstance(pane, PaintedSheet):
            pane.repaint()
        elif isinstance(pane, RoundsPane):
            pane.show(self.view.rounds)

    def tick(self) -> None:
        """A second passed."""
        if self.active == "Stream" and self.stream is not None:
            self.stream.tick()
        elif self.active == "Verify":
            self.draw()

    # Attempts

    def step(self, step: int) -> None:
        """Show the attempt before or after."""
        numbers = (
            [0, *(row.attempt for row in self.view.attempts)]
            if self.active == "Verify"
            else [row.attempt for row in self.view.attempts]
        )
        if not numbers or self.active not in {"Verify", "Diff"}:
            return
        at = numbers.index(self.attempt) if self.attempt in numbers else len(numbers) - 1
        self.attempt = numbers[max(0, min(len(numbers) - 1, at + step))]
        self.attempt_changed()

    def compare(self, base: int | None, other: int | None = None) -> None:
        """Compare an attempt (None: the one shown) with another; without a base no more."""
        self.base = base
        if other is not None:
            self.attempt = other
        self.attempt_changed()

    @property
    def shown_attempt(self) -> int:
        """The number of the attempt that is shown."""
        return self.attempt if self.attempt is not None else self.view.attempt

    def _verify_painted(self, width: int) -> list[Line]:
        if self.base is not None:
            return compare_lines(self.view, self.base, self.shown_attempt, width)
        return paint.verify_lines(self.view, width, self._owner.now_ms(), self.attempt)

    def attempt_changed(self) -> None:
        """Draw for another attempt."""
        self.draw()
        if self.active == "Diff":
            self.load_diff()

    def load_diff(self) -> None:
        """Ask for the diff of what is shown."""
        start(self, self._load_diff, "diff", "load a diff")

    async def _load_diff(self) -> None:
        from runtime.errors import LooptopError

        backend = self._owner.looptop.backend
        if backend is None:
            return
        row = next((row for row in self.view.attempts if row.attempt == self.attempt), None)
        attempt = self.attempt if row is not None and row.finished_ms is not None else None
        try:
            self._diff = await backend.diff(self.view.run, attempt, self.base or None)
            self._diff_for = (attempt, self.base)
        except LooptopError as error:
            self._diff, self._diff_for = "", None
            self._owner.looptop.tell(str(error), "error")
        if self.active == "Diff":
            self.draw()

    def _diff_painted(self, width: int) -> list[Line]:
        if self._diff_for is None:
            return [[("loading ...", "muted")]]
        shown, base = self._diff_for
        name = attempt_name(shown) if shown else "the change as it stands"
        if base is not None:
            name += f" against {attempt_name(base)}"
        if not self._diff.strip():
            return [paint.section("Diff", width), [], [(f"{name}: nothing was changed", "text")]]
        files, added, removed = summary(self._diff)
        head = paint.section(
            "Diff", width, [(f"{name}  {files} files  ", "muted"), (f"+{added}", "added"), (f" -{removed} ", "removed")]
        )
        return [head, [], *diff_lines(self._diff, width)]

    # Older text

    def on_stream_view_older_wanted(self, message: StreamView.OlderWanted) -> None:
        """A page of older events for the stream."""
        start(self, partial(self._older, message.seq, "Stream"), "older", "older")

    def on_events_view_older_wanted(self, message: EventsView.OlderWanted) -> None:
        """A page of older events for the list."""
        start(self, partial(self._older, message.seq, "Events"), "older-events", "older-events")

    async def _older(self, seq: int, name: str) -> None:
        backend = self._owner.looptop.backend
        pane = self._made.get(name)
        if backend is not None and isinstance(pane, StreamView | EventsView):
            pane.take_older(await backend.events_before(self.view.run, seq, 1_000))

    async def _load_events(self) -> None:
        backend = self._owner.looptop.backend
        pane = self._made.get("Events")
        if backend is not None and isinstance(pane, EventsView) and not pane.events:
            pane.take(await backend.events_before(self.view.run, self.view.seq + 1, 2_000))

    # Searching

    def find(self, text: str, final: bool) -> None:
        """Search in the pane."""
        pane = self._made.get(self.active)
        if isinstance(pane, Sheet):
            found = pane.find(text)
            if final and text and not found:
                self._owner.looptop.tell(f"{clean(text)!r} isn't in what is loaded here")

    def forget_search(self) -> bool:
        """Stop marking; false where nothing was marked."""
        pane = self._made.get(self.active)
        if isinstance(pane, Sheet) and pane.needle:
            pane.find("")
            return True
        return False

    def full_output(self) -> None:
        """The whole output of the newest verify step of the attempt shown."""
        from tui.screens.output import OutputScreen

        rows = [
            row
            for row in self.view.verifies
            if row.output_path and (self.attempt is None or row.attempt == self.attempt)
        ]
        failed = [row for row in rows if row.verdict is not None and row.verdict.value != "passed"]
        chosen = (failed or rows)[-1:] if self.attempt is not None else rows[-1:]
        if not chosen or chosen[0].output_path is None:
            self._owner.looptop.tell("no verify output is kept yet")
            return
        self.app.push_screen(OutputScreen(self.view.run, chosen[0].output_path, chosen[0].command))
