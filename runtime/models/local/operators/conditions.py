"""Conditions widened and narrowed, guards and base cases added, branches exchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.operators.compare import conditions_of
from runtime.models.local.operators.ingredients import pool
from runtime.models.local.operators.statements import _is_docstring, _step_of, insertion
from runtime.models.local.site import NUMBERS, Operator, Site
from runtime.models.local.source import FUNCTIONS, Edit


def atoms(site: Site) -> list[tuple[str, float]]:
    """Simple conditions worth adding: those of the function's own, then tests of its variables, by type."""
    found: dict[str, float] = {}
    for test in conditions_of(site):
        for part in [test, *(test.values if isinstance(test, ast.BoolOp) else [])]:
            text = site.source.text_of(part)
            if isinstance(part, ast.BoolOp):
                text = f"({text})"
            if "\n" not in text:
                found[text] = 0.3
    numbers = [n.value for n in site.nodes if isinstance(n, ast.Constant) and type(n.value) is int]
    values = list(dict.fromkeys([0, 1, *numbers]))[:4]
    for name in site.names[:8]:
        kinds = {word.partition("[")[0] for word in site.types.get(name, ())}
        if kinds & NUMBERS or not kinds:
            for value in values:
                for sign in ("==", "<", ">", "<=", "!="):
                    found.setdefault(f"{name} {sign} {value}", 0.2 if kinds else 0.08)
            found.setdefault(f"{name} % 2 == 0", 0.08)
        if not kinds & NUMBERS:
            found.setdefault(f"not {name}", 0.25)
            found.setdefault(name, 0.2)
            found.setdefault(f"{name} is None", 0.2 if "NoneType" in kinds else 0.1)
            found.setdefault(f"{name} is not None", 0.15)
            found.setdefault(f"len({name}) == 1", 0.1)
        for other in site.names[:8]:
            theirs = {word.partition("[")[0] for word in site.types.get(other, ())}
            if other == name:
                continue
            if kinds & theirs & (NUMBERS | {"str"}) or not kinds or not theirs:
                for sign in ("==", "!=", "<", ">", "<=", ">="):
                    found.setdefault(f"{name} {sign} {other}", 0.2 if kinds & theirs else 0.05)
            if theirs & {"list", "set", "dict", "str", "tuple"} and kinds:
                found.setdefault(f"{name} in {other}", 0.14)
                found.setdefault(f"{name} not in {other}", 0.16)
            if theirs & {"list", "str", "tuple"} and "int" in kinds:
                found.setdefault(f"{name} < len({other})", 0.15)
    for text, held in pool(site)[:24]:
        for other in site.names[:8]:
            theirs = {word.partition("[")[0] for word in site.types.get(other, ())}
            if held and theirs & {"list", "set", "dict", "tuple", "str"} and not text.startswith((f"{other}[", "len(")):
                found.setdefault(f"{text} not in {other}", 0.13)
                found.setdefault(f"{text} in {other}", 0.1)
    for attribute in _attributes(site)[:6]:
        found.setdefault(f"not {attribute}", 0.15)
        found.setdefault(attribute, 0.12)
        found.setdefault(f"{attribute} is not None", 0.12)
    return sorted(found.items(), key=lambda item: -item[1])


def _attributes(site: Site) -> list[str]:
    found: dict[str, None] = {}
    for node in site.loads:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            parent = site.source.parents.get(node)
            if not (isinstance(parent, ast.Call) and parent.func is node):
                found.setdefault(site.source.text_of(node))
    return list(found)


def widened(site: Site) -> Iterator[Candidate]:
    """A further condition joined by `and` or `or`; always true, always false."""
    source = site.source
    more = atoms(site)
    for test in conditions_of(site):
        own = source.text_of(test)
        parts = {own, *(source.text_of(v) for v in getattr(test, "values", []))}
        for text, prior in more[:60]:
            if text in parts:
                continue
            for word in ("and", "or"):
                left = f"({own})" if isinstance(test, ast.BoolOp | ast.IfExp | ast.Lambda) and (
                    not isinstance(test, ast.BoolOp) or isinstance(test.op, ast.Or) == (word == "and")
                ) else own  # fmt: skip
                yield site.swap(test, f"{left} {word} {text}", f"condition joined by {word}", prior * 0.8)
                if word == "and" and prior >= 0.2:
                    yield site.swap(test, f"{text} {word} {left}", f"condition joined by {word}", prior * 0.5)
            yield site.swap(test, text, "condition", prior * 0.55)
        if not isinstance(source.parents.get(test), ast.Return):
            yield site.swap(test, "True", "condition always true", 0.2, compound=False, removes=True)
            yield site.swap(test, "False", "condition always false", 0.12, compound=False, removes=True)


def results(site: Site) -> list[str]:
    """What a guard may return: the function's own results, its names, empty values, what the failing tests expect."""
    found: dict[str, None] = {}
    for node in site.nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            text = site.source.text_of(node.value)
            if "\n" not in text and len(text) < 60:
                found.setdefault(text)
    kinds = {word.partition("[")[0] for word in site.types.get("return", ())}
    for text, kind in (
        ("0", "int"),
        ("1", "int"),
        ("False", "bool"),
        ("True", "bool"),
        ("[]", "list"),
        ('""', "str"),
        ("None", ""),
    ):
        if not kinds or kind in kinds or kind == "":
            found.setdefault(text)
    for name in site.names[:5]:
        found.setdefault(name)
    if "list" in kinds or not kinds:
        found.setdefault("[[]]")
    for number in site.harvest.ints[:3]:
        if "int" in kinds:
            found.setdefault(str(number))
    if "str" in kinds:
        for string in site.harvest.strings[:6]:
            found.setdefault(repr(string))
    return list(found)


def guards(site: Site) -> Iterator[Candidate]:
    """`if condition: return result` (or raise, continue) at a beginning."""
    if isinstance(site.node, ast.Module):
        return
    step = _step_of(site)
    tests = atoms(site)[:24]
    returns = results(site)[:10]
    inner = [n for n in ast.walk(site.node) if isinstance(n, FUNCTIONS)]
    for function in inner:
        body = function.body
        at = 1 if _is_docstring(body[0]) and len(body) > 1 else 0
        for text, prior in tests:
            for rank, result in enumerate(returns):
                guard = f"if {text}:\n{step}return {result}"
                yield from insertion(site, body, at, guard, "early return added", prior * (0.55 - 0.03 * rank))
            for name in site.harvest.exceptions[:3]:
                guard = f"if {text}:\n{step}raise {name}"
                yield from insertion(site, body, at, guard, "check added", prior * 0.6)
    for loop in site.nodes:
        if isinstance(loop, ast.For | ast.While):
            for text, prior in tests[:20]:
                yield from insertion(site, loop.body, 0, f"if {text}:\n{step}continue", "check added", prior * 0.4)
                yield from insertion(
                    site, loop.body, len(loop.body), f"if {text}:\n{step}break", "check added", prior * 0.25
                )
                for result in returns[:4]:
                    guard = f"if {text}:\n{step}return {result}"
                    yield from insertion(site, loop.body, 0, guard, "early return added", prior * 0.25)
    yield from _guarded(site, step, tests[:20])


def _guarded(site: Site, step: str, tests: list[tuple[str, float]]) -> Iterator[Candidate]:
    """A simple statement put under a condition."""
    source = site.source
    for node in site.nodes:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return) and not _is_docstring(node):
            place = source.whole_lines(node)
            if place is None or isinstance(source.parents.get(node), ast.Module):
                continue
            text = source.text[place[0] : place[1]]
            indent = source.indent_of(node)
            if not text.endswith(("\n", "\r")):
                continue
            for test, prior in tests:
                new = f"{indent}if {test}:{source.newline}" + text.replace(indent, indent + step, 1)
                if text.count(source.newline) == 1:
                    yield site.make(Edit(source.path, *place, new), "put under a condition", prior * 0.7, node.lineno)


def branches(site: Site) -> Iterator[Candidate]:
    """Branches exchanged, `elif` made `if` and the other way, one branch of a conditional expression."""
    source = site.source
    for node in site.nodes:
        if isinstance(node, ast.IfExp):
            body, test, other = (source.text_of(x) for x in (node.body, node.test, node.orelse))
            yield site.swap(node, f"{other} if {test} else {body}", "branches exchanged", 0.4)
            yield site.swap(node, body, "branch dropped", 0.2, removes=True)
            yield site.swap(node, other, "branch dropped", 0.2, removes=True)
        elif isinstance(node, ast.If):
            start = source.span(node)[0]
            if source.text.startswith("elif", start):
                yield site.make(Edit(source.path, start, start + 4, "if"), "elif made if", 0.3, node.lineno)
            parent = source.parents.get(node)
            block = next((b for b in source.blocks(parent) if node in b), []) if parent else []
            at = block.index(node) if node in block else 0
            if at and isinstance(block[at - 1], ast.If) and not source.text.startswith("elif", start):
                yield site.make(Edit(source.path, start, start + 2, "elif"), "if made elif", 0.35, node.lineno)
        elif isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
            start = source.span(node)[0]
            yield site.make(Edit(source.path, start, start + 5, "if"), "loop made condition", 0.15, node.lineno)
        if isinstance(node, ast.If) and not node.orelse:
            start = source.span(node)[0]
            if not source.text.startswith("elif", start):
                yield site.make(Edit(source.path, start, start + 2, "while"), "condition made loop", 0.3, node.lineno)


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (widened, guards, branches)
