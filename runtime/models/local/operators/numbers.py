"""Numbers: wrong constants, off by one in indices, bounds and results, arithmetic operators, operands, grouping."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import NUMBERS, Operator, Site
from runtime.models.local.source import Edit

_ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[tuple[str, float], ...]]] = {
    ast.Add: ("+", (("-", 0.9), ("*", 0.5), ("//", 0.1), ("%", 0.1))),
    ast.Sub: ("-", (("+", 0.9), ("*", 0.25), ("//", 0.15), ("%", 0.2))),
    ast.Mult: ("*", (("+", 0.55), ("**", 0.5), ("/", 0.45), ("//", 0.4), ("-", 0.3), ("%", 0.2))),
    ast.Div: ("/", (("//", 0.8), ("*", 0.7), ("%", 0.4), ("-", 0.2))),
    ast.FloorDiv: ("//", (("/", 0.8), ("%", 0.7), ("*", 0.5), ("-", 0.2))),
    ast.Mod: ("%", (("//", 0.8), ("/", 0.45), ("*", 0.2), ("-", 0.2))),
    ast.Pow: ("**", (("*", 0.8), ("//", 0.1))),
    ast.BitAnd: ("&", (("|", 0.8), ("^", 0.7))),
    ast.BitOr: ("|", (("&", 0.8), ("^", 0.6))),
    ast.BitXor: ("^", (("&", 0.8), ("|", 0.6))),
    ast.LShift: ("<<", ((">>", 0.9),)),
    ast.RShift: (">>", (("<<", 0.9),)),
}

WRAPS = 0.4
"""Factor for an index that would reach around to the end of its sequence."""


def arithmetic(site: Site) -> Iterator[Candidate]:
    """Another arithmetic operator, sides exchanged, one side only."""
    source = site.source
    for node in site.nodes:
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            if (
                isinstance(node.left, ast.Constant)
                and isinstance(node.left.value, str)
                and isinstance(node.op, ast.Mod)
            ):
                continue
            word, others = _ARITHMETIC[type(node.op)]
            edge = _operator_place(site, source.span(node.left)[1], source.span(node.right)[0], word)
            text = isinstance(node.op, ast.Add) and not (
                site.may_be(node.left, NUMBERS) and site.may_be(node.right, NUMBERS)
            )
            for other, prior in others:
                yield site.make(
                    Edit(source.path, *edge, other), "arithmetic operator", prior * (0.2 if text else 1.0), node.lineno
                )
            left, right = source.operand(node.left), source.operand(node.right)
            if not isinstance(node.op, ast.Mult) and (text or not isinstance(node.op, ast.Add)):
                yield site.swap(node, f"{right} {word} {left}", "operands exchanged", 0.55)
            yield site.swap(node, source.text_of(node.left), "operand dropped", 0.25)
            yield site.swap(node, source.text_of(node.right), "operand dropped", 0.2)
            yield from _regroup(site, node, word)
        elif isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
            yield from _augmented(site, node)


def _operator_place(site: Site, start: int, end: int, word: str) -> tuple[int, int]:
    where = site.source.text.find(word, start, end)
    return where, where + len(word)


def _augmented(site: Site, node: ast.AugAssign) -> Iterator[Candidate]:
    source = site.source
    word, others = _ARITHMETIC[type(node.op)]
    start, end = source.span(node.target)[1], source.span(node.value)[0]
    where, stop = _operator_place(site, start, end, word + "=")
    edge = (where, stop)
    for other, prior in others:
        yield site.make(Edit(source.path, *edge, other + "="), "arithmetic operator", prior, node.lineno)
    yield site.make(Edit(source.path, *edge, "="), "assignment instead of update", 0.4, node.lineno)
    target, value = source.text_of(node.target), source.text_of(node.value)
    if word in "+*&|":
        whole = source.span(node)
        yield site.make(Edit(source.path, *whole, f"{target} = {value} {word} {target}"), "sides", 0.3, node.lineno)


def _regroup(site: Site, node: ast.BinOp, word: str) -> Iterator[Candidate]:
    source = site.source
    inner = node.left
    _start, _ = source.span(node)
    if isinstance(inner, ast.BinOp) and type(inner.op) in _ARITHMETIC and type(inner.op) is not type(node.op):
        word_in = _ARITHMETIC[type(inner.op)][0]
        a, b, c = (source.operand(x) for x in (inner.left, inner.right, node.right))
        yield site.swap(node, f"{a} {word_in} ({b} {word} {c})", "grouping", 0.4)
    inner = node.right
    if isinstance(inner, ast.BinOp) and type(inner.op) in _ARITHMETIC:
        word_in = _ARITHMETIC[type(inner.op)][0]
        a, b, c = (source.operand(x) for x in (node.left, inner.left, inner.right))
        yield site.swap(node, f"({a} {word} {b}) {word_in} {c}", "grouping", 0.4)


def constants(site: Site) -> Iterator[Candidate]:
    """Another number: one more, one less, zero, one, doubled, those that stand in the function or in the failing tests."""
    seen = [n.value for n in site.nodes if isinstance(n, ast.Constant) and type(n.value) is int]
    for node in site.loads:
        if not isinstance(node, ast.Constant):
            continue
        value = node.value
        if value is True or value is False:
            yield site.swap(node, str(not value), "boolean constant", 0.7, compound=False)
            yield site.swap(node, "None", "constant", 0.1, compound=False)
        elif value is None:
            for text, prior in (("False", 0.25), ("0", 0.25), ("[]", 0.25), ("True", 0.15), ('""', 0.2), ("{}", 0.1)):
                yield site.swap(node, text, "constant", prior, compound=False)
        elif type(value) is int:
            for other, prior in _other_ints(value, seen, site.harvest.ints):
                weight = prior * (0.65 if _compared_exactly(site, node) else 1.0)
                whole = _without_effect(site, node, other)
                if whole is not None:
                    yield site.swap(whole, site.source.text_of(whole.left), "number", weight)
                else:
                    yield site.swap(node, str(other), "number", weight, compound=other < 0)
            yield site.swap(node, f"{value}.0", "number", 0.05, compound=False)
            if value in (0, 1):
                yield from _infinities(site, node)
        elif type(value) is float:
            for text, prior in ((repr(value / 10), 0.2), (repr(value * 10), 0.2), (repr(-value), 0.3), ("0.0", 0.2),
                                ("1.0", 0.2), (repr(1 - value), 0.1), (repr(value * 2), 0.15), (repr(value / 2), 0.15)):  # fmt: skip
                yield site.swap(node, text, "number", prior)


def _without_effect(site: Site, node: ast.expr, other: int) -> ast.BinOp | None:
    """The sum or product in which a number would have no effect, such as `x + 0`: nobody would write that, but `x`."""
    parent = site.source.parents.get(node)
    if not isinstance(parent, ast.BinOp) or parent.right is not node:
        return None
    neutral = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1}.get(type(parent.op))
    return parent if other == neutral else None


def _compared_exactly(site: Site, node: ast.expr) -> bool:
    """Whether the number is one that something has to equal: then another one only fits the cases at hand."""
    parent = site.source.parents.get(node)
    return isinstance(parent, ast.Compare) and any(isinstance(op, ast.Eq | ast.NotEq) for op in parent.ops)


def _other_ints(value: int, seen: list[int], harvested: tuple[int, ...]) -> list[tuple[int, float]]:
    near = {value + 1: 0.8, value - 1: 0.75}
    for other, prior in ((0, 0.45), (1, 0.5), (2, 0.35), (-1, 0.35), (-value, 0.4), (value * 2, 0.2), (value // 2, 0.15),
                         (value + 2, 0.2), (value - 2, 0.15), (value * 10, 0.15), (10, 0.12), (value + value % 2 + 1, 0.05)):  # fmt: skip
        near[other] = max(prior, near.get(other, 0.0))
    for other in seen:
        near[other] = max(0.45, near.get(other, 0.0))
    for at, other in enumerate(harvested[:12]):
        near[other] = max(0.25 / (1 + at / 4), near.get(other, 0.0))
    near.pop(value, None)
    return list(near.items())


def _infinities(site: Site, node: ast.Constant) -> Iterator[Candidate]:
    parent = site.source.parents.get(node)
    if isinstance(parent, ast.Assign):
        yield site.swap(node, 'float("inf")', "initial value", 0.15, compound=False)
        yield site.swap(node, 'float("-inf")', "initial value", 0.15, compound=False)


def off_by_one(site: Site) -> Iterator[Candidate]:
    """One more or one less in indices, bounds, arguments, comparisons, results and sums."""
    source = site.source
    for node in site.loads:
        if isinstance(node, ast.Constant | ast.Compare | ast.BoolOp | ast.Lambda | ast.Slice | ast.List | ast.Dict):
            continue
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield site.swap(node, source.text_of(node.operand), "sign", 0.55)
            if isinstance(node.operand, ast.Constant) and type(node.operand.value) is int:
                yield site.swap(node, f"-{node.operand.value + 1}", "number", 0.5)
                continue
        prior = _weight(site, node)
        if not prior or not site.may_be(node, NUMBERS):
            continue
        text = source.text_of(node) if not isinstance(node, ast.IfExp) else source.operand(node)
        known = 1.0 if site.kinds_of(node) & NUMBERS else 0.6
        yield site.swap(node, f"{text} + 1", "off by one", prior * known)
        yield site.swap(node, f"{text} - 1", "off by one", prior * known * (WRAPS if _wraps(site, node) else 1.0))
        if not isinstance(node, ast.BinOp):
            yield site.swap(node, f"-{source.operand(node)}", "sign", 0.3 * known)
    yield from _one_away(site)


def _wraps(site: Site, node: ast.expr) -> bool:
    """Whether an index counts from 0, so that one less would take the last element in the first turn."""
    parent = site.source.parents.get(node)
    if not isinstance(node, ast.Name) or not isinstance(parent, ast.Subscript):
        return False
    count = _counts(site, node.id)
    if count is None:
        return False
    first = count.args[0] if len(count.args) > 1 else None
    return first is None or (isinstance(first, ast.Constant) and first.value == 0)


def _counts(site: Site, name: str) -> ast.Call | None:
    """The `range` that a name runs over."""
    for loop in site.nodes:
        if not isinstance(loop, ast.For | ast.comprehension) or getattr(loop.target, "id", "") != name:
            continue
        if isinstance(loop.iter, ast.Call) and getattr(loop.iter.func, "id", "") == "range":
            return loop.iter
    return None


def _one_away(site: Site) -> Iterator[Candidate]:
    for node in site.loads:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            right = node.right
            if isinstance(right, ast.Constant) and right.value == 1:
                yield site.swap(node, site.source.text_of(node.left), "off by one", 0.7)
            left = node.left
            if isinstance(left, ast.Constant) and left.value == 1:
                yield site.swap(node, site.source.text_of(right), "off by one", 0.6)


def _weight(site: Site, node: ast.expr) -> float:
    """How likely one more or one less is the mend, by what the expression is used for."""
    parent = site.source.parents.get(node)
    if isinstance(parent, ast.Slice):
        return 0.8
    if isinstance(parent, ast.Subscript):
        if parent.slice is not node:
            return 0.0
        # Where a loop counts is wrong more often than one use of its variable.
        return 0.5 if isinstance(node, ast.Name) and _counts(site, node.id) else 0.75
    if isinstance(parent, ast.Call) and node in parent.args:
        called = getattr(parent.func, "id", "")
        return 0.85 if called == "range" else 0.3 if called in ("len", "sorted", "str", "print", "isinstance") else 0.5
    if isinstance(parent, ast.Compare):
        return 0.5
    if isinstance(parent, ast.Return | ast.Yield):
        return 0.6
    if isinstance(parent, ast.Assign | ast.AugAssign):
        return 0.45
    if isinstance(parent, ast.BinOp):
        return 0.3 if not isinstance(parent.op, ast.Add | ast.Sub) else 0.12
    return 0.25 if isinstance(parent, ast.Tuple | ast.List | ast.IfExp) else 0.0


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (arithmetic, constants, off_by_one)
