"""Which import a name that isn't defined stands for: standard library modules, their best known names, the project's own."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping

from runtime.models.local.source import FUNCTIONS, Edit, SourceFile

_UNDEFINED = re.compile(r"^(?:Undefined name `(?P<a>\w+)`|Name \"(?P<b>\w+)\" is not defined)")
_EXPORTS: Mapping[str, str] = {
    name: module
    for module, names in {
        "abc": "ABC abstractmethod",
        "collections": "Counter OrderedDict defaultdict deque namedtuple",
        "collections.abc": "AsyncIterator Awaitable Callable Generator Hashable Iterable Iterator Mapping MutableMapping Sequence",
        "contextlib": "asynccontextmanager closing contextmanager suppress",
        "dataclasses": "asdict astuple dataclass field",
        "datetime": "date timedelta timezone",
        "decimal": "Decimal",
        "enum": "Enum IntEnum StrEnum",
        "fractions": "Fraction",
        "functools": "cached_property lru_cache partial reduce total_ordering wraps",
        "pathlib": "Path PurePath",
        "typing": "Any ClassVar Final Generic Literal NamedTuple Optional Protocol TypedDict TypeVar Union cast",
        "uuid": "UUID uuid4",
    }.items()
    for name in names.split()
}


def undefined(words: str) -> str | None:
    """The name that a finding says is not defined."""
    match = _UNDEFINED.match(words)
    return (match["a"] or match["b"]) if match else None


def statement_for(name: str, source: SourceFile, others: Mapping[str, SourceFile]) -> str | None:
    """The import statement that defines a name; None where none or several are likely."""
    if name in _EXPORTS:
        return f"from {_EXPORTS[name]} import {name}"
    attributes = {
        node.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    if name in ("datetime", "time", "date") and not attributes & {
        "datetime",
        "timedelta",
        "sleep",
        "monotonic",
        "time",
    }:
        return "from datetime import datetime" if name == "datetime" else None
    if name in sys.stdlib_module_names and attributes:
        return f"import {name}"
    homes = [path for path, other in others.items() if path != source.path and name in _defined(other)]
    return f"from {_module(homes[0])} import {name}" if len(homes) == 1 else None


def _defined(source: SourceFile) -> set[str]:
    found = set()
    for statement in source.tree.body:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            found.add(statement.name)
        elif isinstance(statement, ast.Assign):
            found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return found


def _module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def insertion(source: SourceFile, statement: str) -> Edit:
    """Add an import behind the first imports of the file, or behind its docstring where it has none."""
    after = 0
    for at, node in enumerate(source.tree.body):
        docstring = at == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        after = node.end_lineno or node.lineno
    start = source.line_start(after + 1)
    lead = "" if not after or source.text[:start].endswith("\n") else source.newline
    return Edit(source.path, start, start, f"{lead}{statement}{source.newline}")
