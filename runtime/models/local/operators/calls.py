"""Calls: arguments exchanged, dropped, added; a related function or method; a call put around an expression or taken away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from runtime.models.local.candidate import Candidate
from runtime.models.local.site import NUMBERS, SEQUENCES, Operator, Site
from runtime.models.local.source import Edit

_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("min", "max", "sum"), ("any", "all"), ("len", "sum", "max", "min"), ("int", "float", "round", "str", "bool", "abs"),
    ("list", "set", "tuple", "sorted", "reversed", "dict", "frozenset"), ("map", "filter"), ("zip", "enumerate"),
    ("ord", "chr"), ("floor", "ceil", "trunc"), ("bin", "hex", "oct", "str"), ("isinstance", "issubclass"), ("sin", "cos"),
    ("chain", "chain.from_iterable"), ("zip", "zip_longest"), ("log", "log2", "log10"), ("permutations", "combinations"),
)  # fmt: skip
_METHODS: tuple[tuple[str, ...], ...] = (
    ("append", "extend", "add", "appendleft"), ("append", "insert"), ("pop", "popleft", "remove", "discard"), ("add", "update", "discard"),
    ("upper", "lower", "title", "capitalize", "swapcase"), ("startswith", "endswith"), ("strip", "lstrip", "rstrip"),
    ("split", "rsplit", "splitlines"), ("find", "rfind", "index", "rindex", "count"), ("keys", "values", "items"),
    ("isdigit", "isalpha", "isalnum", "isnumeric", "isdecimal"), ("isupper", "islower", "istitle"), ("union", "intersection", "difference", "symmetric_difference"),
    ("get", "pop", "setdefault"), ("ljust", "rjust", "center", "zfill"), ("partition", "rpartition"), ("removeprefix", "removesuffix"),
    ("replace", "translate"), ("issubset", "issuperset"), ("sort", "reverse"), ("lower", "casefold"),
)  # fmt: skip
_WRAPS: tuple[tuple[str, float, frozenset[str]], ...] = (
    ("abs({})", 0.4, NUMBERS), ("max({}, 0)", 0.25, NUMBERS), ("min({}, 1)", 0.03, NUMBERS), ("len({})", 0.3, SEQUENCES | {"set", "dict"}), ("sorted({})", 0.3, SEQUENCES | {"set", "dict"}),
    ("list({})", 0.3, SEQUENCES | {"set", "dict", "iterator", "generator", "map", "filter", "zip"}), ("set({})", 0.3, SEQUENCES), ("int({})", 0.35, frozenset({"float", "str", "bool"})),
    ("str({})", 0.3, NUMBERS), ("sum({})", 0.2, frozenset({"list", "tuple"})), ("max({})", 0.15, frozenset({"list", "tuple", "set"})),
    ("min({})", 0.15, frozenset({"list", "tuple", "set"})), ("tuple({})", 0.2, frozenset({"list"})), ("float({})", 0.2, frozenset({"int", "str"})),
    ("reversed({})", 0.15, frozenset({"list", "tuple", "str", "range"})), ("round({})", 0.2, frozenset({"float"})), ("bool({})", 0.1, frozenset({"int", "list", "str"})),
    ("{}.lower()", 0.3, frozenset({"str"})), ("{}.encode()", 0.1, frozenset({"str"})), ("{}.decode()", 0.15, frozenset({"bytes"})), ("{}.upper()", 0.2, frozenset({"str"})), ("{}.strip()", 0.3, frozenset({"str"})),
    ("{}.split()", 0.2, frozenset({"str"})), ("{}.items()", 0.25, frozenset({"dict", "Counter", "defaultdict", "OrderedDict"})), ("{}.values()", 0.2, frozenset({"dict", "Counter", "defaultdict"})),
    ("{}.copy()", 0.25, frozenset({"list", "dict", "set"})), ("enumerate({})", 0.12, SEQUENCES), ("range({})", 0.2, frozenset({"int"})),
    ("range(len({}))", 0.15, frozenset({"list", "str", "tuple"})), ('"".join({})', 0.25, frozenset({"list", "generator", "reversed", "map", "filter"})), ("{}[::-1]", 0.25, frozenset({"list", "str", "tuple"})),
    ("[{}]", 0.2, frozenset()), ("{}()", 0.08, frozenset({"function", "method"})), ("{} ** 2", 0.12, NUMBERS), ("{} * 2", 0.12, NUMBERS),
    ("{} // 2", 0.12, frozenset({"int"})), ("set({}.lower())", 0.02, frozenset({"str"})),
)  # fmt: skip


def related(site: Site) -> Iterator[Candidate]:
    """A function or method that people confuse with the one called; another function of the module with as many arguments."""
    source = site.source
    for node in site.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for family in _FAMILIES:
                if node.id in family:
                    for other in family:
                        if other != node.id and (other in _BUILTIN_FUNCTIONS or other in site.globals):
                            yield site.swap(node, other, "function", 0.55 if len(family) <= 3 else 0.3, compound=False)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            for family in (*_METHODS, *_FAMILIES):
                if node.attr in family:
                    for other in family:
                        if other != node.attr:
                            _start, end = source.span(node)
                            edit = Edit(source.path, end - len(node.attr), end, other)
                            yield site.make(edit, "method", 0.55 if len(family) <= 4 else 0.3, node.lineno)
    functions = {f.name: _arity(f) for f in source.functions}
    for node in site.nodes:
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in functions:
                for other, arity in functions.items():
                    if other != name and abs(arity - functions[name]) <= 0 and not other.startswith("__"):
                        _, end = source.span(node.func)
                        edit = Edit(source.path, end - len(name), end, other)
                        yield site.make(edit, "function", 0.35, node.lineno)


_BUILTIN_FUNCTIONS = frozenset(
    [
        "min",
        "max",
        "sum",
        "any",
        "all",
        "len",
        "int",
        "float",
        "round",
        "str",
        "bool",
        "abs",
        "list",
        "set",
        "tuple",
        "sorted",
        "reversed",
        "dict",
        "frozenset",
        "map",
        "filter",
        "zip",
        "enumerate",
        "ord",
        "chr",
        "bin",
        "hex",
        "oct",
        "isinstance",
        "issubclass",
    ]
)


def _arity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return len([a for a in function.args.args if a.arg not in ("self", "cls")])


def arguments(site: Site) -> Iterator[Candidate]:
    """Arguments exchanged, dropped, added."""
    source = site.source
    functions = {f.name: f for f in source.functions}
    for node in site.nodes:
        if not isinstance(node, ast.Call):
            continue
        args = node.args
        if any(isinstance(a, ast.Starred) for a in args):
            continue
        for i in range(len(args)):
            for j in range(i + 1, len(args)):
                a, b = source.span(args[i]), source.span(args[j])
                edits = [Edit(source.path, *a, source.text_of(args[j])), Edit(source.path, *b, source.text_of(args[i]))]
                yield site.make(edits, "arguments exchanged", 0.5, node.lineno)
        yield from _fewer(site, node)
        yield from _more(site, node, functions)


def _fewer(site: Site, node: ast.Call) -> Iterator[Candidate]:
    source = site.source
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    given.sort(key=source.span)
    for at, argument in enumerate(given):
        if len(given) == 1:
            start, end = source.span(argument)
        elif at + 1 < len(given):
            start, end = source.span(argument)[0], source.span(given[at + 1])[0]
        else:
            start, end = source.span(given[at - 1])[1], source.span(argument)[1]
        if isinstance(argument, ast.GeneratorExp):
            continue
        prior = 0.25 if len(given) > 1 else 0.06
        yield site.make(Edit(source.path, start, end, ""), "argument dropped", prior, node.lineno, removes=True)


def _more(
    site: Site, node: ast.Call, functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
) -> Iterator[Candidate]:
    source = site.source
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    end = source.span(node)[1] - 1
    if name in ("sorted", "sort", "max", "min"):
        yield from _keys(site, node, end)
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        return
    separator = ", " if (node.args or node.keywords) and not source.text[:end].rstrip().endswith(",") else ""
    if name == "range":
        at = source.span(node.args[0])[0]
        if len(node.args) == 1:
            for text, prior in (("1, ", 0.5), ("2, ", 0.25)):
                yield site.make(Edit(source.path, at, at, text), "range start", prior, node.lineno)
            for variable in site.names[:6]:
                edit = Edit(source.path, at, at, f"{variable}, ")
                yield site.make(edit, "range start", 0.25, node.lineno)
                yield site.make(
                    Edit(source.path, at, at, f"{variable} + 1, "),
                    "range start",
                    0.3,
                    node.lineno,
                )
        if len(node.args) == 2:
            for text in ("2", "-1", *site.names[:5]):
                yield site.make(Edit(source.path, end, end, f", {text}"), "range step", 0.3, node.lineno)
        return
    target = functions.get(name)
    if target is not None or name in (
        "get",
        "split",
        "pop",
        "round",
        "sum",
        "join",
        "replace",
        "int",
        "setdefault",
        "zip",
        "max",
        "min",
        "getattr",
        "next",
    ):
        missing = target is not None and len(node.args) < _arity(target)
        prior = 0.5 if missing else 0.15
        for text in (*site.names[:8], "0", "1", "None", "[]", '""', "True", "False"):
            edit = Edit(source.path, end, end, f"{separator}{text}")
            yield site.make(edit, "argument added", prior * (1 if text in site.names else 0.6), node.lineno)
        if target is not None:
            for parameter in target.args.args[len(target.args.args) - len(target.args.defaults) :]:
                if parameter.arg in site.names and all(k.arg != parameter.arg for k in node.keywords):
                    edit = Edit(source.path, end, end, f"{separator}{parameter.arg}={parameter.arg}")
                    yield site.make(edit, "argument added", 0.6, node.lineno)


def _keys(site: Site, node: ast.Call, end: int) -> Iterator[Candidate]:
    source = site.source
    has = {k.arg: k for k in node.keywords}
    separator = ", " if node.args or node.keywords else ""
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        inner = source.span(node.args[0])
        wrap = [Edit(source.path, inner[0], inner[0], "("), Edit(source.path, inner[1], inner[1], ")")]
    else:
        wrap = []
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name in ("sorted", "sort"):
        if "reverse" not in has:
            edit = Edit(source.path, end, end, f"{separator}reverse=True")
            yield site.make([*wrap, edit], "sort order", 0.5, node.lineno)
        else:
            edit = Edit(source.path, *source.span(has["reverse"].value), f"not {source.operand(has['reverse'].value)}")
            yield site.make(edit, "sort order", 0.4, node.lineno)
    keys = ("len", "abs", "str", "int", "str.lower", "lambda x: x[0]", "lambda x: x[1]", "lambda x: -x", "lambda x: (-x[1], x[0])",
            "lambda x: (x[1], x[0])", "lambda x: (len(x), x)", "lambda x: x[-1]", "lambda x: -x[1]", "sum")  # fmt: skip
    owners = [
        n
        for n in site.names[:4]
        if any(t.startswith(("dict", "Counter", "defaultdict")) for t in site.types.get(n, ()))
    ]
    for text in (*keys, *(f"{owner}.get" for owner in owners)):
        if "key" in has:
            if source.text_of(has["key"].value) != text:
                edit = Edit(source.path, *source.span(has["key"].value), text)
                yield site.make(edit, "sort key", 0.2, node.lineno)
        else:
            yield site.make(
                [*wrap, Edit(source.path, end, end, f"{separator}key={text}")], "sort key", 0.2, node.lineno
            )
    if "key" in has and isinstance(has["key"].value, ast.Lambda):
        body = has["key"].value.body
        text = source.text_of(body)
        first = has["key"].value.args.args[0].arg if has["key"].value.args.args else "x"
        for new in (
            f"({text}, {first})",
            f"-{source.operand(body)}",
            f"({text}, {first}[0])",
            f"(-{source.operand(body)}, {first})",
        ):
            yield site.make(Edit(source.path, *source.span(body), new), "sort key", 0.3, node.lineno)


def unwrap(site: Site) -> Iterator[Candidate]:
    """A call taken away: its argument or its object stays."""
    source = site.source
    for node in site.loads:
        if not isinstance(node, ast.Call):
            continue
        if isinstance(source.parents.get(node), ast.Expr):
            continue
        for argument in node.args[:2]:
            if not isinstance(argument, ast.Starred | ast.GeneratorExp):
                yield site.swap(node, source.text_of(argument), "call dropped", 0.35, removes=True)
        if isinstance(node.func, ast.Attribute):
            yield site.swap(node, source.text_of(node.func.value), "call dropped", 0.35, compound=False, removes=True)
            if not node.args:
                yield site.swap(node, source.text_of(node.func), "call dropped", 0.06, compound=False, removes=True)


def wraps(site: Site) -> Iterator[Candidate]:
    """A common call put around an expression, where its type allows it."""
    source = site.source
    for node in site.loads:
        parent = source.parents.get(node)
        if isinstance(node, ast.Constant | ast.Lambda | ast.Compare | ast.JoinedStr):
            continue
        if isinstance(parent, ast.Call) and parent.func is node:
            continue
        if isinstance(parent, ast.Attribute) or isinstance(node, ast.BoolOp):
            continue
        kinds = site.kinds_of(node)
        for form, prior, wanted in _WRAPS:
            known = bool(kinds & wanted)
            if kinds and wanted and not known:
                continue
            around = form.partition("(")[0]
            if isinstance(parent, ast.Call) and getattr(parent.func, "id", "") == around:
                continue
            method = form.startswith("{}")
            text = form.format(source.operand(node) if method else source.text_of(node))
            weight = prior * (1.0 if known else 0.35) * (0.6 if isinstance(parent, ast.BinOp) and not known else 1.0)
            yield site.swap(node, text, "call added", weight, compound="**" in form or "*" in form or "//" in form)


def same_call(site: Site) -> Iterator[Candidate]:
    """Calls of the function itself or of one-argument functions of the module put around results and arguments."""
    source = site.source
    inside = {f.name for f in source.functions if _arity(f) == 1 and not f.name.startswith("__")}
    methods = {f.name for f in source.functions if isinstance(source.parents.get(f), ast.ClassDef)}
    for node in site.loads:
        if isinstance(node, ast.Name | ast.Subscript | ast.Attribute) and isinstance(
            source.parents.get(node), ast.Return | ast.Assign | ast.Call | ast.BinOp | ast.Compare
        ):
            parent = source.parents.get(node)
            if isinstance(parent, ast.Call) and parent.func is node:
                continue
            for name in sorted(inside)[:6]:
                call = f"self.{name}" if name in methods else name
                yield site.swap(node, f"{call}({source.text_of(node)})", "call added", 0.12, compound=False)


def operators() -> tuple[Operator, ...]:
    """What this module offers, in the order of use."""
    return (related, arguments, unwrap, wraps, same_call)
