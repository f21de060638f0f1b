"""Put a candidate into a live process: compile the changed statement and exchange the code of the functions that came of it.

What runs at import (defaults, decorators, class bodies, module level) can't be exchanged; such candidates need a fresh import.
"""

from __future__ import annotations
import __future__

import ast
import gc
import os
import re
from types import CodeType, FunctionType
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

_NEWLINE = re.compile(r"\r\n|\r|\n")
CO_OPTIMIZED = 1
Key = Tuple[str, str, int]
Edit = Tuple[int, int, str]


class NeedsImport(Exception):
    """The candidate changes what happens at import."""


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Text with all edits made; they don't overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


class Segment:
    """A function or class at module level, by offsets."""

    def __init__(self, start: int, end: int, line: int) -> None:
        self.start = start
        self.end = end
        self.line = line
        self.code: Optional[CodeType] = None


class ModuleText:
    """A project file as it was imported."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        tree = ast.parse(text)
        starts = [0]
        starts += [match.end() for match in _NEWLINE.finditer(text)]
        starts.append(len(text))
        self.flags = 0
        self.segments: List[Segment] = []
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for name in node.names:
                    self.flags |= getattr(__future__, name.name).compiler_flag
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                line = min([node.lineno, *[d.lineno for d in node.decorator_list]])
                last = min(node.end_lineno or line, len(starts) - 1)
                self.segments.append(Segment(starts[line - 1], starts[last], line))

    def compile(self, segment: Segment, text: str) -> CodeType:
        """Code of a segment's text, at its place in the file."""
        source = "\n" * (segment.line - 1) + text
        code: CodeType = compile(source, self.path, "exec", flags=self.flags, dont_inherit=True)
        return code

    def segment_of(self, edit: Edit) -> Segment:
        """The segment that holds an edit. Raises NeedsImport."""
        for segment in self.segments:
            if segment.start <= edit[0] and edit[1] <= segment.end:
                return segment
        raise NeedsImport


Live = Dict[Key, List[FunctionType]]


def live_functions(root: str) -> Live:
    """Every function object whose code comes from a file below the root. To be called before `gc.freeze`, which hides them."""
    found: Live = {}
    real: Dict[str, str] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType:
            code = thing.__code__
            name = code.co_filename
            path = real.get(name)
            if path is None:
                path = real[name] = "" if name.startswith("<") else os.path.realpath(name)
            if path.startswith(root):
                found.setdefault((path, code.co_name, code.co_firstlineno), []).append(thing)
    return found


def _children(code: CodeType) -> Dict[Tuple[str, int], CodeType]:
    found: Dict[Tuple[str, int], CodeType] = {}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            count = 0
            while (const.co_name, count) in found:
                count += 1
            found[(const.co_name, count)] = const
    return found


def _same_shell(old: CodeType, new: CodeType) -> bool:
    def consts(code: CodeType) -> List[object]:
        # 3.13 stores a class body's first line as a constant; it moves with the text and means nothing.
        kept = [c for c in code.co_consts if not (type(c) is int and c == code.co_firstlineno)]
        return [("code", c.co_name) if isinstance(c, CodeType) else (type(c), repr(c)) for c in kept]

    return old.co_code == new.co_code and old.co_names == new.co_names and consts(old) == consts(new)


def pairs(old: CodeType, new: CodeType, out: List[Tuple[CodeType, CodeType]]) -> None:
    """Pair the code objects of two versions of a segment. Raises NeedsImport where what runs at import differs."""
    shell = not old.co_flags & CO_OPTIMIZED
    if shell and not _same_shell(old, new):
        raise NeedsImport
    olds, news = _children(old), _children(new)
    if shell and olds.keys() != news.keys():
        raise NeedsImport
    for key, child in olds.items():
        other = news.get(key)
        if other is None:
            continue
        if child.co_flags & CO_OPTIMIZED:
            out.append((child, other))
        pairs(child, other, out)


class Swapper:
    """Exchanges code of live functions. Used in forked trials only, so nothing has to be put back."""

    def __init__(self, modules: Dict[str, ModuleText], live: Live) -> None:
        self.modules = modules
        self.live = live

    def swap(self, path: str, edits: Sequence[Edit]) -> None:
        """Put a candidate's edits of one file in. Raises NeedsImport, SyntaxError."""
        module = self.modules[path]
        grouped: Dict[int, List[Edit]] = {}
        by_start: Dict[int, Segment] = {}
        for edit in edits:
            segment = module.segment_of(edit)
            by_start[segment.start] = segment
            grouped.setdefault(segment.start, []).append(edit)
        for start, group in grouped.items():
            segment = by_start[start]
            text = module.text[segment.start : segment.end]
            if segment.code is None:
                segment.code = module.compile(segment, text)
            moved = [(a - start, b - start, new) for a, b, new in group]
            self._exchange(path, segment.code, module.compile(segment, apply_edits(text, moved)))

    def _exchange(self, path: str, old: CodeType, new: CodeType) -> None:
        found: List[Tuple[CodeType, CodeType]] = []
        pairs(old, new, found)
        todo: List[Tuple[FunctionType, CodeType]] = []
        for before, after in found:
            functions = self.live.get((path, before.co_name, before.co_firstlineno), [])
            for function in functions:
                if function.__code__.co_freevars != after.co_freevars:
                    raise NeedsImport
                if before.co_name == "<lambda>" and before != after and len(functions) > 1:
                    raise NeedsImport
                todo.append((function, after))
        for function, code in todo:
            function.__code__ = code


def exchange_module(live: Live, path: str, new: CodeType, skip: Iterable[str]) -> None:
    """Exchange the code of every live function of a module for another version's (soft assertions); best effort."""
    skipped = set(skip)
    by_place: Dict[Tuple[str, int], CodeType] = {}

    def walk(code: CodeType) -> None:
        for child in code.co_consts:
            if isinstance(child, CodeType):
                by_place[(child.co_name, child.co_firstlineno)] = child
                walk(child)

    walk(new)
    real = os.path.realpath(path)
    for (file, name, line), functions in live.items():
        code = by_place.get((name, line))
        if file != real or code is None or name in skipped:
            continue
        for function in functions:
            if function.__code__.co_freevars == code.co_freevars:
                function.__code__ = code
