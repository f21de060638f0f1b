"""Repositories that no edit of Python code can help: missing packages, compiled parts that aren't built, tests that need a network."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from runtime.models.local.errors import CannotHelp
from runtime.models.local.explain import plural
from runtime.models.local.oracle import Oracle, TestFacts

_MISSING = re.compile(
    r"No module named '([\w.]+)'|cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'"
)
_COMPILED = (".c", ".cc", ".cpp", ".pyx", ".pxd", ".rs", ".f90", ".f", ".go", ".zig")
_NETWORK = re.compile(
    r"Name or service not known|[Nn]ame resolution|Network is unreachable|No route to host|nodename nor servname|getaddrinfo failed|"
    r"NameResolutionError|Failed to resolve|gaierror|Max retries exceeded with url"
)  # fmt: skip
CLOSE = 0.75


def check_imports(root: Path, errors: Mapping[str, str], modules: Iterable[str]) -> None:
    """Raise CannotHelp where every file that can't be collected lacks a module that nobody has misspelt."""
    missing = [_missing(text) for text in errors.values()]
    if not missing or not all(missing):
        return
    own = {
        entry.name.removesuffix(".py")
        for folder in (root, root / "src")
        if folder.is_dir()
        for entry in folder.iterdir()
    }
    imported = _imported(root, modules)
    names = sorted({name for name in missing if name})
    for name in names:
        compiled = _compiled(root, name.rpartition(".")[2])
        if compiled:
            raise CannotHelp(
                f"the tests can't be imported: {name} is compiled from {compiled} and isn't built; build it first"
            )
        top = name.partition(".")[0]
        known = own | sys.stdlib_module_names | (imported - {top})
        if top in known or difflib.get_close_matches(top, known, 1, CLOSE):
            return
    raise CannotHelp(f"the tests can't be imported: no module named {', '.join(names)}; install it first")


def _missing(text: str) -> str | None:
    found = list(_MISSING.finditer(text))
    if not found:
        return None
    match = found[-1]
    return match[1] or f"{match[3]}.{match[2]}"


def _compiled(root: Path, name: str) -> str:
    """A source file of a compiled module of this name."""
    for place in sorted(root.rglob(f"{name}.*")):
        if place.suffix in _COMPILED:
            return str(place.relative_to(root))
    return ""


def _imported(root: Path, modules: Iterable[str]) -> set[str]:
    """Modules that the project's files import."""
    found: set[str] = set()
    for path in modules:
        try:
            tree = ast.parse((root / path).read_text(encoding="utf-8", errors="replace"))
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            found |= {name.partition(".")[0] for name in names}
    return found


def leave_out_network(oracle: Oracle, known_failing: frozenset[str]) -> str:
    """Take tests that need a network out of the oracle, and say so. Raises CannotHelp where no other test fails."""
    needy = [test for test in oracle.failing if _needs_network(test)]
    if not needy or oracle.hello.network:
        return ""
    oracle.failing = [test for test in oracle.failing if test not in needy]
    if not oracle.failing and not oracle.hello.errors:
        truly = [test for test in needy if test.id in known_failing or not known_failing]
        shown = ", ".join(test.id for test in (truly or needy)[:3])
        raise CannotHelp(f"the failing tests need a network, which trials don't have ({shown})")
    verb = "needs" if len(needy) == 1 else "need"
    return f" {plural(len(needy), 'test')} {verb} a network, which trials don't have, and {'is' if len(needy) == 1 else 'are'} left out."


def _needs_network(test: TestFacts) -> bool:
    return _NETWORK.search(f"{test.error} {test.message}") is not None
