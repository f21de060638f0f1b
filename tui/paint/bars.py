"""Bars and small charts of characters; every one still reads without colour."""

from __future__ import annotations

from collections.abc import Sequence

from tui.paint.spans import Line

FULL, HALF, REST = "━", "╸", "─"
EIGHTHS = " ▁▂▃▄▅▆▇█"
FRESH, WRITTEN, READ = "█", "▆", "▄"


def gauge(part: float | None, width: int, role: str = "accent") -> Line:
    """A share of 1 as a thin bar. Unknown is dots; anything above nothing shows; only what is full looks full."""
    if width <= 0:
        return []
    if part is None:
        return [("┄" * width, "faint")]
    halves = max(0, min(2 * width, round(part * 2 * width)))
    if part > 0 and halves == 0:
        halves = 1
    if part < 1 and halves == 2 * width:
        halves -= 1
    full, half = divmod(halves, 2)
    return [(FULL * full + HALF * half, role), (REST * (width - full - half), "faint")]


def gauge_role(part: float | None) -> str:
    """Quiet until 75%, warning until 90%, then bad."""
    if part is None or part < 0.75:
        return "accent"
    return "warn" if part < 0.9 else "bad"


def apportion(parts: Sequence[int], width: int) -> list[int]:
    """Whole cells for parts of a sum, by largest remainders; a part that isn't nothing gets at least one where there is room."""
    total = sum(parts)
    if total <= 0 or width <= 0:
        return [0] * len(parts)
    exact = [part * width / total for part in parts]
    given = [int(value) for value in exact]
    for index in sorted(range(len(parts)), key=lambda i: given[i] - exact[i])[: width - sum(given)]:
        given[index] += 1
    for index, part in enumerate(parts):
        if part and not given[index] and max(given) > 1:
            given[given.index(max(given))] -= 1
            given[index] = 1
    return given


def stacked(fresh: int, written: int, read: int, width: int) -> Line:
    """Fresh, written and read tokens as one bar of `width` cells, each with its own glyph and role."""
    counts = apportion((fresh, written, read), width)
    marks = ((FRESH, "fresh"), (WRITTEN, "written"), (READ, "read"))
    return [(mark * count, role) for (mark, role), count in zip(marks, counts, strict=True) if count]


def columns(values: Sequence[float | None], height: int, top: float | None = None) -> list[str]:
    """Values as upright bars, one cell each, `height` lines from the top down; unknown is a dot at the foot."""
    highest = top if top is not None else max((v for v in values if v is not None), default=0)
    lines = []
    for row in range(height - 1, -1, -1):
        line = []
        for value in values:
            if value is None:
                line.append("·" if row == 0 else " ")
                continue
            filled = 0 if highest <= 0 else round(min(1.0, value / highest) * height * 8)
            if value > 0 and filled == 0:
                filled = 1
            line.append(EIGHTHS[max(0, min(8, filled - row * 8))])
        lines.append("".join(line))
    return lines
