"""Soft assertions: in trials a test goes on after a failed assertion, so that each assertion counts like a small test of its own.

The real run decides in the end; this only tells how near a candidate came.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Callable, List, Optional, Set

HIT = "__looptop_hit__"
MISS = "__looptop_miss__"


class Recorder:
    """Which assertions held and which didn't, by line, for the running test."""

    def __init__(self) -> None:
        self.hits: Set[int] = set()
        self.misses: Set[int] = set()
        self.on_assert: Optional[Callable[[int, bool], None]] = None
        setattr(builtins, HIT, self._hit)
        setattr(builtins, MISS, self._miss)

    def reset(self) -> None:
        """Forget the test before."""
        self.hits = set()
        self.misses = set()

    def _hit(self, line: int) -> None:
        self.hits.add(line)
        if self.on_assert is not None:
            self.on_assert(line, True)

    def _miss(self, line: int) -> None:
        self.misses.add(line)
        if self.on_assert is not None:
            self.on_assert(line, False)


def _is_check(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    function = node.value.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "self"
        and function.attr.startswith("assert")
    )


class _Softener(ast.NodeTransformer):
    """Wraps every assertion that isn't already inside a `try` or a `with` that may expect it to fail."""

    def __init__(self) -> None:
        self.count = 0

    def visit_Try(self, node: ast.Try) -> ast.AST:
        return node

    def visit_With(self, node: ast.With) -> Any:
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call):
                name = getattr(call.func, "attr", getattr(call.func, "id", ""))
                if "raises" in name.lower() or "warns" in name or name == "fail":
                    return node
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [self._soft(statement) for statement in statements])
        return node

    def _soft(self, node: Any) -> Any:
        if not isinstance(node, ast.stmt):
            return node
        if not _is_check(node):
            return self.visit(node)
        self.count += 1
        failed = ast.ExceptHandler(
            type=ast.Name(id="Exception", ctx=ast.Load()), name=None, body=[_note(MISS, node.lineno)]
        )
        wrapped = ast.Try(body=[node], handlers=[failed], orelse=[_note(HIT, node.lineno)], finalbody=[])
        return ast.fix_missing_locations(ast.copy_location(wrapped, node))


def _note(name: str, line: int) -> ast.stmt:
    call = ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=[ast.Constant(value=line)], keywords=[])
    return ast.Expr(value=call)


def soften(source: str, filename: str) -> "Optional[Any]":
    """Code of a test module with soft assertions; None where there is nothing to soften."""
    tree = ast.parse(source, filename)
    softener = _Softener()
    functions: List[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            softener.visit(statement)
            functions.append(statement)
    if not softener.count:
        return None
    return compile(tree, filename, "exec", dont_inherit=True)
