"""Subscripts and slices: other ends, reversed, first and last, a subscript added or taken away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import SEQUENCES, Operator, Site
from runtime.models.local.source import Edit


def bounds(site: Site) -> Iterator[Candidate]:
    """Another lower or upper end, none, another step; another index."""
    source = site.source
    for node in site.loads:
        if not isinstance(node, ast.Subscript):
            continue
        base = source.operand(node.value)
        cut = node.slice
        if isinstance(cut, ast.Slice):
            low, high, step = (source.text_of(p) if p is not None else "" for p in (cut.lower, cut.upper, cut.step))
            tail = f":{step}" if step else ""
            for a, b, c, prior in _other_slices(site, low, high, step, tail):
                if (a, b, c) != (low, high, tail):
                    yield site.swap(node, f"{base}[{a}:{b}{c}]", "slice", prior, compound=False)
            yield site.swap(node, base, "slice dropped", 0.25, compound=False, removes=True)
        else:
            text = source.text_of(cut)
            for other, prior in (("0", 0.3), ("-1", 0.35), ("1", 0.25), (f"-{source.operand(cut)}", 0.15), (f"{text} + 1:", 0.2),
                                 (f":{text}", 0.2), (f"{text}:", 0.25), (f"{text} % len({base})", 0.15)):  # fmt: skip
                if other != text:
                    yield site.swap(node, f"{base}[{other}]", "index", prior, compound=False)
            yield site.swap(node, base, "index dropped", 0.2, compound=False, removes=True)
            for name in site.names[:8]:
                if "int" in site.types.get(name, ("int",)) and name != text:
                    yield site.swap(node, f"{base}[{name}]", "index", 0.2, compound=False)
                    yield site.swap(node, f"{base}[{text}][{name}]", "index", 0.06, compound=False)


def _other_slices(site: Site, low: str, high: str, step: str, tail: str) -> Iterator[tuple[str, str, str, float]]:
    yield low, "", tail, 0.3
    yield "", high, tail, 0.3
    yield high, low, tail, 0.25
    for name in ("1", "-1", "2", "0", *site.names[:6]):
        yield name, high, tail, 0.22
        yield low, name, tail, 0.22
        yield f"{name} + 1", high, tail, 0.12
        yield low, f"{name} + 1", tail, 0.15
    if step:
        yield low, high, "", 0.3
        yield low, high, f":-{step}", 0.2
    else:
        yield low, high, ":-1", 0.25
        yield low, high, ":2", 0.15


def added(site: Site) -> Iterator[Candidate]:
    """A subscript or slice after an expression that has none."""
    source = site.source
    for node in site.loads:
        parent = source.parents.get(node)
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            continue
        if isinstance(parent, ast.Subscript | ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node):
            continue
        if not site.may_be(node, SEQUENCES):
            continue
        prior = 1.0 if site.kinds_of(node) & SEQUENCES else 0.4
        base = source.operand(node)
        for form, weight in (("[1:]", 0.3), ("[:-1]", 0.3), ("[0]", 0.3), ("[-1]", 0.25), ("[::-1]", 0.3), ("[1]", 0.15), ("[:]", 0.2), ("[::2]", 0.1), ("[1::2]", 0.08)):  # fmt: skip
            yield site.swap(node, base + form, "slice added", weight * prior, compound=False)
        for name in site.names[:6]:
            if "int" in site.types.get(name, ("int",)):
                yield site.swap(node, f"{base}[{name}]", "index added", 0.15 * prior, compound=False)
                yield site.swap(node, f"{base}[{name}:]", "slice added", 0.12 * prior, compound=False)
                yield site.swap(node, f"{base}[:{name}]", "slice added", 0.12 * prior, compound=False)


def concatenated(site: Site) -> Iterator[Candidate]:
    """Something more put before or after a list or a string that is returned, stored or passed on."""
    source = site.source
    for node in site.loads:
        parent = source.parents.get(node)
        if not isinstance(parent, ast.Return | ast.Assign | ast.Call | ast.Yield) or isinstance(node, ast.Constant):
            continue
        if isinstance(parent, ast.Call) and (parent.func is node or parent.func == node):
            continue
        kinds = site.kinds_of(node)
        text = source.operand(node)
        if kinds & {"list"} or (not kinds and isinstance(parent, ast.Return)):
            for name in site.names[:8]:
                theirs = {word.partition("[")[0] for word in site.types.get(name, ())}
                other = name if "list" in theirs else f"[{name}]"
                yield site.swap(node, f"{text} + {other}", "joined", 0.18)
                yield site.swap(node, f"{other} + {text}", "joined", 0.18)
        if kinds & {"str"}:
            for name in site.names[:8]:
                if "str" in site.types.get(name, ("str",)):
                    yield site.swap(node, f"{text} + {name}", "joined", 0.18)
                    yield site.swap(node, f"{name} + {text}", "joined", 0.14)
        if kinds & {"int", "float"} or not kinds:
            for name in site.names[:8]:
                if site.types.get(name, ["int"])[0] in ("int", "float"):
                    for sign, prior in (("+", 0.2), ("-", 0.16), ("*", 0.1)):
                        yield site.swap(node, f"{text} {sign} {name}", "term added", prior)


def elements(site: Site) -> Iterator[Candidate]:
    """Lists and tuples with one element less or nested once more or less."""
    source = site.source
    for node in site.loads:
        if not isinstance(node, ast.List | ast.Tuple):
            continue
        if not node.elts and isinstance(node, ast.List):
            for text in ("[[]]", "[0]", "[1]", "None", "{}", "set()", "[None]", '""'):
                yield site.swap(node, text, "initial value", 0.15, compound=False)
            for name in site.names[:6]:
                yield site.swap(node, f"[{name}]", "initial value", 0.15, compound=False)
        if len(node.elts) >= 2:
            for at, element in enumerate(node.elts):
                start = source.span(node.elts[at - 1])[1] if at else source.span(element)[0]
                end = source.span(element)[1] if at else source.span(node.elts[1])[0]
                yield site.make(Edit(source.path, start, end, ""), "element dropped", 0.15, node.lineno, removes=True)
        if len(node.elts) == 1 and isinstance(node, ast.List):
            yield site.swap(node, source.text_of(node.elts[0]), "list dropped", 0.25, removes=True)
            yield site.swap(node, "[]", "element dropped", 0.2, compound=False, removes=True)
            yield site.swap(node, f"[{source.text_of(node)}]", "list added", 0.1, compound=False)


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (bounds, added, concatenated, elements)
