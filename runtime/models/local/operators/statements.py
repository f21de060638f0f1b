"""Statements: left out, moved, copied, put elsewhere in the nesting, returns and guards added."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import Operator, Site
from runtime.models.local.source import FUNCTIONS, Edit, first_line

STEP = "    "


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _step_of(site: Site) -> str:
    for block in site.source.blocks(site.source.tree):
        indent = site.source.indent_of(block[0])
        if indent:
            return "\t" if indent[0] == "\t" else indent if len(indent) <= 8 else STEP
    return STEP


def _lines(site: Site, statement: ast.stmt) -> str | None:
    place = site.source.whole_lines(statement)
    if place is None:
        return None
    text = site.source.text[place[0] : place[1]]
    return text if text.endswith(("\n", "\r")) else text + site.source.newline


def reindent(site: Site, text: str, old: str, new: str) -> str:
    """Lines moved from one indentation to another; lines that don't have the old one stay as they are."""
    lines = text.splitlines(keepends=True)
    return "".join(new + line[len(old) :] if line.startswith(old) else line for line in lines)


def deletions(site: Site) -> Iterator[Candidate]:
    """A statement left out; an `if` left out but its body kept."""
    source = site.source
    for block in source.blocks(site.node):
        for statement in block:
            if _is_docstring(statement) or isinstance(statement, (*FUNCTIONS, ast.Import, ast.ImportFrom, ast.Pass)):
                continue
            span = source.span(statement)
            place = source.whole_lines(statement)
            prior = 0.25 if not isinstance(statement, ast.For | ast.While) else 0.1
            if len(block) == 1 or place is None:
                yield site.make(
                    Edit(source.path, *span, "pass"), "statement deleted", prior * 0.6, statement.lineno, removes=True
                )
            else:
                yield site.make(
                    Edit(source.path, *place, ""), "statement deleted", prior, statement.lineno, removes=True
                )
            if isinstance(statement, ast.If | ast.With | ast.For | ast.While | ast.Try):
                yield from _unwrapped(site, statement)


def _unwrapped(site: Site, statement: ast.If | ast.With | ast.For | ast.While | ast.Try) -> Iterator[Candidate]:
    source = site.source
    place = source.whole_lines(statement)
    if place is None or source.text[source.span(statement)[0] :].startswith("elif"):
        return
    bodies = [statement.body, getattr(statement, "orelse", [])]
    for body in bodies:
        texts = [_lines(site, inner) for inner in body]
        if not body or any(text is None for text in texts):
            continue
        moved = reindent(site, "".join(t for t in texts if t), source.indent_of(body[0]), source.indent_of(statement))
        yield site.make(Edit(source.path, *place, moved), "condition deleted", 0.25, statement.lineno, removes=True)


def moves(site: Site) -> Iterator[Candidate]:
    """A statement exchanged with its neighbour, moved out of or into the block beside it."""
    source = site.source
    for block in source.blocks(site.node):
        for at, statement in enumerate(block):
            place = source.whole_lines(statement)
            own = _lines(site, statement)
            if place is None or own is None or _is_docstring(statement):
                continue
            if at + 1 < len(block):
                other = source.whole_lines(block[at + 1])
                text = _lines(site, block[at + 1])
                if other is not None and text is not None and not isinstance(statement, ast.FunctionDef):
                    edits = [Edit(source.path, *place, text), Edit(source.path, *other, own)]
                    yield site.make(edits, "statements exchanged", 0.35, statement.lineno)
            yield from _out(site, block, at, place, own)
            yield from _into(site, block, at, place, own)


def _out(site: Site, block: list[ast.stmt], at: int, place: tuple[int, int], own: str) -> Iterator[Candidate]:
    """The last statement of a block dedented to after it; the first one to before it."""
    source = site.source
    statement = block[at]
    outer = source.parents.get(statement)
    if not isinstance(outer, ast.stmt) or isinstance(outer, (*FUNCTIONS, ast.ClassDef)):
        return
    around = source.whole_lines(outer)
    if around is None:
        return
    moved = reindent(site, own, source.indent_of(statement), source.indent_of(outer))
    if at == len(block) - 1:
        rest = (
            [Edit(source.path, *place, "")] if len(block) > 1 else [Edit(source.path, *source.span(statement), "pass")]
        )
        if place[1] == around[1] and len(block) > 1:
            yield site.make(Edit(source.path, *place, moved), "statement moved out", 0.5, statement.lineno)
        else:
            yield site.make(
                [*rest, Edit(source.path, around[1], around[1], moved)], "statement moved out", 0.4, statement.lineno
            )
    if at == 0 and len(block) > 1:
        edits = [Edit(source.path, around[0], around[0], moved), Edit(source.path, *place, "")]
        yield site.make(edits, "statement moved out", 0.35, statement.lineno)


def _into(site: Site, block: list[ast.stmt], at: int, place: tuple[int, int], own: str) -> Iterator[Candidate]:
    """A statement after a block moved into its end; one before it into its beginning."""
    source = site.source
    statement = block[at]
    if at and isinstance(block[at - 1], ast.For | ast.While | ast.If | ast.With):
        before = block[at - 1]
        last = before.orelse or before.body if isinstance(before, ast.If) else before.body  # type: ignore[attr-defined]
        inner = source.indent_of(last[-1])
        moved = reindent(site, own, source.indent_of(statement), inner)
        yield site.make(Edit(source.path, *place, moved), "statement moved in", 0.4, statement.lineno)
        deeper = last[-1]
        while isinstance(deeper, ast.For | ast.While | ast.If | ast.With) and deeper.body:
            deeper = deeper.body[-1]
            moved = reindent(site, own, source.indent_of(statement), source.indent_of(deeper))
            yield site.make(Edit(source.path, *place, moved), "statement moved in", 0.25, statement.lineno)
    if at + 1 < len(block) and isinstance(block[at + 1], ast.For | ast.While | ast.If | ast.With):
        after = block[at + 1]
        first = after.body[0]  # type: ignore[attr-defined]
        target = source.whole_lines(first)
        if target is not None:
            moved = reindent(site, own, source.indent_of(statement), source.indent_of(first))
            edits = [Edit(source.path, *place, ""), Edit(source.path, target[0], target[0], moved)]
            yield site.make(edits, "statement moved in", 0.35, statement.lineno)


def copies(site: Site) -> Iterator[Candidate]:
    """A simple statement of the function put in once more elsewhere."""
    source = site.source
    simple: dict[str, ast.stmt] = {}
    for node in site.nodes:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return) and not _is_docstring(node):
            text = source.text_of(node)
            if "\n" not in text:
                simple.setdefault(text, node)
    for text, origin in list(simple.items())[:14]:
        for block, at in _gaps(site):
            around = [source.text_of(s) for s in block[max(0, at - 1) : at + 1]]
            if text in around:
                continue
            prior = 0.2 if not isinstance(origin, ast.Return) else 0.15
            yield from insertion(site, block, at, text, "statement copied", prior)


def _gaps(site: Site) -> Iterator[tuple[list[ast.stmt], int]]:
    for block in site.source.blocks(site.node):
        for at in range(len(block) + 1):
            if at == 0 and _is_docstring(block[0]):
                continue
            if at and isinstance(block[at - 1], ast.Return | ast.Raise | ast.Break | ast.Continue):
                continue
            yield block, at


def insertion(
    site: Site, block: list[ast.stmt], at: int, text: str, operator: str, prior: float
) -> Iterator[Candidate]:
    """Put a statement (lines without indentation) before `block[at]`, or at the block's end."""
    source = site.source
    beside = block[at] if at < len(block) else block[-1]
    place = source.whole_lines(beside)
    if place is None or source.text[source.span(beside)[0] :].startswith("elif"):
        return
    indent = source.indent_of(beside)
    body = "".join(indent + line + source.newline for line in text.split("\n"))
    where = place[0] if at < len(block) else place[1]
    if where == len(source.text) and not source.text.endswith(("\n", "\r")):
        body = source.newline + body
    yield site.make(Edit(source.path, where, where, body), operator, prior, first_line(beside))


def insertions(site: Site) -> Iterator[Candidate]:
    """break, continue, return, an update or a stored value added."""
    names = site.names[:8]
    in_loop = {id(s) for n in site.nodes if isinstance(n, ast.For | ast.While) for s in ast.walk(n)}
    for block, at in _gaps(site):
        beside = block[min(at, len(block) - 1)]
        parent = site.source.parents.get(beside)
        last = at == len(block)
        if id(beside) in in_loop:
            looping = isinstance(parent, ast.For | ast.While)
            if last and not looping:
                yield from insertion(site, block, at, "break", "break added", 0.3)
                yield from insertion(site, block, at, "continue", "continue added", 0.2)
            for name in names:
                if site.types.get(name, ["int"])[0] == "int":
                    yield from insertion(site, block, at, f"{name} += 1", "update added", 0.15)
                    yield from insertion(site, block, at, f"{name} -= 1", "update added", 0.08)
        for name in names:
            if isinstance(parent, (ast.If, *FUNCTIONS)) and last:
                yield from insertion(site, block, at, f"return {name}", "return added", 0.2)
            kinds = {word.partition("[")[0] for word in site.types.get(name, ())}
            for value in names[:6]:
                if value == name:
                    continue
                if "list" in kinds:
                    yield from insertion(site, block, at, f"{name}.append({value})", "value stored", 0.12)
                if "set" in kinds:
                    yield from insertion(site, block, at, f"{name}.add({value})", "value stored", 0.3)
                yield from insertion(site, block, at, f"{name} = {value}", "assignment added", 0.06)
                if kinds & {"int", "float"} and set(site.types.get(value, ())) & {"int", "float"}:
                    yield from insertion(site, block, at, f"{name} += {value}", "update added", 0.05)


_CHANGES: tuple[tuple[str, str, float], ...] = (
    ("list", "{0}.sort()", 0.2), ("list", "{0} = sorted({0})", 0.2), ("list", "{0} = {0}[::-1]", 0.12), ("list", "{0} = {0}[:]", 0.15),
    ("list", "{0} = sorted({0}, reverse=True)", 0.12), ("list", "{0} = list(set({0}))", 0.1), ("list", "{0} = [x for x in {0} if x]", 0.05),
    ("str", "{0} = {0}.lower()", 0.25), ("str", "{0} = {0}.strip()", 0.25), ("str", '{0} = {0}.replace(" ", "")', 0.12),
    ("str", "{0} = {0}.upper()", 0.08), ("int", "{0} = abs({0})", 0.25), ("float", "{0} = abs({0})", 0.2), ("dict", "{0} = dict({0})", 0.15),
    ("float", "{0} = round({0}, 2)", 0.08), ("tuple", "{0} = list({0})", 0.15), ("set", "{0} = set({0})", 0.12),
)  # fmt: skip


def prepared(site: Site) -> Iterator[Candidate]:
    """A variable normalised, sorted, copied or reversed before it is used on."""
    for block, at in _gaps(site):
        for name in site.names[:8]:
            kinds = {word.partition("[")[0] for word in site.types.get(name, ())}
            for kind, form, prior in _CHANGES:
                if kind in kinds:
                    yield from insertion(site, block, at, form.format(name), "value prepared", prior)


def progressed(site: Site) -> Iterator[Candidate]:
    """A variable of a `while` condition brought nearer to the loop's end in its body."""
    for node in site.nodes:
        if not isinstance(node, ast.While):
            continue
        names = dict.fromkeys(n.id for n in ast.walk(node.test) if isinstance(n, ast.Name) and n.id in site.names)
        for name in names:
            for change, prior in (("-= 1", 0.4), ("+= 1", 0.4), ("//= 2", 0.1), ("//= 10", 0.1)):
                yield from insertion(site, node.body, len(node.body), f"{name} {change}", "update added", prior)
                yield from insertion(site, node.body, 0, f"{name} {change}", "update added", prior * 0.5)


def runs(site: Site) -> Iterator[Candidate]:
    """Two or three neighbouring statements left out together."""
    source = site.source
    for block in source.blocks(site.node):
        for at in range(len(block)):
            for count in (2, 3):
                group = block[at : at + count]
                if (
                    len(group) < count
                    or len(group) == len(block)
                    or any(_is_docstring(s) or isinstance(s, FUNCTIONS) for s in group)
                ):
                    continue
                first, last = source.whole_lines(group[0]), source.whole_lines(group[-1])
                if first is not None and last is not None:
                    edit = Edit(source.path, first[0], last[1], "")
                    yield site.make(edit, "statements deleted", 0.12, group[0].lineno, removes=True)


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (deletions, moves, copies, insertions, prepared, progressed, runs)
