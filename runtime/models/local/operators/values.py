"""Values: strings, results, initial values, loops and exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import BUILTINS, Operator, Site
from runtime.models.local.source import FUNCTIONS, Edit

_BRACKETS = "()[]{}<>"


def strings(site: Site) -> Iterator[Candidate]:
    """Another string: other case, other separator, one from the failing tests or from the function."""
    own = list(
        dict.fromkeys(
            n.value
            for n in site.nodes
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and len(n.value) < 60
        )
    )
    for node in site.loads:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        value = node.value
        others: dict[str, float] = {}
        for text, prior in ((value.lower(), 0.4), (value.upper(), 0.4), (value.strip(), 0.45), (value.capitalize(), 0.3), (value.title(), 0.2),
                            (value + value.lower() if value.isupper() else value + value.upper(), 0.3), (value[1:], 0.2), (value[:-1], 0.25), (value + " ", 0.2), (" " + value, 0.12)):  # fmt: skip
            others.setdefault(text, prior)
        if len(value) <= 3:
            for text, prior in (
                ("", 0.3),
                (" ", 0.3),
                (",", 0.2),
                (", ", 0.2),
                ("\n", 0.2),
                ("-", 0.1),
                ("_", 0.1),
                (".", 0.1),
                ("0", 0.1),
            ):
                others.setdefault(text, prior)
        for text in own[:12]:
            others.setdefault(text, 0.3)
        for rank, text in enumerate(site.harvest.strings[:14]):
            others.setdefault(text, max(0.05, 0.25 - 0.015 * rank))
        if len(value) == 1:
            # A character stands beside its like: the other brackets, and what the tests' texts consist of.
            near = (
                [*_BRACKETS, *"".join(site.harvest.strings[:8])]
                if value in _BRACKETS
                else list("".join(site.harvest.strings[:8]))
            )
            for rank, text in enumerate(dict.fromkeys(near)):
                if rank < 14:
                    others.setdefault(text, 0.28 - 0.012 * rank)
        others.pop(value, None)
        quote = site.source.text_of(node)[:1]
        for text, prior in others.items():
            new = repr(text)
            if quote == '"' and new[0] == "'" and '"' not in new:
                new = '"' + new[1:-1] + '"'
            yield site.swap(node, new, "string", prior, compound=False)


_SEPARATORS = (" ", ", ", ".", ",", "-", "_", ":", "/", "\n")


def separated(site: Site) -> Iterator[Candidate]:
    """A separator put between two strings that are joined, and a quoted variable's name unquoted."""
    for node in site.loads:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and "str" in site.kinds_of(node):
            left, right = site.source.text_of(node.left), site.source.operand(node.right)
            for rank, text in enumerate(_SEPARATORS):
                yield site.swap(
                    node, f'{left} + "{text}" + {right}'.replace("\n", "\\n"), "separator added", 0.16 - 0.01 * rank
                )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in site.names:
            yield site.swap(node, node.value, "quotes dropped", 0.8, compound=False)


def returns(site: Site) -> Iterator[Candidate]:
    """Another result of a return: a name, a constant, the negation; a value returned that was only computed."""
    source = site.source
    kinds = {word.partition("[")[0] for word in site.types.get("return", ())}
    for node in site.nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            own = source.text_of(node.value)
            for name in site.names[:10]:
                if name != own:
                    yield site.swap(node.value, name, "result", 0.22, compound=False)
            for text, kind in (("True", "bool"), ("False", "bool"), ("0", "int"), ("1", "int"), ("-1", "int"), ("None", "NoneType"),
                               ("[]", "list"), ('""', "str")):  # fmt: skip
                if text != own and (not kinds or kind in kinds):
                    yield site.swap(
                        node.value,
                        text,
                        "result",
                        0.15,
                        compound=False,
                        removes=not isinstance(node.value, ast.Constant),
                    )
        elif isinstance(node, ast.Return):
            for name in [*site.names[:8], "True", "False", "[]", "0"]:
                edit = Edit(source.path, source.span(node)[1], source.span(node)[1], f" {name}")
                yield site.make(edit, "result", 0.3, node.lineno)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.BinOp | ast.Compare):
            start = source.span(node)[0]
            yield site.make(Edit(source.path, start, start, "return "), "return added", 0.3, node.lineno)
            if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
                base = source.text_of(node.value.func.value)
                yield site.make(Edit(source.path, start, start, f"{base} = "), "result kept", 0.4, node.lineno)
            if isinstance(node.value, ast.Call):
                for name in site.names[:6]:
                    yield site.make(Edit(source.path, start, start, f"{name} = "), "result kept", 0.15, node.lineno)
                    yield site.make(Edit(source.path, start, start, f"{name} += "), "result kept", 0.1, node.lineno)
        elif isinstance(node, ast.Yield) and node.value is not None:
            edit = Edit(source.path, *source.span(node), f"yield from {source.text_of(node.value)}")
            yield site.make(edit, "yield", 0.5, node.lineno)
        elif isinstance(node, ast.YieldFrom):
            yield site.make(
                Edit(source.path, *source.span(node), f"yield {source.text_of(node.value)}"), "yield", 0.5, node.lineno
            )


def assigned(site: Site) -> Iterator[Candidate]:
    """`=` made an update, and initial values that come from a parameter."""
    source = site.source
    for node in site.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        gap = source.span(target)[1], source.span(node.value)[0]
        where = source.text.find("=", *gap)
        if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            for sign, prior in (("+=", 0.4), ("-=", 0.15), ("*=", 0.1), ("|=", 0.05)):
                yield site.make(
                    Edit(source.path, where, where + 1, sign), "update instead of assignment", prior, node.lineno
                )
            name = source.text_of(target)
            value = source.text_of(node.value)
            for form, prior in (("max({}, {})", 0.2), ("min({}, {})", 0.15)):
                yield site.swap(node.value, form.format(name, value), "kept extreme", prior, compound=False)
        if isinstance(node.value, ast.Constant):
            for name in site.names[:5]:
                kinds = {word.partition("[")[0] for word in site.types.get(name, ())}
                if kinds & {"list", "tuple", "str"} or not kinds:
                    yield site.swap(node.value, f"{name}[0]", "initial value", 0.2, compound=False)
                    yield site.swap(node.value, f"len({name})", "initial value", 0.15, compound=False)


def loops(site: Site) -> Iterator[Candidate]:
    """What a loop runs over: items or indices, forwards or backwards, without the first or the last, another variable."""
    source = site.source
    for node in site.nodes:
        if not isinstance(node, ast.For | ast.comprehension):
            continue
        over, target = node.iter, node.target
        line = over.lineno
        text = source.text_of(over)
        for form, prior in (
            ("reversed({})", 0.2),
            ("{}[1:]", 0.25),
            ("{}[:-1]", 0.2),
            ("enumerate({})", 0.1),
            ("sorted({})", 0.2),
            ("set({})", 0.1),
            ("list({})", 0.2),
        ):
            yield site.make(
                source.replace(over, form.format(source.operand(over)), compound=False), "loop", prior, line
            )
        if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "range":
            inner = ", ".join(source.text_of(a) for a in over.args)
            if len(over.args) == 1:
                yield site.make(source.replace(over, f"range(1, {inner} + 1)"), "loop", 0.4, line)
                yield site.make(source.replace(over, f"range({inner} - 1, -1, -1)"), "loop", 0.2, line)
            elif len(over.args) == 2:
                a, b = (source.text_of(x) for x in over.args)
                yield site.make(source.replace(over, f"range({a} + 1, {b} + 1)"), "loop", 0.3, line)
        if isinstance(target, ast.Tuple) and isinstance(over, ast.Name | ast.Attribute):
            yield site.make(source.replace(over, f"{text}.items()", compound=False), "loop", 0.4, line)
        if isinstance(node, ast.comprehension):
            at = source.span(node.ifs[-1] if node.ifs else over)[1]
            for part in _element_tests(site, source.text_of(target)):
                word = " and " if node.ifs else " if "
                yield site.make(Edit(source.path, at, at, word + part), "filter added", 0.18, line)
            for test in node.ifs:
                start = source.text.rfind("if", 0, source.span(test)[0])
                end = source.span(test)[1]
                if source.text[start:end].count("(") == source.text[start:end].count(")"):
                    yield site.make(Edit(source.path, start, end, ""), "filter dropped", 0.2, line, removes=True)


def _element_tests(site: Site, name: str) -> list[str]:
    found = [name, f"{name} > 0", f"{name} != 0", f"{name} is not None", f"{name} % 2 == 0", f"{name} % 2 == 1"]
    for other in site.names[:6]:
        if other != name:
            found += [f"{name} in {other}", f"{name} not in {other}", f"{name} != {other}"]
    return found


def exceptions(site: Site) -> Iterator[Candidate]:
    """Another exception raised or caught, from those that the failing tests expect."""
    source = site.source
    usual = ("ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "Exception", "ZeroDivisionError")
    names = [*site.harvest.exceptions, *usual]
    for node in site.nodes:
        if isinstance(node, ast.Raise) and node.exc is not None:
            name = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            for other in dict.fromkeys(names):
                if other != source.text_of(name):
                    prior = 0.5 if other in site.harvest.exceptions else 0.12
                    yield site.swap(name, other, "exception", prior, compound=False)
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            own = source.text_of(node.type)
            for other in dict.fromkeys(names):
                if other != own:
                    yield site.make(Edit(source.path, *source.span(node.type), other), "exception", 0.25, node.lineno)
                    if not isinstance(node.type, ast.Tuple):
                        edit = Edit(source.path, *source.span(node.type), f"({own}, {other})")
                        yield site.make(edit, "exception", 0.25, node.lineno)


def definitions(site: Site) -> Iterator[Candidate]:
    """Defaults that are shared between calls, a missing `super().__init__()`, undefined names that the module almost has."""
    source = site.source
    for node in site.nodes:
        if isinstance(node, FUNCTIONS):
            body = node.body
            first = (
                body[1]
                if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
                else body[0]
            )
            place = source.whole_lines(first)
            if place is None:
                continue
            indent = source.indent_of(first)
            positional = [*node.args.posonlyargs, *node.args.args]
            given = list(zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults, strict=True))
            for argument, default in given:
                if isinstance(default, ast.List | ast.Dict | ast.Set) or source.text_of(default) in (
                    "set()",
                    "list()",
                    "dict()",
                ):
                    text = f"{indent}if {argument.arg} is None:{source.newline}{indent}    {argument.arg} = {source.text_of(default)}{source.newline}"
                    edits = [
                        Edit(source.path, *source.span(default), "None"),
                        Edit(source.path, place[0], place[0], text),
                    ]
                    yield site.make(edits, "shared default", 0.6, node.lineno)
            if node.name == "__init__" and "super()" not in source.text_of(node):
                text = f"{indent}super().__init__(){source.newline}"
                yield site.make(Edit(source.path, place[0], place[0], text), "super call added", 0.3, node.lineno)
    known = {*site.names, *site.globals, *BUILTINS}
    for node in site.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
            for other in [*site.names, *site.globals]:
                yield site.swap(node, other, "undefined name", 0.9, compound=False)


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (strings, separated, returns, assigned, loops, exceptions, definitions)
