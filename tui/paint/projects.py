"""Projects: their cap override, verify steps, runs and cost. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import words
from tui.paint.panes import section
from tui.paint.spans import Line, clean, cut, cut_line, fit

if TYPE_CHECKING:
    from tui.backend import ProjectLine

NAME = 22


def projects_lines(projects: tuple[ProjectLine, ...], chosen: int, width: int) -> list[Line]:
    """A line for each project, and everything about the chosen one."""
    if not projects:
        return [[], [("  No project yet: the first run makes one.", "text")]]
    head = f"  {'':<{NAME}}{'runs':>6}{'passed':>8}{'cost':>11}{'cap override':>15}"
    lines: list[Line] = [[], [(head, "head")]]
    for number, one in enumerate(projects):
        on = number == chosen
        cap = "by model" if one.cap is None else str(one.cap)
        figures = f"{one.runs:>6,}{one.passed:>8,}{words.money(one.micros, one.complete):>11}{cap:>15}"
        mark = "▸ " if on else "  "
        lines.append([(mark, "accent"), (fit(clean(one.name), NAME), "strong" if on else "text"), (figures, "text")])
    lines += [[], *_detail(projects[min(chosen, len(projects) - 1)], width)]
    return [cut_line(line, width) for line in lines]


def _detail(one: ProjectLine, width: int) -> list[Line]:
    lines: list[Line] = [section(clean(one.name), width)]
    lines.append([("  repository    ", "muted"), (cut(one.root, max(10, width - 18)), "text")])
    source = "its looptop.toml or the settings say another" if one.file_cap is not None else ""
    if one.cap is None:
        text = "none: the default by model" if one.file_cap is None else f"{one.file_cap}, by the settings"
        lines.append([("  cap override  ", "muted"), (text, "text")])
    else:
        lines.append([("  cap override  ", "muted"), (str(one.cap), "strong"), (f"  {source}", "warn")])
    for number, step in enumerate(one.verify):
        lines.append(
            [("  verify        " if number == 0 else " " * 16, "muted"), (cut(step, max(10, width - 18)), "text")]
        )
    if not one.verify:
        lines.append([("  verify        ", "muted"), ("none known", "warn")])
    for name, limit in one.budgets:
        lines.append([(f"  {fit(name, 14)}", "muted"), (clean(limit), "text")])
    if one.trouble:
        lines.append([("  ! ", "warn"), (cut(one.trouble, max(10, width - 6)), "warn")])
    return lines
