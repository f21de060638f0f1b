"""From events to entries of the stream: what was said, done and decided in a run, in reading order. Bounded in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from runtime.text import plain
from tui import words
from tui.paint import narration
from tui.paint.entries import Entry
from tui.paint.spans import Span, clean

if TYPE_CHECKING:
    from runtime.events import checks, loop
    from runtime.events.base import Event

ENTRIES_KEPT = 4_000
CHARACTERS_KEPT = 4_000_000
STATUS_ROLES = {"ok": "ok", "failed": "bad", "timed_out": "bad", "malformed": "warn", "denied": "warn"}


class Transcript:
    """Takes events one by one; `entries` is what the stream draws. Say `take` of a page of older events to a fresh one and join."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.first_seq: int | None = None
        self.last_seq = 0
        self.trimmed = 0
        """Entries dropped at the front since the start."""
        self._by_key: dict[tuple[str, int], Entry] = {}
        self._streamed: set[int] = set()
        self._handlers: dict[str, Callable[[Any], None]] = {
            "attempt_started": self._attempt,
            "prompt_added": self._prompt,
            "round_started": self._round_started,
            "text_delta": self._delta,
            "round_finished": self._round_finished,
            "tool_called": self._tool_called,
            "output_delta": self._output,
            "tool_finished": self._tool_finished,
            "verify_started": self._verify_started,
            "verify_finished": self._verify_finished,
        }

    def take(self, events: Iterable[Event]) -> list[Entry]:
        """Take events, oldest first; returns the entries that are new or changed."""
        before = len(self.entries) + self.trimmed
        touched: dict[int, Entry] = {}
        for event in events:
            if event.seq <= self.last_seq:
                continue
            self.first_seq = event.seq if self.first_seq is None else self.first_seq
            self.last_seq = event.seq
            self._touched: list[Entry] = []
            handler = self._handlers.get(event.type)
            if handler is not None and hasattr(event, "type") and type(event).__name__ != "UnknownEvent":
                handler(event)
            elif line := narration.line_of(event):
                self._add(Entry("line", event.seq, head=list(line)))
            for entry in self._touched:
                touched[id(entry)] = entry
        new = self.entries[max(0, before - self.trimmed) :]
        touched.update((id(entry), entry) for entry in new)
        return list(touched.values())

    def trim(self) -> int:
        """Drop the oldest entries above the bound; returns how many lines of the list went."""
        surplus = max(0, len(self.entries) - ENTRIES_KEPT)
        size = sum(entry.size for entry in self.entries[surplus:])
        while size > CHARACTERS_KEPT and surplus < len(self.entries) - 1:
            size -= self.entries[surplus].size
            surplus += 1
        for entry in self.entries[:surplus]:
            if entry.key is not None:
                self._by_key.pop(entry.key, None)
        if surplus:
            del self.entries[:surplus]
            self.first_seq = self.entries[0].seq if self.entries else self.last_seq
            self.trimmed += surplus
        return surplus

    def prepend(self, older: Transcript) -> int:
        """Put the entries of an older page in front; returns how many there were."""
        self.entries[:0] = older.entries
        if older.first_seq is not None:
            self.first_seq = older.first_seq
        return len(older.entries)

    # Building entries

    def _add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        if entry.key is not None:
            self._by_key[entry.key] = entry
        return entry

    def _known(self, kind: str, number: int) -> Entry | None:
        entry = self._by_key.get((kind, number))
        if entry is not None:
            self._touched.append(entry)
        return entry

    def _attempt(self, e: loop.AttemptStarted) -> None:
        self._add(Entry("line", e.seq, head=[("", "")]))
        name = clean(words.short_model(e.model))
        self._add(Entry("line", e.seq, head=[(f"attempt {e.attempt}", "title"), (f"  {name}", "model")]))

    def _prompt(self, e: loop.PromptAdded) -> None:
        names = {"task": "task to the model", "steer": "steering message", "plan_demand": "demand for a plan"}
        entry = Entry("prompt", e.seq, head=[(names.get(e.kind, e.kind), "user")], preview=3)
        entry.replace_body(e.text)
        self._add(entry)

    def _round_started(self, e: loop.RoundStarted) -> None:
        self._add(Entry("line", e.seq, head=[(f"round {e.round}", "muted")], key=("round", e.round)))

    def _delta(self, e: loop.TextDelta) -> None:
        kind = "thinking" if e.thinking else "text"
        self._streamed.add(e.round)
        last = self.entries[-1] if self.entries else None
        if last is not None and last.kind == kind and last.key == ("said", e.round):
            self._touched.append(last)
        else:
            last = self._add(Entry(kind, e.seq, key=("said", e.round)))
        last.append(e.text)

    def _round_finished(self, e: loop.RoundFinished) -> None:
        if e.round not in self._streamed:
            for block in e.reply:
                if block.kind in {"text", "thinking"} and block.text.strip():
                    entry = Entry(block.kind, e.seq)
                    entry.replace_body(block.text)
                    self._add(entry)
        head = self._known("round", e.round)
        if head is not None:
            head.tail = narration.usage_spans(e)
            head.changed()

    def _tool_called(self, e: loop.ToolCalled) -> None:
        body, roles = narration.call_body(e.tool, e.arguments)
        head: list[Span] = [
            (f"{e.step:>3} ", "faint"),
            (clean(e.tool), "tool"),
            ("  " + narration.title(e.arguments), "text"),
        ]
        entry = Entry("tool", e.seq, head=head, started_ms=e.mono_ms, key=("step", e.step), preview=12)
        if body:
            entry.replace_body(body, roles)
        self._add(entry)

    def _output(self, e: loop.OutputDelta) -> None:
        key = ("step", e.step) if e.step is not None else ("verify", e.verify_step or 0)
        entry = self._known(*key) or self._add(Entry("tool", e.seq, head=[("output", "muted")], key=key))
        if entry.roles is None:
            entry.preview = -8
            entry.append(e.text)

    def _tool_finished(self, e: loop.ToolFinished) -> None:
        entry = self._known("step", e.step)
        if entry is None:
            head: list[Span] = [(f"{e.step:>3} ", "faint"), (clean(e.tool), "tool")]
            entry = self._add(Entry("tool", e.seq, head=head, key=("step", e.step)))
        entry.started_ms = None
        role = STATUS_ROLES.get(e.status.value, "muted")
        word = "ok" if e.status.value == "ok" else e.status.value.replace("_", " ")
        code = f" {e.exit_code}" if e.exit_code else ""
        again = f"  {e.repeats} times the same" if e.repeats > 1 else ""
        entry.tail = [(again, "warn"), (f"  {word}{code}", role), (f"  {words.duration(e.duration_ms):>6}", "muted")]
        if entry.roles is None or e.status.value != "ok":
            entry.replace_body(e.content)
            entry.preview = -4 if e.tool == "shell" else (0 if e.tool == "read_file" else 4)
        entry.changed()

    def _verify_started(self, e: checks.VerifyStarted) -> None:
        what = "baseline" if e.attempt == 0 else "verify"
        head: list[Span] = [(f"{what} {e.step}/{e.of}  ", "title"), (clean(e.command), "text")]
        self._add(Entry("verify", e.seq, head=head, started_ms=e.mono_ms, key=("verify", e.step), preview=-8))

    def _verify_finished(self, e: checks.VerifyFinished) -> None:
        entry = self._known("verify", e.step)
        if entry is None:
            entry = self._add(Entry("verify", e.seq, head=[(clean(e.command), "text")], key=("verify", e.step)))
        entry.started_ms = None
        role = "ok" if e.verdict.value == "passed" else "bad"
        entry.tail = [(f"  {e.verdict.value.replace('_', ' ')}", role), (f"  {words.duration(e.wall_ms):>6}", "muted")]
        listed = [f"{one.id}  {one.message}".rstrip() for one in e.findings]
        lines = [plain(e.summary)] if e.summary else []
        entry.replace_body("\n".join([*lines, *(line.replace("\n", " ") for line in listed)]))
        entry.preview, entry.cuts = 6, True
        entry.changed()
