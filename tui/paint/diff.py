"""A unified diff as lines with roles and line numbers, file by file."""

from __future__ import annotations

import re

from runtime.text import plain
from tui.paint.spans import TAB, Line, clean

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
LINES_SHOWN = 50_000


def diff_lines(text: str, width: int) -> list[Line]:
    """Lines of a diff: a heading per file, hunks, old and new line numbers. At most 50,000 lines."""
    lines: list[Line] = []
    old = new = 0
    in_hunk = False
    source = text.split("\n")
    for raw in source[:LINES_SHOWN]:
        body = plain(raw).replace("\t", TAB)
        if raw.startswith("diff --git "):
            in_hunk = False
            name = clean(raw.rsplit(" b/", 1)[-1]) if " b/" in raw else clean(raw[11:])
            lines += [[], [(name + " ", "strong"), ("─" * max(0, width - len(name) - 3), "rule")]]
        elif match := _HUNK.match(raw):
            in_hunk = True
            old, new = int(match[1]), int(match[3])
            lines.append([("          ", ""), (f"@@ {old} → {new}", "hunk"), (clean(match[5]), "muted")])
        elif in_hunk and raw[:1] == "+":
            lines.append([(f"     {new:>4} ", "faint"), (body, "added")])
            new += 1
        elif in_hunk and raw[:1] == "-":
            lines.append([(f"{old:>4}      ", "faint"), (body, "removed")])
            old += 1
        elif in_hunk and raw[:1] == " ":
            lines.append([(f"{old:>4} {new:>4} ", "faint"), (body, "text")])
            old, new = old + 1, new + 1
        elif raw and not raw.startswith(("index ", "--- ", "+++ ")):
            lines.append([("  ", ""), (body, "muted")])
    if len(source) > LINES_SHOWN:
        lines += [[], [(f"{len(source) - LINES_SHOWN:,} more lines aren't shown", "warn")]]
    return lines[1:] if lines and not lines[0] else lines


def files_of(lines: list[Line]) -> list[int]:
    """Where each file begins."""
    return [y for y, line in enumerate(lines) if line and line[0][1] == "strong"]


def summary(text: str) -> tuple[int, int, int]:
    """Files, lines added and lines removed of a diff."""
    files = added = removed = 0
    in_hunk = False
    for line in text.split("\n"):
        if line.startswith("diff --git "):
            files, in_hunk = files + 1, False
        elif line.startswith("@@ "):
            in_hunk = True
        elif in_hunk and line.startswith("+"):
            added += 1
        elif in_hunk and line.startswith("-"):
            removed += 1
    return files, added, removed
