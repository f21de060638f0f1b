"""How a tool's output is described as data: shapes of findings and a row per tool; the engine is `findings`.

Output is hostile text, so every pattern works in time linear in a line: no nested or adjacent repetitions of the same characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """How one kind of finding looks in a line. Named groups: id, path, line, rule, message.

    A finding with an id is known by it, any other by path, rule and message.
    """

    line: re.Pattern[str]
    kind: str = "test"
    place: re.Pattern[str] | None = None
    """Must match one of the next few lines, and tells the place."""
    above: re.Pattern[str] | None = None
    """Must match the line directly above."""
    header: re.Pattern[str] | None = None
    """An earlier line that names the file; without one before it, a line is no finding."""
    region: re.Pattern[str] | None = None
    """Only what follows the last line that matches is read; nothing where no line does."""
    repeats: bool = True
    """Whether equal ids are different findings (counted), not one that is told twice."""


@dataclass(frozen=True, slots=True)
class Runner:
    """One tool: by which command or output it is known, its findings, and how it counts the tests it collected."""

    name: str
    command: re.Pattern[str]
    signature: re.Pattern[str]
    levels: tuple[tuple[Shape, ...], ...]
    """Tried in order until one finds something: from the exact list down to headings."""
    counts: tuple[re.Pattern[str], ...] = ()
    """The first pattern that matches counts: the sum of the groups of all matches, or the number of matches without one."""
    uncounted: re.Pattern[str] | None = None
    """A line that matches a count as well as this tells no number of tests."""
    once: bool = True
    """Sums up once: several counts in a failed output may be quoted from what was tested, so that none is believed."""
    summary: re.Pattern[str] | None = None
    no_tests: re.Pattern[str] | None = None
    """Says that nothing was collected; outweighed by a count above zero and by `ran`."""
    ran: re.Pattern[str] | None = None
    """Says that something ran, where there is no count."""
    partial: re.Pattern[str] | None = None
    """Says that a part of the tests did not run, so that silence about one of them means nothing."""


def pattern(text: str) -> re.Pattern[str]:
    """A compiled pattern."""
    return re.compile(text)
