"""Which complete candidates to doubt: they satisfy the tests at hand too easily, so a likelier one is looked for a little longer."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping

from runtime.models.local.candidate import Candidate
from runtime.models.local.source import SourceFile, apply_edits

COMMON = frozenset({"0", "1", "-1", "2", "True", "False", "None", "''", "0.0", "1.0"})
"""Constants that programs are full of; others that a candidate brings along come from the tests."""
LIKELY = 0.3
"""Share of a doubtful candidate's rank value that another needs to be preferred to it."""


def doubtful(candidate: Candidate, sources: Mapping[str, SourceFile]) -> bool:
    """Whether a candidate takes behaviour away, needs two edits, or answers with more constants than the program had."""
    if candidate.removes or " and " in candidate.operator:
        return True
    for path in {edit.path for edit in candidate.edits}:
        source = sources[path]
        edits = tuple(edit for edit in candidate.edits if edit.path == path)
        try:
            tree = ast.parse(apply_edits(source.text, edits).removeprefix("\ufeff"))
        except (SyntaxError, ValueError, RecursionError):
            return True
        before, after = _constants(source.tree), _constants(tree)
        if (after - before).total() > (before - after).total():
            return True
    return False


def _constants(tree: ast.AST) -> Counter[str]:
    texts = (repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return Counter(text for text in texts if text not in COMMON)
