"""Lines of text with roles, measured in terminal cells. All text that widgets draw goes through here and is made safe here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.cells import cell_len, chop_cells, set_cell_size

from runtime.text import visible

Span = tuple[str, str]
"""Text and the role that gives it its colour (palette.py)."""
Line = Sequence[Span]
Align = Literal["left", "right"]
ELLIPSIS = "\u2026"
TAB = "    "


def clean(text: str) -> str:
    """One line of safe text: what could drive a terminal is shown as marks, line ends and tabs become blanks."""
    text = visible(text)
    if "\n" in text or "\t" in text:
        text = text.replace("\t", TAB).replace("\n", " ")
    return text


def cells(text: str) -> int:
    """Width in cells."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """Safe text in at most `width` cells, with an ellipsis where something is left out."""
    text = clean(text)
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    if width == 1:
        return ELLIPSIS
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def fit(text: str, width: int, align: Align = "left") -> str:
    """Safe text in exactly `width` cells."""
    text = cut(text, width)
    blank = " " * max(0, width - cells(text))
    return blank + text if align == "right" else text + blank


def fit_middle(text: str, width: int) -> str:
    """Like fit, but what is left out is the middle: for paths, whose end says most."""
    text = clean(text)
    if cells(text) <= width or width < 8:
        return fit(text, width)
    tail = text[-(width * 2 // 3) :]
    while cells(tail) > width * 2 // 3:
        tail = tail[1:]
    return fit(set_cell_size(text, width - 1 - cells(tail)) + ELLIPSIS + tail, width)


def width_of(line: Line) -> int:
    """Cells that a line takes."""
    return sum(cells(text) for text, _ in line)


def spread(left: Line, right: Line, width: int) -> Line:
    """Two parts at both ends of a line; the left one is cut where they would meet."""
    room = width - width_of(right)
    if room <= 0:
        return cut_line(right, width)
    kept = list(cut_line(left, max(0, room - 1)))
    kept.append((" " * (room - width_of(kept)), ""))
    return [*kept, *right]


def cut_line(line: Line, width: int) -> Line:
    """The line in at most `width` cells, with an ellipsis where something is left out."""
    if width_of(line) <= width:
        return line
    kept: list[Span] = []
    left = width - 1
    for text, role in line:
        piece = set_cell_size(text, left) if cells(text) > left else text
        kept.append((piece, role))
        left -= cells(piece)
        if left <= 0:
            break
    return [*kept, (ELLIPSIS, kept[-1][1])] if width > 0 else []


def wrap(text: str, width: int) -> list[str]:
    """A line of safe text as lines of at most `width` cells: broken at blanks where there are any, never losing a character.

    Text comes in without line ends; every piece but blanks at a break is kept.
    """
    if width <= 0:
        return []
    if cells(text) <= width:
        return [text]
    lines: list[str] = []
    rest = text
    while cells(rest) > width:
        head = rest[:width] if rest[:width].isascii() else chop_cells(rest[: width + 1], width)[0]
        head = head or rest[0]  # a character wider than the whole width: it is cropped, but the text goes on
        at = head.rfind(" ")
        if at > width // 3 and not rest[len(head) : len(head) + 1].isspace():
            head = head[: at + 1]
        lines.append(head)
        rest = rest[len(head) :]
    if rest:
        lines.append(rest)
    return lines


def paragraphs(text: str, width: int) -> list[str]:
    """Safe text of several lines, each wrapped."""
    return [piece for line in visible(text).replace("\t", TAB).split("\n") for piece in wrap(line, width)]


def joined(parts: Iterable[Line], gap: str = "  ") -> Line:
    """Parts one after the other with a gap between them."""
    line: list[Span] = []
    for part in parts:
        if line and part:
            line.append((gap, ""))
        line.extend(part)
    return line
