"""Which lines of the project a test executes, between which assertions, and what types its variables had."""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any, Dict, List, Optional, Set, Tuple

from .soft import Recorder

MAX_EVENTS = 150_000
"""Line events after which a test's trace is complete enough."""
TYPED_CALLS = 4
"""Calls of one function whose variables are looked at."""
Line = Tuple[str, int]


def type_word(value: Any) -> str:
    """Short name of a value's type; of a collection, with its first element's."""
    name = type(value).__name__
    try:
        if type(value) in (list, tuple, set, frozenset) and value:
            return "%s[%s]" % (name, type(next(iter(value))).__name__)
        if type(value) is dict and value:
            key = next(iter(value))
            return "dict[%s,%s]" % (type(key).__name__, type(value[key]).__name__)
    except Exception:
        return name
    return name


class Tracer:
    """Traces project lines through `sys.settrace`; `parts` maps an assertion's line to the lines executed for it."""

    def __init__(self, root: str, tests: Set[str], recorder: Recorder) -> None:
        self._root = root + os.sep
        self._tests = tests
        self._names: Dict[str, Optional[str]] = {}
        self._recorder = recorder
        self.lines: Set[Line] = set()
        self._part: Set[Line] = set()
        self.parts: Dict[int, Set[Line]] = {}
        self.types: Dict[str, Dict[str, Set[str]]] = {}
        self._calls: Dict[str, int] = {}
        self._events = 0
        self._off = False

    def _wanted(self, filename: str) -> Optional[str]:
        if filename not in self._names:
            real = "" if filename.startswith("<") else os.path.realpath(filename)
            inside = real.startswith(self._root) and "site-packages" not in real and real not in self._tests
            self._names[filename] = real[len(self._root) :] if inside else None
        return self._names[filename]

    def start(self) -> None:
        """Begin."""
        self._recorder.on_assert = self._asserted
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        """End."""
        sys.settrace(None)
        threading.settrace(None)
        self._recorder.on_assert = None
        self.lines |= self._part

    def _asserted(self, line: int, held: bool) -> None:
        self.parts.setdefault(line, set()).update(self._part)
        self.lines |= self._part
        self._part = set()

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self._off:
            return None
        rel = self._wanted(frame.f_code.co_filename)
        if rel is None:
            return None
        name = "%s:%d" % (rel, frame.f_code.co_firstlineno)
        calls = self._calls[name] = self._calls.get(name, 0) + 1
        typed = calls <= TYPED_CALLS

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                self._part.add((rel, frame.f_lineno))
                self._events += 1
                if self._events > MAX_EVENTS:
                    self._off = True
                    return None
            elif event == "return" and typed:
                self._types(name, frame, arg)
            return local

        self._part.add((rel, frame.f_lineno))
        return local

    def _types(self, name: str, frame: FrameType, returned: Any) -> None:
        found = self.types.setdefault(name, {})
        for variable, value in list(frame.f_locals.items())[:40]:
            found.setdefault(variable, set()).add(type_word(value))
        if returned is not None:
            found.setdefault("return", set()).add(type_word(returned))

    def report(self) -> Dict[str, Any]:
        """What was seen, ready for a message."""
        return {
            "lines": _packed(self.lines),
            "parts": {str(line): _packed(lines) for line, lines in self.parts.items()},
            "types": {name: {v: sorted(t) for v, t in found.items()} for name, found in self.types.items()},
        }


def _packed(lines: Set[Line]) -> Dict[str, List[int]]:
    packed: Dict[str, List[int]] = {}
    for rel, line in sorted(lines):
        packed.setdefault(rel, []).append(line)
    return packed
