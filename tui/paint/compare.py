"""Any two attempts side by side in what they left failing: fixed between them, newly failing, still failing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import words
from tui.paint.panes import FINDINGS_SHOWN, MARKS, section
from tui.paint.spans import Line, cut

if TYPE_CHECKING:
    from runtime.view.model import RunView


def attempt_name(attempt: int) -> str:
    """An attempt in words; 0 is the baseline."""
    return "baseline" if attempt == 0 else f"attempt {attempt}"


def findings_of(view: RunView, attempt: int) -> frozenset[str] | None:
    """Ids of all findings that an attempt (0: the baseline) left; None where it wasn't verified, or not all of them are known."""
    if attempt == 0:
        rows = view.baseline
        if not rows or any(row.findings_total is None or row.findings_total > len(row.findings) for row in rows):
            return None
        return frozenset(one.id for row in rows for one in row.findings)
    row = next((row for row in view.attempts if row.attempt == attempt), None)
    if row is None or row.comparison is None:
        return None
    return frozenset((*row.comparison.new, *row.comparison.still, *row.comparison.pre_existing))


def compare_lines(view: RunView, base: int, other: int, width: int) -> list[Line]:
    """What became of the findings between two attempts."""
    head = section("Compare", width, [(f"{attempt_name(other)} against {attempt_name(base)}: c ends ", "muted")])
    before, after = findings_of(view, base), findings_of(view, other)
    if before is None or after is None:
        missing = attempt_name(base if before is None else other)
        return [head, [], [(f"What {missing} left failing isn't known: it wasn't verified, or not wholly.", "text")]]
    groups = (("fixed", before - after), ("new", after - before), ("still", before & after))
    counts: Line = [(f"{len(ids)} {name}  ", MARKS[name][1]) for name, ids in groups]
    lines: list[Line] = [head, [], [*counts, (f"of {words.plural(len(before | after), 'finding')}", "muted")]]
    for name, ids in groups:
        ordered = sorted(ids)
        lines += [[MARKS[name], ("  ", ""), (cut(one, width - 10), "text")] for one in ordered[:FINDINGS_SHOWN]]
        if len(ordered) > FINDINGS_SHOWN:
            lines.append([(f"          and {len(ordered) - FINDINGS_SHOWN} more", "muted")])
    return lines
