"""The stream of a run on the line API: bounded, followed, folded, searched; older events come from the record on scrolling up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.paint.spans import Line
from tui.paint.transcript import Transcript
from tui.widgets.sheet import Sheet

if TYPE_CHECKING:
    from runtime.events.base import Event


class StreamView(Sheet):
    """Draws a Transcript. Follows its end until scrolled away; `f` or End follows again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "follow", "Follow", show=False),
        Binding("w", "wrap", "Wrap", show=False),
        Binding("enter,space", "fold_here", "Fold", show=False),
        Binding("o", "fold_all", "Fold all", show=False),
        Binding("end,G", "follow", "End", show=False),
    ]

    class OlderWanted(Message):
        """The top was reached: events below `seq` are wanted."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    def __init__(self, now_ms: Callable[[], int], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now_ms = now_ms
        self.transcript = Transcript()
        self.following = True
        self.wrapped = True
        self._starts: list[int] = [0]
        self._asked_seq: int | None = None
        self._laid_width = 0
        self._pinning = False

    # Filling

    def reset(self) -> None:
        """Begin with another run."""
        self.transcript = Transcript()
        self.following, self._asked_seq, self._starts = True, None, [0]
        self._layout_changed()

    def take(self, batch: Sequence[Event]) -> None:
        """Take newer events."""
        changed = self.transcript.take(batch)
        if not changed:
            return
        if self.following:
            self.transcript.trim()
        self._layout_changed()

    def take_older(self, batch: Sequence[Event]) -> None:
        """Take a page of older events; what is read stays where it is."""
        older = Transcript()
        older.take(batch)
        before, y = self._starts[-1], self.scroll_offset.y
        self.transcript.prepend(older)
        self._layout_changed()
        self.scroll_to(y=y + self._starts[-1] - before, animate=False)

    # Layout

    @property
    def count(self) -> int:
        """Lines of all entries."""
        return self._starts[-1]

    def line(self, y: int) -> Line:
        """The line of whatever entry lies there."""
        index = self.entry_index(y)
        return self.transcript.entries[index].row(y - self._starts[index], self._room, self.wrapped, self._now_ms())

    def entry_index(self, y: int) -> int:
        """Which entry lies at a line."""
        return max(0, min(bisect_right(self._starts, y) - 1, len(self.transcript.entries) - 1))

    @property
    def _room(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def _layout_changed(self) -> None:
        width = self._room
        entries = self.transcript.entries
        self._starts = [0, *accumulate(entry.height(width, self.wrapped) for entry in entries)]
        self._laid_width = width
        widest = 0 if self.wrapped else max((entry.widest(width) for entry in entries), default=0)
        self.resized(widest)
        self._pin()
        if self.count <= self.size.height:
            self._ask_older()
        self.refresh()

    def _pin(self, again: bool = True) -> None:
        """Stay at the end while following, whatever made the end or the viewport move."""
        if not self.following or not self.size:
            return
        self._pinning = True
        self.scroll_to(y=max(0, self.count - self.size.height), animate=False, immediate=True)
        self._pinning = False
        if again and self.scroll_offset.y < self.count - self.size.height:
            self.call_after_refresh(
                self._pin, False
            )  # the scroll range follows with the next layout; once, never in a circle

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new width; the entry at the top stays there."""
        if self._room == self._laid_width:
            if self.following:
                self._layout_changed()
            return
        index = self.entry_index(self.scroll_offset.y) if self.transcript.entries else 0
        self._layout_changed()
        if not self.following and self.transcript.entries:
            self.scroll_to(y=self._starts[index], animate=False, immediate=True)

    def tick(self) -> None:
        """A second passed: what runs shows its time."""
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        for index in range(self.entry_index(top), min(self.entry_index(bottom) + 1, len(self.transcript.entries))):
            if self.transcript.entries[index].started_ms is not None:
                self.refresh_lines(self._starts[index])

    # Scrolling

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Leaving the end stops following; reaching it follows; reaching the top asks for older events."""
        super().watch_scroll_y(old_value, new_value)
        if self.scroll_offset.y >= self.max_scroll_y:
            self.following = True
        elif round(new_value) < round(old_value) and not self._pinning:
            self.following = False
        if round(new_value) == 0 and round(old_value) > 0:
            self._ask_older()

    def _ask_older(self) -> None:
        first = self.transcript.first_seq
        if first and first > 1 and self._asked_seq != first:
            self._asked_seq = first
            self.post_message(self.OlderWanted(first))

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.following = True
        self._layout_changed()

    def action_wrap(self) -> None:
        """Wrap long lines or not."""
        self.wrapped = not self.wrapped
        self._layout_changed()

    # Folding

    def action_fold_here(self) -> None:
        """Fold or unfold the last entry in view that folds."""
        top, bottom = self.scroll_offset.y, min(self.count, self.scroll_offset.y + self.size.height)
        if bottom <= top:
            return
        for index in range(self.entry_index(bottom - 1), self.entry_index(top) - 1, -1):
            if self.transcript.entries[index].foldable:
                self.toggle(index)
                return

    def action_fold_all(self) -> None:
        """Unfold everything, or fold it again."""
        entries = [entry for entry in self.transcript.entries if entry.preview is not None]
        folded = not any(entry.folded for entry in entries)
        for entry in entries:
            entry.folded = folded
            entry.changed()
        self._layout_changed()

    def toggle(self, index: int) -> None:
        """Fold or unfold one entry."""
        entry = self.transcript.entries[index]
        if entry.foldable or not entry.folded:
            entry.toggle()
            self._layout_changed()

    def on_click(self, event: events.Click) -> None:
        """A click on an entry's head folds or unfolds it."""
        offset = event.get_content_offset(self)
        if offset is None or not self.count:
            return
        y = offset.y + self.scroll_offset.y
        if y < self.count:
            index = self.entry_index(y)
            if self._starts[index] == y and self.transcript.entries[index].preview is not None:
                self.toggle(index)
