"""The words of the embedded model: what it changed, how it was checked, what a reviewer should doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.models.local.candidate import Candidate
from runtime.models.local.oracle import Line
from runtime.models.local.source import Edit, SourceFile
from runtime.text import one_line

SHOWN = 60


def plural(count: int, word: str) -> str:
    """`1 test`, `3 tests`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def change_words(candidate: Candidate, sources: Mapping[str, SourceFile]) -> str:
    """What a candidate changes, edit by edit, as `changed a to b in file:line`."""
    return " and ".join(_edit_words(edit, sources[edit.path]) for edit in sorted(candidate.edits)[:4])


def _edit_words(edit: Edit, source: SourceFile) -> str:
    start, end, new = edit.start, edit.end, edit.text
    old = source.text[start:end]
    where = f"{edit.path}:{source.line_of(start)}"
    if old.strip() and new.strip() and "\n" not in old:
        old, new = _with_context(source, start, end, new)
        return f"changed `{_short(old)}` to `{_short(new)}` in `{where}`"
    if not old.strip():
        if "\n" in new:
            return f"added `{_short(new)}` in `{where}`"
        before, after = _with_context(source, start, end, new)
        return f"changed `{_short(before)}` to `{_short(after)}` in `{where}`"
    if not new.strip():
        if "\n" not in old:
            before, after = _with_context(source, start, end, new)
            return f"changed `{_short(before)}` to `{_short(after)}` in `{where}`"
        return f"removed `{_short(old)}` from `{where}`"
    return f"replaced `{_short(old)}` by `{_short(new)}` in `{where}`"


def _with_context(source: SourceFile, start: int, end: int, new: str) -> tuple[str, str]:
    """Old and new text with the rest of the line around, where the line is short."""
    line = source.line_of(start)
    first, last = source.line_start(line), source.line_start(source.line_of(end) + 1)
    before, after = source.text[first:start].lstrip(), source.text[end:last].rstrip()
    old = source.text[start:end]
    if len(before) + len(after) + max(len(old), len(new)) <= SHOWN:
        return before + old + after, before + new + after
    return old, new


def _short(text: str) -> str:
    return one_line(" ".join(text.split()), 90)


def lines_words(suspicion: Mapping[Line, float], sources: Mapping[str, SourceFile], count: int = 5) -> str:
    """The most suspicious lines with their text."""
    shown = []
    for (path, number), _ in list(suspicion.items())[:count]:
        source = sources.get(path)
        if source is None:
            continue
        text = source.text[source.line_start(number) : source.line_start(number + 1)]
        shown.append(f"{path}:{number} `{_short(text)}`")
    return "; ".join(shown)


def warnings(candidate: Candidate, mended: int, failing: int) -> Sequence[str]:
    """What a reviewer should doubt."""
    found = []
    if failing == 1 and mended == 1:
        found.append("Only one failing test speaks for it, so look at it closely.")
    if candidate.removes:
        found.append("It takes behaviour away, so check that what it removes isn't needed.")
    return found
