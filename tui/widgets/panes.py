"""Panes of the Run screen: painted sheets, the rounds' table, the events' list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from runtime.text import one_line
from tui import words
from tui.paint import narration
from tui.paint.bars import stacked
from tui.paint.ladder import Rung, cell
from tui.paint.spans import Line, Span, clean
from tui.widgets.bars import LineBar
from tui.widgets.grid import Column, Grid
from tui.widgets.sheet import Sheet

if TYPE_CHECKING:
    from runtime.events.base import Event
    from runtime.view.model import RoundRow

Painter = Callable[[int, int], list[Line]]
"""Lines for a width and a height."""


class PaintedSheet(Sheet):
    """Draws what a painter returns, anew for every width."""

    def __init__(self, painter: Painter, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._painter = painter

    def repaint(self) -> None:
        """The value changed."""
        if self.size.width:
            self.show(self._painter(max(1, self.scrollable_content_region.width - 1), self.size.height))

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new size."""
        self.repaint()


def ladder_grid() -> Grid[Rung]:
    """The attempt ladder."""
    columns: list[Column[Rung]] = [
        Column("#", 2, lambda row, _: (str(row.number), "muted"), align="right"),
        Column("model", 10, lambda row, _: (row.model, "model" if row.number else "muted"), rank=2),
        Column("findings", 22, lambda row, width: cell(row.findings, width), stretch=True),
        Column("diff", 8, lambda row, width: cell(row.diff, width), rank=1),
        Column("rounds", 6, lambda row, _: (row.rounds, "text"), align="right", rank=3),
        Column("cost", 7, lambda row, _: (row.cost, "text"), align="right"),
        Column("cache", 5, lambda row, _: (row.cache, "text"), align="right", rank=1),
        Column("next", 8, lambda row, _: row.next),
    ]
    return Grid(columns, lambda row: str(row.number), id="ladder")


class RoundsPane(Vertical):
    """The rounds' table, and below it all that is known of the round under the cursor."""

    def __init__(self) -> None:
        super().__init__(id="pane-Rounds")
        self.grid = rounds_grid()
        self._note = LineBar(id="round-note")

    def compose(self) -> ComposeResult:
        """Table and note."""
        yield self.grid
        yield self._note

    def show(self, rows: Sequence[RoundRow]) -> None:
        """Newest first."""
        self.grid.show(list(reversed(rows)))
        self._tell()

    def on_grid_moved(self) -> None:
        """Another round is under the cursor."""
        self._tell()

    def _tell(self) -> None:
        row = self.grid.current
        if row is None:
            self._note.show([])
            return
        spans: list[Span] = [
            (f" round {row.round}  ", "accent"),
            (clean(row.model), "model"),
            ("  " + _note(row)[0], _note(row)[1]),
        ]
        if row.predicted_read is not None and row.finished_ms is not None:
            spans.append((f"  foretold {words.tokens(row.predicted_read)} read", "muted"))
        if row.ttft_ms is not None:
            spans.append((f"  first token after {words.duration(row.ttft_ms)}", "muted"))
        self._note.show(spans)


def rounds_grid() -> Grid[RoundRow]:
    """One row per model call: the four kinds of tokens, a bar of where the prompt came from, cost, and what went wrong."""
    columns: list[Column[RoundRow]] = [
        Column("round", 5, lambda row, _: (str(row.round), "text"), align="right"),
        Column("try", 3, lambda row, _: (str(row.attempt), "muted"), align="right", rank=6),
        Column("read", 6, lambda row, _: (words.tokens(row.usage.cache_read), "read"), align="right", rank=1),
        Column("wrote", 6, lambda row, _: (words.tokens(row.usage.cache_write), "written"), align="right", rank=1),
        Column("fresh", 6, lambda row, _: (words.tokens(row.usage.input), "fresh"), align="right", rank=1),
        Column("out", 6, lambda row, _: (words.tokens(row.usage.output), "text"), align="right", rank=1),
        Column("prompt", 10, _bar, rank=4, stretch=True),
        Column("hit", 4, lambda row, _: (words.share(row.usage.cache_share), "text"), align="right"),
        Column("cost", 7, lambda row, _: (_cost(row), "text"), align="right"),
        Column("time", 6, lambda row, _: (_time(row), "muted"), align="right", rank=5),
        Column("what happened", 10, lambda row, _: _note(row), stretch=True),
    ]
    return Grid(columns, lambda row: str(row.round), empty="no model call yet", id="rounds")


def _bar(row: RoundRow, width: int) -> Line:
    use = row.usage
    if use.prompt is None:
        return [("in flight" if row.finished_ms is None else "not reported", "muted")]
    return stacked(use.input or 0, use.cache_write or 0, use.cache_read or 0, width)


def _cost(row: RoundRow) -> str:
    return "" if row.finished_ms is None else words.money(row.cost_micros)


def _time(row: RoundRow) -> str:
    return "" if row.finished_ms is None else words.duration(row.latency_ms)


def _note(row: RoundRow) -> Span:
    if row.diagnosis:
        return row.diagnosis, "warn"
    if row.retries:
        return f"sent again {words.plural(row.retries, 'time')}: {one_line(row.retry_error)}", "warn"
    if row.outcome not in {"", "ok"}:
        return row.outcome, "warn"
    if row.finished_ms is None:
        return "in flight", "live"
    return (words.plural(row.tools, "tool call") if row.tools else row.stop.replace("_", " ")), "muted"


class EventsView(Sheet):
    """Every event of a run as a line: number, time, type and what it says; older ones come from the record on scrolling up."""

    KEPT = 20_000

    class OlderWanted(Message):
        """The top was reached: events below `seq` are wanted."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.events: list[Event] = []
        self.following = True
        self._asked: int | None = None

    @property
    def count(self) -> int:
        """Lines."""
        return len(self.events)

    def line(self, y: int) -> Line:
        """One event."""
        return event_line(self.events[y])

    def take(self, batch: Sequence[Event]) -> None:
        """Newer events."""
        last = self.events[-1].seq if self.events else 0
        self.events.extend(event for event in batch if event.seq > last)
        if len(self.events) > self.KEPT and self.following:
            del self.events[: -self.KEPT]
        self.resized(0)
        if self.following:
            self.scroll_to(y=max(0, self.count - self.size.height), animate=False, immediate=True)
        self.refresh()

    def take_older(self, batch: Sequence[Event]) -> None:
        """A page of older ones."""
        y = self.scroll_offset.y
        self.events[:0] = list(batch)
        self.resized(0)
        self.scroll_to(y=y + len(batch), animate=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow at the end; ask for more at the top."""
        super().watch_scroll_y(old_value, new_value)
        self.following = self.scroll_offset.y >= self.max_scroll_y
        first = self.events[0].seq if self.events else 0
        if round(new_value) == 0 and round(old_value) > 0 and first > 1 and self._asked != first:
            self._asked = first
            self.post_message(self.OlderWanted(first))


def event_line(event: Event) -> Line:
    """Number, running time, type, and what it says or its first fields."""
    said: Line = narration.line_of(event) or [(_fields(event), "muted")]
    return [
        (f"{event.seq:>7}  ", "faint"),
        (f"{words.clock(event.mono_ms):>8}  ", "muted"),
        (f"{clean(event.type):<19} ", "accent"),
        *said,
    ]


def _fields(event: Event) -> str:
    skip = {"v", "run", "seq", "type", "at", "mono_ms"}
    values: dict[str, Any] = {**event.__dict__, **(event.model_extra or {})}
    shown = (f"{name}={value!r}" for name, value in values.items() if name not in skip and value not in (None, "", ()))
    return one_line(" ".join(shown), 400)
