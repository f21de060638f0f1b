"""Mechanical fixes of type errors: guards against None, defaults of None, return annotations, ignores that nothing needs."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

from runtime.models.local.lint.steps import Finding
from runtime.models.local.source import FUNCTIONS, Edit, Function, SourceFile

_OPTIONAL = re.compile(
    r'^(?:Item "None" of "|Value of type ".*None.*" is not indexable|Unsupported (?:left )?operand|Argument .* has incompatible type '
    r'"(?:.* \| None|Optional\[.*\])"|Incompatible return value type \(got "(?:.* \| None|Optional\[.*\])")'
)  # fmt: skip
_DEFAULT = re.compile(r'^Incompatible default for (?:argument|parameter) "(\w+)" \(default has type "None"')
_IGNORE = re.compile(r"[ \t]*#\s*type:\s*ignore(?:\[[^\]\n]*\])?[ \t]*$")
_BLOCKED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.IfExp)


def fixes(source: SourceFile, finding: Finding) -> Sequence[Edit]:
    """Edits that may settle a finding of mypy, the likelier first; each alone is a fix."""
    words = finding.words
    if _OPTIONAL.match(words) and "None" in words:
        return list(_guards(source, finding))
    if match := _DEFAULT.match(words):
        return list(_optional(source, finding, match[1]))
    if words.startswith("Function is missing a return type annotation"):
        return list(_returns_none(source, finding))
    if words.startswith('Unused "type: ignore'):
        return list(_unneeded(source, finding))
    return []


def _guards(source: SourceFile, finding: Finding) -> Iterator[Edit]:
    for value in _values(source, finding):
        statement = _statement(source, value)
        if statement is None:
            continue
        name = source.text_of(value)
        start = source.line_start(statement.lineno)
        indent = source.text[start : source.offset(statement.lineno, statement.col_offset)]
        if indent.strip():
            continue
        line = source.newline
        raising = f'{indent}if {name} is None:{line}{indent}    raise ValueError("{name} is None"){line}'
        yield Edit(source.path, start, start, raising)
        yield Edit(source.path, start, start, f"{indent}assert {name} is not None{line}")


def _values(source: SourceFile, finding: Finding) -> Iterator[ast.expr]:
    """Names and attributes that stand where the finding says and may be None."""
    for node in ast.walk(source.tree):
        if getattr(node, "lineno", 0) != finding.line:
            continue
        column = source.offset(finding.line, getattr(node, "col_offset", 0)) - source.line_start(finding.line) + 1
        if finding.column and column != finding.column:
            continue
        inner: list[ast.expr | None] = []
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Return):
            inner = [node.value]
        elif isinstance(node, ast.BinOp):
            inner = [node.left, node.right]
        elif isinstance(node, ast.Compare):
            inner = [node.left, *node.comparators]
        for value in [*inner, node]:
            if isinstance(value, ast.Name) or (isinstance(value, ast.Attribute) and _plain(value)):
                yield value


def _plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _statement(source: SourceFile, node: ast.AST) -> ast.stmt | None:
    """The statement before which a guard may stand; None where what comes first decides whether the value is used at all."""
    while not isinstance(node, ast.stmt):
        parent = source.parents.get(node)
        if parent is None or isinstance(parent, _BLOCKED):
            return None
        node = parent
    if isinstance(node, ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    text = source.text[source.offset(node.lineno, node.col_offset) :]
    return None if text.startswith("elif") else node


def _optional(source: SourceFile, finding: Finding, name: str) -> Iterator[Edit]:
    for function in _functions(source):
        arguments = function.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            inside = function.lineno <= finding.line <= function.body[0].lineno
            if argument.arg == name and argument.annotation is not None and inside:
                yield Edit(
                    source.path, *source.span(argument.annotation), f"{source.text_of(argument.annotation)} | None"
                )


def _returns_none(source: SourceFile, finding: Finding) -> Iterator[Edit]:
    for function in _functions(source):
        if function.lineno != finding.line or function.returns is not None or _gives_value(function):
            continue
        start = source.offset(function.lineno, function.col_offset)
        colon = _header_end(source.text[start:])
        if colon is not None:
            yield Edit(source.path, start + colon, start + colon, " -> None")


def _functions(source: SourceFile) -> Iterator[Function]:
    for node in ast.walk(source.tree):
        if isinstance(node, FUNCTIONS):
            yield node


def _gives_value(function: Function) -> bool:
    """Whether a function returns or yields something; what nested functions return is theirs."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom) or (isinstance(node, ast.Return) and node.value is not None):
            return True
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)
    return False


def _header_end(text: str) -> int | None:
    """Offset of the colon that ends a function's header."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string in ("(", "[", "{"):
                depth += 1
            elif token.string in (")", "]", "}"):
                depth -= 1
            elif token.string == ":" and depth == 0:
                return starts[token.start[0] - 1] + token.start[1]
    except (tokenize.TokenError, IndentationError, IndexError):
        return None
    return None


def _unneeded(source: SourceFile, finding: Finding) -> Iterator[Edit]:
    start, end = source.line_start(finding.line), source.line_start(finding.line + 1)
    text = source.text[start:end].rstrip("\r\n")
    if match := _IGNORE.search(text):
        yield Edit(source.path, start + match.start(), start + match.end(), "")
