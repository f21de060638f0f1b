"""What stands elsewhere in the function, or follows from its variables' types, put in an expression's place or beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import NUMBERS, SEQUENCES, Operator, Site
from runtime.models.local.source import Edit

MAX_TEXT = 48
_NORMALS: tuple[tuple[str, float, frozenset[str]], ...] = (
    ("set({})", 0.4, SEQUENCES), ("sorted({})", 0.45, SEQUENCES | {"set"}), ("{}.lower()", 0.45, frozenset({"str"})),
    ("len({})", 0.3, SEQUENCES | {"set", "dict"}), ("abs({})", 0.35, NUMBERS), ("{}.strip()", 0.3, frozenset({"str"})),
    ("int({})", 0.25, frozenset({"str", "float"})), ("str({})", 0.25, NUMBERS), ("sum({})", 0.2, frozenset({"list", "tuple"})),
    ("list({})", 0.2, frozenset({"tuple", "set", "range", "iterator"})), ("type({})", 0.08, frozenset()), ("{}[::-1]", 0.1, frozenset({"str", "list"})),
)  # fmt: skip


def _kinds(site: Site, name: str) -> frozenset[str]:
    return frozenset(word.partition("[")[0] for word in site.types.get(name, ()))


def pool(site: Site) -> list[tuple[str, frozenset[str]]]:
    """Expressions of the function and items of its variables, with the types they may have; shortest first."""
    found: dict[str, frozenset[str]] = {}
    for node in site.loads:
        if isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.BinOp | ast.UnaryOp):
            parent = site.source.parents.get(node)
            if isinstance(parent, ast.Expr) or (isinstance(parent, ast.Call) and parent.func is node):
                continue
            text = site.source.text_of(node)
            if len(text) <= MAX_TEXT and "\n" not in text:
                found.setdefault(text, site.kinds_of(node))
    for base in site.names[:10]:
        for words in site.types.get(base, ()):
            outer, _, inner = words.partition("[")
            item = (
                frozenset({inner.rstrip("]").rpartition(",")[2]})
                if inner
                else frozenset({"str"} if outer == "str" else ())
            )
            if outer in ("list", "tuple", "str"):
                for index in site.names[:10]:
                    if "int" in _kinds(site, index):
                        found.setdefault(f"{base}[{index}]", item)
                found.setdefault(f"len({base})", frozenset({"int"}))
                for text in ("0", "-1"):
                    found.setdefault(f"{base}[{text}]", item)
            elif outer in ("dict", "defaultdict", "Counter"):
                for index in site.names[:10]:
                    if index != base and _kinds(site, index) & {inner.partition(",")[0]}:
                        found.setdefault(f"{base}[{index}]", item)
    return sorted(found.items(), key=lambda pair: len(pair[0]))[:60]


def replaced(site: Site) -> Iterator[Candidate]:
    """Another expression of the function in an expression's place, of its type where that is known."""
    others = pool(site)
    standing = {site.source.text_of(node) for node in site.loads}
    for node in site.loads:
        parent = site.source.parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            continue
        if isinstance(parent, ast.Attribute) or not isinstance(
            node, ast.Name | ast.Constant | ast.Call | ast.Subscript | ast.Attribute | ast.BinOp
        ):
            continue
        own, kinds = site.source.text_of(node), site.kinds_of(node)
        for text, theirs in others:
            if text == own or (isinstance(node, ast.Name) and f"{own}[" in text and isinstance(parent, ast.Subscript)):
                continue
            alike = bool(kinds & theirs) or bool(kinds & NUMBERS and theirs & NUMBERS)
            if kinds and theirs and not alike:
                continue
            prior = 0.2 if alike else 0.1
            if text not in standing:
                # Made up, not found: it fits by chance more often.
                prior *= 0.6 if text[-2].isalpha() or text.startswith("len(") else 0.35
            if isinstance(node, ast.Constant):
                prior *= 0.7
            yield site.swap(node, text, "expression", prior)


def parts(site: Site) -> Iterator[Candidate]:
    """An expression replaced by one that stands deeper inside it."""
    for node in site.loads:
        if not isinstance(node, ast.BinOp | ast.Call | ast.BoolOp | ast.IfExp | ast.Subscript):
            continue
        parent = site.source.parents.get(node)
        if isinstance(parent, ast.Expr):
            continue
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        for depth in (2, 3):
            children = [g for c in children for g in ast.iter_child_nodes(c) if isinstance(g, ast.expr)]
            for inner in children:
                if isinstance(inner, ast.BinOp | ast.Call | ast.Name | ast.Subscript | ast.Attribute):
                    text = site.source.text_of(inner)
                    yield site.swap(node, text, "part kept", 0.16 if depth == 2 else 0.08, removes=True)


def both_sides(site: Site) -> Iterator[Candidate]:
    """The same call put around both sides of a comparison, or around both arguments of a call."""
    source = site.source
    for node in site.loads:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = [node.left, node.comparators[0]]
        elif isinstance(node, ast.Call) and len(node.args) == 2:
            sides = node.args
        elif isinstance(node, ast.BinOp):
            sides = [node.left, node.right]
        else:
            continue
        if any(isinstance(side, ast.Constant | ast.Starred) for side in sides):
            continue
        for form, prior, wanted in _NORMALS:
            if any(site.kinds_of(side) and wanted and not site.kinds_of(side) & wanted for side in sides):
                continue
            method = form.startswith("{}")
            texts = [form.format(source.operand(side) if method else source.text_of(side)) for side in sides]
            edits = [Edit(source.path, *source.span(side), text) for side, text in zip(sides, texts, strict=True)]
            weight = prior if isinstance(node, ast.Compare) else prior * 0.4
            yield site.make(edits, "both sides", weight, node.lineno)


def combined(site: Site) -> Iterator[Candidate]:
    """A term of the function's variables added to a number, or the larger or smaller of two."""
    source = site.source
    terms = [name for name in site.names[:10] if _kinds(site, name) & {"int", "float"}]
    terms += [text for text, kinds in pool(site) if kinds & {"int", "float"}][:8]
    for node in site.loads:
        parent = source.parents.get(node)
        if not site.kinds_of(node) & {"int", "float"} or isinstance(node, ast.BinOp | ast.Constant):
            continue
        if not isinstance(
            parent, ast.Return | ast.Assign | ast.AugAssign | ast.Compare | ast.Call | ast.Subscript | ast.Slice
        ):
            continue
        own = source.text_of(node)
        for term in terms:
            if term == own:
                continue
            for sign, prior in (("+", 0.16), ("-", 0.16), ("*", 0.1), ("%", 0.06), ("//", 0.04)):
                yield site.swap(node, f"{own} {sign} {term}", "term added", prior)
            if isinstance(parent, ast.Return | ast.Assign | ast.Call):
                yield site.swap(node, f"max({own}, {term})", "extreme", 0.1, compound=False)
                yield site.swap(node, f"min({own}, {term})", "extreme", 0.1, compound=False)


def ordered(site: Site) -> Iterator[Candidate]:
    """A sequence sorted by a table of the function's, by a key or backwards where it wasn't sorted at all."""
    source = site.source
    tables = [n for n in [*site.names, *site.globals] if _kinds(site, n) & {"dict", "Counter", "defaultdict"}]
    keys = [*(f"{table}.get" for table in tables), "len", "abs", "str.lower", "lambda x: x[0]", "lambda x: x[1]"]
    for node in site.loads:
        parent = source.parents.get(node)
        if not isinstance(parent, ast.Return | ast.Assign | ast.Call | ast.For) or isinstance(
            node, ast.Constant | ast.Lambda
        ):
            continue
        if isinstance(parent, ast.Call) and (parent.func is node or getattr(parent.func, "id", "") == "sorted"):
            continue
        if not site.kinds_of(node) & (SEQUENCES | {"set", "dict"}) - {"str"}:
            continue
        own = source.text_of(node)
        for key in keys:
            prior = 0.25 if key.endswith(".get") else 0.08
            yield site.swap(node, f"sorted({own}, key={key})", "sorted", prior, compound=False)
        yield site.swap(node, f"sorted({own}, reverse=True)", "sorted", 0.2, compound=False)
        yield site.swap(node, f"sorted(set({own}))", "sorted", 0.15, compound=False)
        yield site.swap(node, f"list(set({own}))", "distinct", 0.08, compound=False)
        yield site.swap(node, f"list(dict.fromkeys({own}))", "distinct", 0.1, compound=False)


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (replaced, parts, both_sides, combined, ordered)
