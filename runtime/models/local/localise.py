"""Which lines are suspicious: Ochiai over tests and single assertions, raised by where failures were raised.

Ochiai: failed(l) / sqrt(failed * (failed(l) + passed(l))), with the counts of tests that execute line l (Abreu et al., 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from runtime.models.local.oracle import Line, Oracle

FRAME_BONUS = (0.25, 0.12, 0.06)
"""Added for the innermost project frames of a traceback, innermost first."""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """One observation: lines executed and whether it failed; `weight` is its share of its test."""

    lines: frozenset[Line]
    failed: bool
    weight: float = 1.0


def spectra(oracle: Oracle) -> list[Spectrum]:
    """One observation per traced test, or one per assertion where a test has several."""
    found: list[Spectrum] = []
    for test in [*oracle.failing, *oracle.passing]:
        if test.lines is None:
            continue
        failed = test in oracle.failing
        parts = {at: lines for at, lines in test.parts.items() if lines}
        if len(parts) < 2 or (failed and not test.misses):
            found.append(Spectrum(test.lines, failed))
            continue
        share = 1.0 / math.sqrt(len(parts))
        for at, lines in parts.items():
            found.append(Spectrum(lines, at in test.misses, share))
    return found


def suspicion(oracle: Oracle, editable: frozenset[str]) -> dict[Line, float]:
    """Suspicion of each line of an editable file that a failing test executes, 0..1, highest first."""
    failed: dict[Line, float] = {}
    passed: dict[Line, float] = {}
    total = 0.0
    for spectrum in spectra(oracle):
        total += spectrum.weight if spectrum.failed else 0.0
        place = failed if spectrum.failed else passed
        for line in spectrum.lines:
            place[line] = place.get(line, 0.0) + spectrum.weight
    scores = {
        line: count / math.sqrt(total * (count + passed.get(line, 0.0)))
        for line, count in failed.items()
        if line[0] in editable
    }
    for test in oracle.failing:
        inner = [frame for frame in reversed(test.frames) if frame[0] in editable]
        for frame, bonus in zip(inner, FRAME_BONUS, strict=False):
            scores[frame] = max(scores.get(frame, 0.5), 0.3) + bonus / len(oracle.failing)
    top = max(scores.values(), default=1.0)
    return dict(sorted(((line, s / top) for line, s in scores.items()), key=lambda item: (-item[1], item[0])))
