"""A Python file as text with its syntax tree: exact places of nodes, parents, functions, and what edits do to the text."""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_NEWLINE = re.compile(r"\r\n|\r|\n")
Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
ATOMS = (
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.JoinedStr,
)


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace `start`..`end` (character offsets) of a file by `text`."""

    path: str
    start: int
    end: int
    text: str


class Unreadable(Exception):
    """The file can't be read as Python of this version; the message says why."""


def read_source(root: Path, path: str) -> SourceFile:
    """A file of the workspace. Raises Unreadable."""
    data = (root / path).read_bytes()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding not in ("utf-8", "utf-8-sig"):
            raise Unreadable(f"{path} is encoded in {encoding}")
        return SourceFile(path, data.decode("utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Unreadable(f"{path} can't be parsed: {error}") from error


class SourceFile:
    """Text and tree of one file. Offsets are in characters of `text`, which keeps its line endings."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._shift = 1 if text.startswith("\ufeff") else 0
        self.tree = ast.parse(text[self._shift :])
        self._starts = [self._shift, *(match.end() for match in _NEWLINE.finditer(text))]
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        self._ascii = text.isascii()

    def offset(self, line: int, column: int) -> int:
        """Offset of a place that the tree names (column in UTF-8 bytes)."""
        start = self._starts[line - 1]
        if self._ascii:
            return start + column
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:end].encode("utf-8")[:column].decode("utf-8", "ignore"))

    def line_of(self, offset: int) -> int:
        """Line of an offset, from 1."""
        return bisect.bisect_right(self._starts, offset)

    def line_start(self, line: int) -> int:
        """Offset of a line's first character; of a line past the end, the text's length."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> tuple[int, int]:
        """Where a node stands; for a generator that is a call's only argument, without the call's parentheses."""
        start = self.offset(node.lineno, node.col_offset)
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        if isinstance(node, ast.GeneratorExp):
            parent = self.parents.get(node)
            if isinstance(parent, ast.Call) and self.span(parent)[1] == end:
                return start + 1, end - 1
        return start, end

    def text_of(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> str:
        """The node's own text."""
        start, end = self.span(node)
        return self.text[start:end]

    def operand(self, node: ast.expr) -> str:
        """The node's text, in parentheses where it isn't an atom."""
        text = self.text_of(node)
        return text if isinstance(node, ATOMS) else f"({text})"

    def tight(self, node: ast.expr) -> bool:
        """Whether a compound expression put in this node's place needs parentheses."""
        parent = self.parents.get(node)
        start, end = self.span(node)
        if self.text[start - 1 : start] == "(" and self.text[end : end + 1] == ")":
            return False
        if isinstance(parent, ast.Subscript):
            return parent.value is node
        if isinstance(parent, ast.Call):
            return parent.func is node
        return isinstance(
            parent,
            (
                ast.BinOp
                | ast.UnaryOp
                | ast.BoolOp
                | ast.Compare
                | ast.Attribute
                | ast.Await
                | ast.IfExp
                | ast.Starred,
                ast.comprehension,
            ),
        )

    def replace(self, node: ast.expr, text: str, *, compound: bool = True) -> Edit:
        """Replace an expression; parentheses are added where the place wants them."""
        start, end = self.span(node)
        if compound and self.tight(node):
            text = f"({text})"
        return Edit(self.path, start, end, text)

    def indent_of(self, statement: ast.stmt) -> str:
        """White space before a statement that begins its line."""
        start = self.line_start(first_line(statement))
        return self.text[start : start + len(self.text[start:]) - len(self.text[start:].lstrip(" \t"))]

    def whole_lines(self, statement: ast.stmt) -> tuple[int, int] | None:
        """Offsets of the lines that a statement has to itself, line end included; None where it shares one."""
        first, last = first_line(statement), statement.end_lineno or statement.lineno
        start, end = self.line_start(first), self.line_start(last + 1)
        own_start = self.offset(first, 0)
        own = self.span(statement)
        begin = own[0] if not getattr(statement, "decorator_list", None) else own_start
        if self.text[start:begin].strip():
            return None
        rest = self.text[own[1] : end].strip()
        if rest and not rest.startswith("#"):
            return None
        return start, end

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement around a node."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parents.get(current)
        return current

    def function_of(self, node: ast.AST) -> Function | None:
        """The innermost function around a node."""
        current = self.parents.get(node)
        while current is not None and not isinstance(current, FUNCTIONS):
            current = self.parents.get(current)
        return current

    @cached_property
    def functions(self) -> list[Function]:
        """All functions, in order of their lines."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, FUNCTIONS)]
        return sorted(found, key=lambda f: f.lineno)

    def blocks(self, root: ast.AST) -> Iterator[list[ast.stmt]]:
        """Every list of statements below a node."""
        for node in ast.walk(root):
            for field in ("body", "orelse", "finalbody"):
                value = getattr(node, field, None)
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    yield value


def first_line(statement: ast.stmt) -> int:
    """A statement's first line, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def apply_edits(text: str, edits: tuple[Edit, ...]) -> str:
    """The file's text with its edits made; they must not overlap."""
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
