"""Comparisons and boolean logic: boundaries, directions, negation, and/or, one operand of several."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import Operator, Site

_WORDS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_SWAPS: dict[str, tuple[tuple[str, float], ...]] = {
    "<": (("<=", 1.0), (">", 0.8), (">=", 0.6), ("!=", 0.4), ("==", 0.3)),
    "<=": (("<", 1.0), (">=", 0.8), (">", 0.6), ("==", 0.3), ("!=", 0.3)),
    ">": ((">=", 1.0), ("<", 0.8), ("<=", 0.6), ("!=", 0.4), ("==", 0.3)),
    ">=": ((">", 1.0), ("<=", 0.8), ("<", 0.6), ("==", 0.3), ("!=", 0.3)),
    "==": (("!=", 0.9), ("<=", 0.65), (">=", 0.65), ("<", 0.65), (">", 0.65), ("in", 0.3), ("is", 0.15)),
    "!=": (("==", 0.9), ("<", 0.6), (">", 0.6), ("<=", 0.45), (">=", 0.45), ("not in", 0.2)),
    "in": (("not in", 0.9), ("==", 0.3)),
    "not in": (("in", 0.9), ("!=", 0.2)),
    "is": (("==", 0.5), ("is not", 0.8)),
    "is not": (("!=", 0.5), ("is", 0.8)),
}


def compares(site: Site) -> Iterator[Candidate]:
    """Exchange one comparison operator, or the two sides."""
    source = site.source
    for node in site.loads:
        if not isinstance(node, ast.Compare):
            continue
        parts = [node.left, *node.comparators]
        for at, operator in enumerate(node.ops):
            word = _WORDS[type(operator)]
            left, right = parts[at], parts[at + 1]
            for other, prior in _SWAPS[word]:
                text = _chain(site, node, at, other)
                yield site.swap(node, text, "comparison", prior)
            if len(parts) == 2 and word in ("in", "not in"):
                yield site.swap(node, f"{source.operand(right)} {word} {source.operand(left)}", "sides", 0.3)
        if len(parts) > 2:
            pieces = [_pair(site, parts[i], _WORDS[type(node.ops[i])], parts[i + 1]) for i in range(len(node.ops))]
            for piece in pieces:
                yield site.swap(node, piece, "one comparison", 0.2, removes=True)


def _pair(site: Site, left: ast.expr, word: str, right: ast.expr) -> str:
    return f"{site.source.operand(left)} {word} {site.source.operand(right)}"


def _chain(site: Site, node: ast.Compare, at: int, other: str) -> str:
    """The comparison's own text with one operator exchanged."""
    source = site.source
    parts = [node.left, *node.comparators]
    start, end = source.span(node)
    gap_start, gap_end = source.span(parts[at])[1], source.span(parts[at + 1])[0]
    gap = source.text[gap_start:gap_end]
    word = _WORDS[type(node.ops[at])]
    if word in {"not in", "is not"}:
        first, second = word.split()
        where = gap.find(first)
        stop = gap.find(second, where + len(first)) + len(second)
    else:
        where = gap.find(word)
        stop = where + len(word)
    new = gap[:where] + other + gap[stop:]
    if other[0].isalpha():
        before = new[:where] if new[:where].endswith((" ", "(", ")")) else new[:where] + " "
        rest = new[where + len(other) :]
        new = before + other + (rest if rest[:1] in (" ", "(", ")") else " " + rest)
    return source.text[start:gap_start] + new + source.text[gap_end:end]


def conditions_of(site: Site) -> list[ast.expr]:
    """Expressions used for their truth."""
    found: list[ast.expr] = []
    for node in site.nodes:
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            found.append(node.test)
        elif isinstance(node, ast.comprehension):
            found += node.ifs
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp):
            found.append(node.value)
    return found


def negations(site: Site) -> Iterator[Candidate]:
    """Negate a condition, or take a negation away."""
    source = site.source
    for node in site.loads:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield site.swap(node, source.text_of(node.operand), "negation", 0.75)
    for test in conditions_of(site):
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            continue
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            continue
        yield site.swap(test, f"not {source.operand(test)}", "negation", 0.6)
    for node in site.loads:
        parent = source.parents.get(node)
        if isinstance(parent, ast.BoolOp) and not isinstance(node, ast.UnaryOp | ast.Compare):
            yield site.swap(node, f"not {source.operand(node)}", "negation", 0.35, compound=False)
        if isinstance(parent, ast.Return) and isinstance(node, ast.Call | ast.Name) and "bool" in site.kinds_of(node):
            yield site.swap(node, f"not {source.text_of(node)}", "negation", 0.4)


def boolean(site: Site) -> Iterator[Candidate]:
    """and/or exchanged, one operand left out, parts of a mixed condition grouped otherwise."""
    source = site.source
    for node in site.loads:
        if not isinstance(node, ast.BoolOp):
            continue
        word = "and" if isinstance(node.op, ast.And) else "or"
        other = "or" if word == "and" else "and"
        operands = [source.text_of(value) if not isinstance(value, ast.BoolOp | ast.Lambda | ast.IfExp)
                    else f"({source.text_of(value)})" for value in node.values]  # fmt: skip
        yield site.swap(node, f" {other} ".join(operands), "and/or", 0.8)
        for at in range(len(operands)):
            kept = operands[:at] + operands[at + 1 :]
            prior = 0.45 if len(kept) == 1 else 0.35
            yield site.swap(node, f" {word} ".join(kept), "condition narrowed to a part", prior, removes=True)
        if len(operands) > 2:
            for at in range(len(operands) - 1):
                pair = f"({operands[at]} {other} {operands[at + 1]})"
                yield site.swap(node, f" {word} ".join([*operands[:at], pair, *operands[at + 2 :]]), "and/or", 0.4)
        for value in node.values:
            if isinstance(value, ast.BoolOp) and value.op.__class__ is not node.op.__class__:
                yield from _regrouped(site, node, value)


def _regrouped(site: Site, node: ast.BoolOp, inner: ast.BoolOp) -> Iterator[Candidate]:
    source = site.source
    outer_word = "and" if isinstance(node.op, ast.And) else "or"
    inner_word = "or" if outer_word == "and" else "and"
    at = node.values.index(inner)
    for side in (at - 1, at + 1):
        if not 0 <= side < len(node.values):
            continue
        edge = inner.values[0] if side < at else inner.values[-1]
        rest = inner.values[1:] if side < at else inner.values[:-1]
        neighbour = source.text_of(node.values[side])
        pair = [neighbour, source.text_of(edge)] if side < at else [source.text_of(edge), neighbour]
        group = f"({f' {outer_word} '.join(pair)})"
        others = [source.text_of(value) for value in rest]
        line = [group, *others] if side < at else [*others, group]
        if len(node.values) == 2:
            yield site.swap(node, f" {inner_word} ".join(line), "grouping", 0.4)


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (compares, negations, boolean)
