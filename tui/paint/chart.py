"""A chart of scores over checkpoints against a threshold, in characters that read without colour too."""

from __future__ import annotations

from collections.abc import Sequence

from tui import words
from tui.paint.spans import Line, Span

Point = tuple[int, float | None, float | None]
"""Tool step, score, threshold."""
AXIS = 5


def score_chart(points: Sequence[Point], width: int, height: int) -> list[Line]:
    """One column per checkpoint (the newest that fit), scores as dots over a stem, the threshold as a dashed line; 0 to 1 upwards."""
    room = max(1, (width - AXIS - 1) // 3)
    shown = list(points)[-room:]
    threshold = next((point[2] for point in reversed(shown) if point[2] is not None), None)
    limit = None if threshold is None else _row(threshold, height)
    lines: list[Line] = []
    for row in range(height - 1, -1, -1):
        label = {height - 1: "1.0", 0: "0.0"}.get(row, "")
        if row == limit and threshold is not None and not label:
            label = words.score(threshold)
        line: list[Span] = [(f"{label:>4} ", "muted"), ("│", "rule")]
        for _, score, over in shown:
            line.append(_cell(row, height, score, over, row == limit))
        if row == limit:
            line.append(("╌" * max(0, width - AXIS - 1 - 3 * len(shown)), "warn"))
        lines.append(line)
    lines.append([(" " * AXIS, ""), ("└" + "───" * len(shown), "rule")])
    lines.append(
        [(" " * (AXIS + 1), ""), ("".join(f"{step:>2} " for step, _, _ in shown), "muted"), (" tool step", "muted")]
    )
    return lines


def _row(value: float, height: int) -> int:
    return max(0, min(height - 1, round(value * (height - 1))))


def _cell(row: int, height: int, score: float | None, threshold: float | None, on_limit: bool) -> Span:
    if score is None:
        return (" ? ", "warn") if row == 0 else ("╌╌╌" if on_limit else "   ", "warn")
    at = _row(score, height)
    role = "bad" if threshold is not None and score > threshold else "accent"
    if row == at:
        return " ● ", role
    if on_limit:
        return "╌╌╌", "warn"
    return (" │ ", "faint") if row < at else ("   ", "")
