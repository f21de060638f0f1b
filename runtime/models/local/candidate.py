"""A candidate: a few text edits with where they come from and how likely such a mend is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from runtime.models.local.source import Edit


@dataclass(frozen=True, slots=True)
class Candidate:
    """Edits that are tried together. `prior` is how often a bug of this kind is mended this way, relative to others, 0..1."""

    edits: tuple[Edit, ...]
    operator: str
    prior: float
    line: int
    """The line whose suspicion counts, in the first edit's file."""
    removes: bool = False
    """Whether it takes behaviour away (a statement, a check, a call)."""

    @property
    def path(self) -> str:
        """The first edit's file."""
        return self.edits[0].path

    @property
    def key(self) -> str:
        """Equal for candidates that make the same edits."""
        text = "\0".join(f"{e.path}\0{e.start}\0{e.end}\0{e.text}" for e in sorted(self.edits))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def overlap(a: Candidate, b: Candidate) -> bool:
    """Whether two candidates touch the same text."""
    return any(
        x.path == y.path and x.start <= y.end and y.start <= x.end and (x.start, x.end) != (y.end, y.start)
        for x in a.edits
        for y in b.edits
    )
