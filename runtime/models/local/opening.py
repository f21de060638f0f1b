"""The start of a search: what it says first, and where to look when the tests can't even be imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.models.local.editable import editable_sources
from runtime.models.local.explain import lines_words, plural
from runtime.models.local.oracle import Line, Oracle
from runtime.models.local.source import SourceFile
from runtime.models.local.trials import Hello

UNTRACED = 0.3


def opening(
    oracle: Oracle, failing: int, lines: Mapping[Line, float], sources: Mapping[str, SourceFile], count: int
) -> str:
    """How many tests fail, what is most suspicious, how many candidates there are, which tests are flaky."""
    total = len(oracle.tests)
    words = f"{failing} of {plural(total, 'test')} fail. Most suspicious: {lines_words(lines, sources, 3)}. {count:,} candidates."
    if oracle.flaky:
        words += f" {plural(len(oracle.flaky), 'test')} ended differently in two runs and {'is' if len(oracle.flaky) == 1 else 'are'} left out."
    return words


def with_unimported(root: Path, sources: Mapping[str, SourceFile], hello: Hello) -> dict[str, SourceFile]:
    """Files named in the collection errors, which the driver couldn't import."""
    named = set()
    for text in hello.errors.values():
        for path in root.rglob("*.py"):
            relative = str(path.relative_to(root))
            if relative in text or path.name in text:
                named.add(relative)
    more, _ = editable_sources(root, named, hello.tests)
    return {**more, **sources}


def import_suspicion(hello: Hello, sources: Mapping[str, SourceFile]) -> dict[Line, float]:
    """Lines that the collection errors' tracebacks name; all others a little, because nothing could be traced."""
    found: dict[Line, float] = {}
    for text in hello.errors.values():
        for path, source in sources.items():
            for number in range(1, source.line_of(len(source.text)) + 1):
                found.setdefault((path, number), UNTRACED)
                if f"{path}:{number}:" in text:
                    found[(path, number)] = 1.0
    return found
