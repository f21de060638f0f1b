"""What the operators see of one function (or of a module's own level): its nodes, names in scope, types, harvested constants."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from runtime.models.local.candidate import Candidate
from runtime.models.local.source import FUNCTIONS, Edit, Function, SourceFile

_KNOWN_CALLS = {
    "len": "int", "int": "int", "ord": "int", "abs": "int", "sum": "int", "str": "str", "chr": "str", "sorted": "list",
    "list": "list", "set": "set", "dict": "dict", "tuple": "tuple", "float": "float", "bool": "bool", "all": "bool",
    "any": "bool", "range": "range", "enumerate": "iterator", "zip": "iterator", "map": "iterator", "reversed": "iterator",
}  # fmt: skip
_KNOWN_METHODS = {
    "strip": "str", "lower": "str", "upper": "str", "join": "str", "replace": "str", "format": "str", "lstrip": "str",
    "rstrip": "str", "title": "str", "capitalize": "str", "split": "list[str]", "splitlines": "list[str]", "count": "int",
    "index": "int", "find": "int", "startswith": "bool", "endswith": "bool", "isdigit": "bool", "isalpha": "bool",
}  # fmt: skip
SEQUENCES = frozenset({"list", "tuple", "str", "range", "bytes", "deque"})
NUMBERS = frozenset({"int", "float", "bool", "complex"})


@dataclass(frozen=True, slots=True)
class Harvest:
    """Constants that stand in the failing tests, as source text, most frequent first."""

    ints: tuple[int, ...] = ()
    strings: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()


@dataclass
class Site:
    """One function with everything in it, nested functions included; `node` is the module for its own level."""

    source: SourceFile
    node: Function | ast.Module
    harvest: Harvest = field(default_factory=Harvest)
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Types that variables were seen with, by name; those of nested functions joined in."""

    def walk(self) -> Iterator[ast.AST]:
        """Every node that belongs to the site; the module's level leaves functions out, but has class bodies."""
        if not isinstance(self.node, ast.Module):
            yield from ast.walk(self.node)
            return
        todo: list[ast.AST] = [self.node]
        while todo:
            node = todo.pop(0)
            yield node
            todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, FUNCTIONS)]
            if isinstance(node, ast.Module | ast.ClassDef):
                for function in (child for child in ast.iter_child_nodes(node) if isinstance(child, FUNCTIONS)):
                    todo += [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """`walk`, kept, in order of the text."""
        found = [node for node in self.walk() if not self._annotation(node)]
        return sorted(found, key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)))

    def _annotation(self, node: ast.AST) -> bool:
        parent = self.source.parents.get(node)
        while parent is not None and isinstance(node, ast.expr):
            if isinstance(parent, ast.arg) or (isinstance(parent, ast.AnnAssign) and parent.annotation is node):
                return True
            if isinstance(parent, FUNCTIONS) and (parent.returns is node or node in parent.decorator_list):
                return True
            node, parent = parent, self.source.parents.get(parent)
        return False

    @cached_property
    def loads(self) -> list[ast.expr]:
        """Expressions that are read, docstrings and parts of f-strings apart."""
        return [n for n in self.nodes if isinstance(n, ast.expr) and self._read(n)]

    def _read(self, node: ast.expr) -> bool:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return False
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.Expr):
            return not (isinstance(node, ast.Constant) and isinstance(node.value, str))
        while isinstance(parent, ast.expr):
            if isinstance(parent, ast.JoinedStr):
                return False
            parent = self.source.parents.get(parent)
        return True

    @cached_property
    def names(self) -> list[str]:
        """Variables in scope: parameters and locals in order of appearance, outer functions' after them."""
        found: dict[str, None] = {}
        function: ast.AST | None = self.node
        while isinstance(function, FUNCTIONS):
            arguments = function.args
            for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                found.setdefault(argument.arg)
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found.setdefault(node.id)
                elif isinstance(node, ast.arg):
                    found.setdefault(node.arg)
            function = self.source.function_of(function)
        return [name for name in found if name not in ("cls", "_")]

    @cached_property
    def globals(self) -> list[str]:
        """Names that the module binds: functions, classes, constants, imports."""
        found: dict[str, None] = {}
        for statement in self.source.tree.body:
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                found.setdefault(statement.name)
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                for alias in statement.names:
                    found.setdefault((alias.asname or alias.name).partition(".")[0])
            else:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        found.setdefault(node.id)
        return list(found)

    def types_of(self, node: ast.expr) -> frozenset[str]:
        """Type words an expression was seen with or must have; empty where nothing is known."""
        if isinstance(node, ast.Name):
            return frozenset(self.types.get(node.id, ()))
        if isinstance(node, ast.Constant):
            return frozenset({type(node.value).__name__})
        if isinstance(node, ast.Compare):
            return frozenset({"bool"})
        if isinstance(node, ast.List | ast.ListComp):
            return frozenset({"list"})
        if isinstance(node, ast.JoinedStr):
            return frozenset({"str"})
        if isinstance(node, ast.BinOp):
            return self.types_of(node.left) or self.types_of(node.right)
        if isinstance(node, ast.Call):
            return self._call_type(node.func)
        if isinstance(node, ast.Subscript):
            return self._item_type(node)
        return frozenset()

    def _call_type(self, function: ast.expr) -> frozenset[str]:
        if isinstance(function, ast.Name) and function.id in _KNOWN_CALLS:
            return frozenset({_KNOWN_CALLS[function.id]})
        if isinstance(function, ast.Attribute) and function.attr in _KNOWN_METHODS:
            return frozenset({_KNOWN_METHODS[function.attr]})
        return frozenset()

    def _item_type(self, node: ast.Subscript) -> frozenset[str]:
        outer = self.types_of(node.value)
        if isinstance(node.slice, ast.Slice):
            return outer
        found = set()
        for word in outer:
            if word == "str":
                found.add("str")
            elif "[" in word:
                found.add(word.partition("[")[2].rstrip("]").rpartition(",")[2])
        return frozenset(found)

    def kinds_of(self, node: ast.expr) -> frozenset[str]:
        """`types_of` without element types."""
        return frozenset(word.partition("[")[0] for word in self.types_of(node))

    def may_be(self, node: ast.expr, kinds: frozenset[str]) -> bool:
        """Whether an expression may have one of the types; unknown may be anything."""
        known = self.kinds_of(node)
        return not known or bool(known & kinds)

    def make(
        self, edits: Edit | Sequence[Edit], operator: str, prior: float, line: int, *, removes: bool = False
    ) -> Candidate:
        """A candidate of this site."""
        given = (edits,) if isinstance(edits, Edit) else tuple(edits)
        return Candidate(given, operator, prior, line, removes)

    def swap(
        self, node: ast.expr, text: str, operator: str, prior: float, *, compound: bool = True, removes: bool = False
    ) -> Candidate:
        """A candidate that puts other text in an expression's place."""
        return self.make(
            self.source.replace(node, text, compound=compound), operator, prior, node.lineno, removes=removes
        )


Operator = Callable[["Site"], Iterator[Candidate]]
BUILTINS = frozenset(dir(builtins))
