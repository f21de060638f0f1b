"""One entry of the stream: a piece of text, a tool step, a verify step or a line about the run, laid out for a width."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.text import plain
from tui import words
from tui.paint.spans import TAB, Line, Span, cells, cut, cut_line, spread, width_of, wrap

LINES_KEPT = 2_000
"""Most lines an entry keeps; of a longer output the newest. The whole is in the record."""
LINE_KEPT = 20_000
"""Most characters an entry keeps of one line: the newest."""
INDENT = "  "
MARKS = {
    "text": ("", "text"),
    "thinking": ("", "thinking"),
    "prompt": ("▎", "user"),
    "tool": ("", "muted"),
    "verify": ("", "muted"),
}


@dataclass
class Entry:
    """Mutable while it grows; `changed` must be called after every change of what is drawn."""

    kind: str
    seq: int
    head: list[Span] = field(default_factory=list)
    tail: list[Span] = field(default_factory=list)
    """Drawn at the right end of the head's line."""
    body: list[str] = field(default_factory=list)
    roles: list[str] | None = None
    """A role for each line of the body, where they differ."""
    started_ms: int | None = None
    """Set while it runs: the tail shows how long."""
    preview: int | None = None
    """Lines of the body shown while folded; None: it doesn't fold. Negative: the last ones."""
    folded: bool = True
    dropped: int = 0
    key: tuple[str, int] | None = None
    cuts: bool = False
    """Whether long lines are cut instead of wrapped: a list of findings reads better so."""
    open_line: bool = False
    """Whether the body's last line may still grow."""
    size: int = 0
    """Characters of the body."""
    _cache: tuple[int, bool, list[Line]] | None = None
    _stable: tuple[int, bool, int, list[Line]] | None = None
    """Width, wrapping, and the layout of the first so many lines of a body that only grows: they aren't laid out again."""

    def changed(self) -> None:
        """Forget the layout."""
        self._cache = self._stable = None

    def append(self, text: str) -> None:
        """Let the body grow by a piece of text, which may begin in the middle of a line."""
        pieces = text.split("\n")
        before = 0
        if self.open_line and self.body:
            before = len(self.body[-1])
            pieces[0] = self.body.pop() + pieces[0]
        if len(text) + before > LINE_KEPT:
            pieces = [piece[-LINE_KEPT:] for piece in pieces]
        self.open_line = True
        self.body += pieces
        self.size += sum(map(len, pieces)) - before
        if len(self.body) > LINES_KEPT:
            surplus = len(self.body) - LINES_KEPT
            self.size -= sum(map(len, self.body[:surplus]))
            del self.body[:surplus]
            self.dropped += surplus
            self._stable = None
        self._cache = None

    def replace_body(self, text: str, roles: list[str] | None = None) -> None:
        """Put in a whole body."""
        self.body, self.roles, self.dropped, self.open_line, self.size = [], None, 0, False, 0
        if text:
            self.append(text.rstrip("\n"))
            self.roles = roles[-len(self.body) :] if roles else None
        self.open_line = False
        self.changed()

    @property
    def foldable(self) -> bool:
        """Whether there is more than the preview shows."""
        return self.preview is not None and len(self.body) > (abs(self.preview) + 1 if self.preview else 0)

    def toggle(self) -> None:
        """Fold or unfold."""
        self.folded = not self.folded
        self.changed()

    def height(self, width: int, wrapped: bool) -> int:
        """How many lines it takes; the same whatever the time is."""
        return bool(self.head) + len(self._laid(width, wrapped))

    def row(self, index: int, width: int, wrapped: bool, now_ms: int) -> Line:
        """One of its lines; the head of what runs shows its time."""
        if self.head:
            if index == 0:
                return self._head(width, now_ms)
            index -= 1
        body = self._laid(width, wrapped)
        return body[index] if index < len(body) else ()

    def widest(self, width: int) -> int:
        """The widest of its lines when they aren't wrapped."""
        return max((width_of(line) for line in self._laid(width, False)), default=0)

    def _laid(self, width: int, wrapped: bool) -> list[Line]:
        if self._cache is None or self._cache[:2] != (width, wrapped):
            self._cache = (width, wrapped, self._body(width, wrapped))
        return self._cache[2]

    def _head(self, width: int, now_ms: int) -> Line:
        tail = self.tail
        if self.started_ms is not None:
            tail = [(f"running {words.duration(now_ms - self.started_ms)}", "live")]
        head = self.head
        if self.preview is not None:
            mark = ("▸ " if self.folded else "▾ ") if self.foldable else INDENT
            head = [(mark, "muted"), *self.head]
        if self.preview == 0 and self.folded and self.body:
            head = [*head, (f"  {words.plural(len(self.body) + self.dropped, 'line')}", "muted")]
        return spread(head, [*tail, (" ", "")], width) if tail else cut_line(head, width)

    def _shown(self) -> tuple[int, int]:
        if self.preview is None or not self.folded or not self.foldable:
            return 0, len(self.body)
        if self.preview >= 0:
            return 0, min(self.preview, len(self.body))
        return max(0, len(self.body) + self.preview), len(self.body)

    def _body(self, width: int, wrapped: bool) -> list[Line]:
        mark, role = MARKS.get(self.kind, ("", "text"))
        lead: list[Span] = [(mark + " " if mark else INDENT, role)] if self.kind != "line" else []
        room = max(1, width - cells(lead[0][0])) if lead else max(1, width)
        lines: list[Line] = []
        first, last = self._shown()
        if self.preview is None and not self.dropped:
            return self._grown(lead, role, room, width, wrapped)
        hidden = len(self.body) - (last - first) if self.foldable and self.folded else 0
        if self.dropped or (hidden and first):
            count = self.dropped + first
            lines.append([*lead, (f"… {words.plural(count, 'earlier line')}", "faint")])
        for index in range(first, last):
            lines.extend(self._line(index, lead, role, room, wrapped))
        if hidden and not first and self.preview:
            lines.append([*lead, (cut(f"… {words.plural(hidden, 'more line')}", room), "faint")])
        return lines

    def _grown(self, lead: list[Span], role: str, room: int, width: int, wrapped: bool) -> list[Line]:
        """The whole body; all but its last line, which may still grow, is kept from the layout before."""
        done, lines = 0, []
        if self._stable is not None and self._stable[:2] == (width, wrapped):
            done, lines = self._stable[2], self._stable[3]
        whole = max(done, len(self.body) - 1)
        for index in range(done, whole):
            lines.extend(self._line(index, lead, role, room, wrapped))
        self._stable = (width, wrapped, whole, lines)
        last = self._line(whole, lead, role, room, wrapped) if whole < len(self.body) else []
        return [*lines, *last]

    def _line(self, index: int, lead: list[Span], role: str, room: int, wrapped: bool) -> list[Line]:
        text = plain(self.body[index]).replace("\t", TAB)
        of = self.roles[index] if self.roles else role
        pieces = [cut(text, room)] if self.cuts else wrap(text, room) if wrapped else [text]
        return [[*lead, (piece, of)] for piece in pieces]
