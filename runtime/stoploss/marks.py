"""Marks that a step's texts may have: an error, a test run and its outcome, an edit, a look around, an undo, files. Patterns only."""

from __future__ import annotations

import re

_ERROR_NAME = re.compile(r"(?:Error|Exception)\b")
_ERROR_MARK = re.compile(r"\berror\b[:\[]")
_ERROR_WORDS = (
    "traceback (most recent",
    "command not found",
    "no such file",
    "permission denied",
    "cannot ",
    "can't ",
    "fatal:",
    "not recognized",
    "segmentation fault",
    "undefined",
)
FAILS = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|errors?|failing)\b|\bFAILED\b|\bFAIL\b|\bFAILURES?\b|AssertionError|BUILD FAILURE"
)
PASSES = re.compile(
    r"\b[1-9]\d* (?:passed|passing|tests? ok)\b|^OK\b|\bPASSED?\b|BUILD SUCCESS|test result: ok", re.MULTILINE
)
_Marks = tuple[tuple[str, re.Pattern[str]], ...]


def _marks(*pairs: tuple[str, str]) -> _Marks:
    """Patterns, each with a plain text that is in whatever it finds: looking for that first is a hundred times quicker."""
    return tuple((hint, re.compile(pattern, re.MULTILINE)) for hint, pattern in pairs)


TESTS = _marks(
    ("pytest", r"\bpytest\b"),
    ("unittest", r"\bunittest\b"),
    ("tox", r"\btox\b"),
    ("runtests", r"runtests"),
    ("test_", r"\btest_\w+\.py"),
    ("manage.py test", r"manage\.py test"),
    ("npm ", r"\bnpm (?:run )?test"),
    ("go test", r"\bgo test"),
    ("cargo test", r"\bcargo test"),
    ("mvn", r"\bmvn\b.*\btest"),
    ("gradle", r"\bgradlew?\b.*\btest"),
    ("make ", r"\bmake (?:\w+ )?(?:test|check)"),
    ("ctest", r"\bctest\b"),
    ("bin/test", r"\bbin/test\b"),
)
EDITS = _marks(
    ("<<", r"<<-?\s*['\"]?\w+"),
    ("sed", r"\bsed\s+(?:-\w+\s+)*-i"),
    ("apply_patch", r"apply_patch"),
    ("edit_file", r"\bedit_file\b"),
    ("write_file", r"\bwrite_file\b"),
    ("str_replace", r"\bstr_replace\b"),
    ("edit ", r"^\s*edit \d"),
    ("insert ", r"\binsert \d"),
    ("git apply", r"\bgit apply\b"),
    ("patch -p", r"\bpatch -p"),
    ("tee", r"\btee\s+\w"),
    (".write(", r"\.write\("),
    ("write_text(", r"write_text\("),
    ("perl", r"\bperl\s+-p?i"),
    ("create ", r"^create "),
    ("old_string", r"old_string"),
    ("echo", r"\becho .*>\s*\S"),
)
LOOK = re.compile(
    r"^\s*(?:cd \S+\s*&&\s*)?(?:ls|cat|head|tail|find|grep|rg|ag|nl|tree|sed -n|open|search\w*|read_file|goto|scroll_\w+"
    r"|git (?:log|show|diff|status|grep|blame))\b"
)
UNDO = re.compile(r"\bgit (?:checkout|reset|restore|stash|revert|clean)\b|\bundo")
CLEAN = re.compile(r"^\s*rm (?:-\w+ )*\S")
RUN = re.compile(r"\b(?:python[\d.]*|node|ruby|java|bash|sh|go run|cargo run|\./)\s*\S")
# Bounded, and only from a word's beginning: text without blanks must not make it slow.
FILE = re.compile(
    r"(?<![\w./-])[\w./-]{1,200}\.(?:py|java|js|ts|go|rs|c|h|cpp|rb|php|sh|toml|cfg|ini|json|ya?ml|xml|md|txt|rst)\b"
)
DIGITS = re.compile(r"\d+")
SPACES = re.compile(r"\s+")


def marked(text: str, marks: _Marks) -> bool:
    """Whether one of the marks is in a text."""
    return any(hint in text and pattern.search(text) for hint, pattern in marks)


def may_pass(lowered: str) -> bool:
    """Whether it is worth looking for passed tests in an output, given in lower case."""
    return "pass" in lowered or "ok" in lowered or "success" in lowered


def shows_error(text: str, lowered: str) -> bool:
    """Whether an output has a mark of an error; plain searches first, they are a hundred times quicker."""
    if any(words in lowered for words in _ERROR_WORDS):
        return True
    named = ("error" in lowered or "exception" in lowered) and bool(_ERROR_NAME.search(text))
    return named or ("error" in lowered and bool(_ERROR_MARK.search(lowered)))
