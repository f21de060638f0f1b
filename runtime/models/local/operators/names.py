"""Names: another variable, attribute or function in scope; the same one exchanged everywhere in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import BUILTINS, NUMBERS, Operator, Site
from runtime.models.local.source import Edit

MAX_NAMES = 14


def variables(site: Site) -> Iterator[Candidate]:
    """Another variable in a variable's place, one of a type that was seen there first."""
    called = {id(node.func) for node in site.nodes if isinstance(node, ast.Call)}
    for node in site.loads:
        if not isinstance(node, ast.Name) or id(node) in called:
            continue
        if node.id in BUILTINS or (node.id in site.globals and node.id not in site.names):
            continue
        kinds = site.kinds_of(node)
        for at, other in enumerate(site.names[:MAX_NAMES]):
            if other == node.id:
                continue
            theirs = frozenset(word.partition("[")[0] for word in site.types.get(other, ()))
            alike = kinds & theirs or (kinds & NUMBERS and theirs & NUMBERS)
            prior = 0.5 if alike else 0.35 if not kinds or not theirs else 0.16
            yield site.swap(node, other, "variable", prior * (1 - at * 0.01), compound=False)


def stores(site: Site) -> Iterator[Candidate]:
    """Another target of an assignment or an update."""
    for node in site.nodes:
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    for other in site.names[:MAX_NAMES]:
                        if other != target.id:
                            edit = Edit(site.source.path, *site.source.span(target), other)
                            yield site.make(edit, "assigned variable", 0.3, node.lineno)
                if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                    texts = [site.source.text_of(e) for e in target.elts]
                    edit = Edit(site.source.path, *site.source.span(target), f"{texts[1]}, {texts[0]}")
                    yield site.make(edit, "exchanged", 0.25, node.lineno)
    for node in site.loads:
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:
            a, b = (site.source.text_of(e) for e in node.elts)
            if a != b:
                start, end = site.source.span(node.elts[0])[0], site.source.span(node.elts[1])[1]
                yield site.make(Edit(site.source.path, start, end, f"{b}, {a}"), "exchanged", 0.45, node.lineno)


def attributes(site: Site) -> Iterator[Candidate]:
    """Another attribute that is known of the same object, none, or one more."""
    source = site.source
    known: dict[str, dict[str, None]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            called = isinstance(source.parents.get(node), ast.Call) and source.parents[node].func is node  # type: ignore[attr-defined]
            known.setdefault(f"{node.value.id}{'()' if called else ''}", {}).setdefault(node.attr)
    everything = {name: None for key, names in known.items() if not key.endswith("()") for name in names}
    for node in site.loads:
        parent = source.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        if isinstance(node, ast.Attribute):
            base = node.value.id if isinstance(node.value, ast.Name) else ""
            if base in site.globals and base not in site.names:
                continue
            near = known.get(f"{base}()" if called else base, {})
            for attr in list(near)[:16]:
                if attr != node.attr:
                    yield site.swap(node, f"{source.operand(node.value)}.{attr}", "attribute", 0.45, compound=False)
            if not called:
                for attr in list(everything)[:24]:
                    if attr != node.attr and attr not in near:
                        yield site.swap(node, f"{source.operand(node.value)}.{attr}", "attribute", 0.15, compound=False)
                yield site.swap(
                    node, source.operand(node.value), "attribute dropped", 0.2, compound=False, removes=True
                )
            if base == "self" and not called and node.attr in site.names:
                yield site.swap(node, node.attr, "attribute", 0.3, compound=False)
        elif (
            isinstance(node, ast.Name)
            and not called
            and node.id in site.names
            and not isinstance(parent, ast.Attribute)
        ):
            for attr in list(known.get(node.id, everything))[:10]:
                prior = 0.22 if node.id in known else 0.06
                yield site.swap(node, f"{node.id}.{attr}", "attribute", prior, compound=False)
            if node.id in known.get("self", {}):
                yield site.swap(node, f"self.{node.id}", "attribute", 0.4, compound=False)


def constants_as_names(site: Site) -> Iterator[Candidate]:
    """A variable in a constant's place and a constant in a variable's."""
    for node in site.loads:
        if isinstance(node, ast.Constant) and type(node.value) in (int, str, bool, type(None), float):
            for at, other in enumerate(site.names[:8]):
                theirs = frozenset(word.partition("[")[0] for word in site.types.get(other, ()))
                prior = 0.25 if type(node.value).__name__ in theirs else 0.12
                yield site.swap(node, other, "variable", prior - at * 0.005, compound=False)
        elif isinstance(node, ast.Name) and node.id in site.names:
            kinds = site.kinds_of(node)
            if "int" in kinds or not kinds:
                for text, prior in (("0", 0.2), ("1", 0.2)):
                    yield site.swap(node, text, "constant", prior, compound=False)


def everywhere(site: Site) -> Iterator[Candidate]:
    """One variable exchanged for another, or one number, at all places of the function."""
    uses: dict[str, list[ast.Name]] = {}
    for node in site.loads:
        if isinstance(node, ast.Name) and node.id in site.names:
            uses.setdefault(node.id, []).append(node)
    for name, places in uses.items():
        if len(places) < 2:
            continue
        for other in site.names[:10]:
            if other != name:
                edits = [site.source.replace(node, other, compound=False) for node in places]
                yield site.make(edits, "variable, at all places", 0.08, places[0].lineno)
    numbers: dict[object, list[ast.Constant]] = {}
    for node in site.loads:
        if isinstance(node, ast.Constant) and type(node.value) in (int, str, float):
            numbers.setdefault(node.value, []).append(node)
    for value, found in numbers.items():
        if len(found) >= 2 and type(value) is int:
            for new in (value + 1, value - 1):
                edits = [site.source.replace(node, str(new), compound=new < 0) for node in found]
                yield site.make(edits, "number, at all places", 0.15, found[0].lineno)
    yield from _operators_everywhere(site)


def _operators_everywhere(site: Site) -> Iterator[Candidate]:
    """The same comparison boundary moved at every place where it stands, and two opposite ones exchanged."""
    signs = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
    found: dict[type[ast.cmpop], list[Edit]] = {}
    flips: list[Edit] = []
    for node in site.loads:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in signs:
            kind = type(node.ops[0])
            word, other = signs[kind]
            start, end = site.source.span(node.left)[1], site.source.span(node.comparators[0])[0]
            where = site.source.text.find(word, start, end)
            found.setdefault(kind, []).append(Edit(site.source.path, where, where + len(word), other))
            flip = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}[word]
            flips.append(Edit(site.source.path, where, where + len(word), flip))
    for edits in [*found.values(), flips]:
        if len(edits) >= 2:
            yield site.make(edits, "comparison, at all places", 0.25, site.source.line_of(edits[0].start))


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (variables, stores, attributes, constants_as_names, everywhere)
