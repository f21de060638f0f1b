"""All single-edit candidates of the suspicious code, best first: suspicion of the line times prior of the operator."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType

from runtime.models.local.candidate import Candidate
from runtime.models.local.operators.registry import OPERATORS
from runtime.models.local.oracle import Line, Oracle
from runtime.models.local.site import Harvest, Site
from runtime.models.local.source import FUNCTIONS, Edit, Function, SourceFile, apply_edits, first_line

UNREACHED = 0.2
"""Suspicion of a line of a suspicious function that no failing test executes."""
MODULE_LEVEL = 0.35
"""Weight of what runs at import against what runs in the failing tests."""
SHARPNESS = 1.5
REMOVAL = 0.45
"""Factor for edits that take behaviour away: they satisfy weak tests too easily."""
MAX_SITES = 40


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its rank value and the site it belongs to."""

    candidate: Candidate
    score: float
    site: int


@dataclass
class Place:
    """A site with its lines and its highest suspicion."""

    site: Site
    first: int
    last: int
    top: float


@dataclass
class Space:
    """The candidates of one state of the code. `distinct` leaves out what compiles to the same as something seen."""

    sources: Mapping[str, SourceFile]
    suspicion: Mapping[Line, float]
    places: list[Place]
    ranked: list[Scored] = field(default_factory=list)
    _seen: set[object] = field(default_factory=set)

    def distinct(self, candidate: Candidate) -> bool:
        """Whether a candidate is valid Python and differs from the code and from every candidate asked about before."""
        code: list[object] = []
        for path in sorted({edit.path for edit in candidate.edits}):
            compiled = self._compiled(path, tuple(e for e in candidate.edits if e.path == path))
            if compiled is None:
                return False
            code.append((path, compiled))
        key = tuple(code)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _compiled(self, path: str, edits: tuple[Edit, ...]) -> object | None:
        source = self.sources[path]
        start, end, head = _unit(source, edits)
        moved = tuple(Edit(path, e.start - start, e.end - start, e.text) for e in edits)
        own = (path, start, end)
        if own not in self._seen:
            self._seen.add(own)
            plain = _shape(head + source.text[start:end])
            if plain is not None:
                self._seen.add(((path, (start, end, plain)),))
        shape = _shape(head + apply_edits(source.text[start:end], moved))
        return None if shape is None else (start, end, shape)


def _unit(source: SourceFile, edits: tuple[Edit, ...]) -> tuple[int, int, str]:
    """The smallest compilable text around the edits: a function of the module or of a class, else the file."""
    low, high = min(e.start for e in edits), max(e.end for e in edits)
    for function in source.functions:
        parent = source.parents[function]
        if not isinstance(parent, ast.Module | ast.ClassDef):
            continue
        start = source.line_start(first_line(function))
        end = source.line_start((function.end_lineno or function.lineno) + 1)
        if start <= low and high <= end and not source.text[start:end].lstrip(" \t").startswith("#"):
            return start, end, "class _:\n" if function.col_offset else ""
    return 1 if source.text.startswith("\ufeff") else 0, len(source.text), ""


def _shape(text: str) -> object | None:
    """What a text compiles to, without places; None where it doesn't."""
    try:
        with warnings.catch_warnings():
            # A candidate may be silly (`is` with a literal); that's for the tests to say.
            warnings.simplefilter("ignore")
            return _code(compile(text, "?", "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def _code(code: CodeType) -> object:
    consts = tuple(_code(c) if isinstance(c, CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts)
    return code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_flags


def build_space(
    sources: Mapping[str, SourceFile], oracle: Oracle, suspicion: Mapping[Line, float], harvest: Harvest
) -> Space:
    """Rank every single edit of the suspicious functions and of the module level that they use."""
    places = _places(sources, oracle, suspicion, harvest)
    space = Space(sources, suspicion, places)
    found: dict[str, Scored] = {}
    for number, place in enumerate(places):
        for candidate in _candidates(place.site):
            score = candidate.prior * _weight(place, candidate, suspicion)
            if candidate.removes:
                score *= REMOVAL
            known = found.get(candidate.key)
            if known is None or known.score < score:
                found[candidate.key] = Scored(candidate, score, number)
    space.ranked = sorted(found.values(), key=lambda s: -s.score)
    return space


def _candidates(site: Site) -> Iterator[Candidate]:
    for operator in OPERATORS:
        yield from operator(site)


def _weight(place: Place, candidate: Candidate, suspicion: Mapping[Line, float]) -> float:
    if isinstance(place.site.node, ast.Module):
        return float((MODULE_LEVEL * place.top) ** SHARPNESS)
    own = suspicion.get((candidate.path, candidate.line))
    return float(max(own if own is not None else 0.0, UNREACHED * place.top) ** SHARPNESS)


def _places(
    sources: Mapping[str, SourceFile], oracle: Oracle, suspicion: Mapping[Line, float], harvest: Harvest
) -> list[Place]:
    found: list[Place] = []
    for path, source in sources.items():
        lines = {line: s for (file, line), s in suspicion.items() if file == path}
        top = 0.0
        for function in source.functions:
            if source.function_of(function) is not None:
                continue
            first, last = first_line(function), function.end_lineno or function.lineno
            best = max((s for line, s in lines.items() if first <= line <= last), default=0.0)
            if best > 0:
                types = _types(source, function, oracle)
                found.append(Place(Site(source, function, harvest, types), first, last, best))
                top = max(top, best)
        if top or not lines:
            found.append(Place(Site(source, source.tree, harvest), 0, 0, top or 0.5))
    found.sort(key=lambda p: (-p.top, p.site.source.path, p.first))
    return found[:MAX_SITES]


def _types(source: SourceFile, function: Function, oracle: Oracle) -> dict[str, list[str]]:
    joined: dict[str, set[str]] = {}
    for inner in ast.walk(function):
        if isinstance(inner, FUNCTIONS):
            found = oracle.types.get(f"{source.path}:{first_line(inner)}", {})
            for name, words in found.items():
                if name != "return" or inner is function:
                    joined.setdefault(name, set()).update(words)
    return {name: sorted(words) for name, words in joined.items()}
