"""Plain aligned tables for terminals and pipes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.text import one_line


def _width(text: str) -> int:
    """Columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """Rows under a head, columns two spaces apart. `align` has a `>` for every column that is set to the right."""
    cells = [list(head), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(_width(row[n]) for row in cells) for n in range(len(head))]
    lines = []
    for row in cells:
        parts = []
        for n, cell in enumerate(row):
            pad = " " * (widths[n] - _width(cell))
            parts.append(pad + cell if align[n : n + 1] == ">" else cell + pad)
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)
