"""Read a shell command as far as its exit status needs: lists, pipelines, groups and plain commands.

Not a whole shell: what is quoted or substituted stays part of its word, redirections are dropped, keywords are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_OPERATORS = ("&&", "||", ";;", "|&", ";", "&", "|", "(", ")", "\n")
# The lines of a here-document are input, not commands.
_HEREDOC = re.compile(r"((?<!<)<<(?!<)-?[ \t]*(['\"]?)(\w+)\2[^\n]*)\n(?:[^\n]*\n)*?[ \t]*\3[ \t]*(?=\n|$)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A plain command (`words`, quotes removed) or a group (`inside`), with the operator before it."""

    operator: str
    words: tuple[str, ...] = ()
    inside: tuple[Piece, ...] | None = None

    @property
    def text(self) -> str:
        """The command as one line."""
        return " ".join(self.words) if self.inside is None else "( ... )"


@dataclass
class _Level:
    operator: str
    closes: str
    pieces: list[Piece] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    pending: str = ""
    group: tuple[Piece, ...] | None = None

    def end(self, operator: str) -> None:
        """Close the command before an operator; line ends and empty commands join their neighbours."""
        if self.words or self.group is not None:
            self.pieces.append(Piece(self.pending, tuple(self.words), self.group))
            self.words, self.group, self.pending = [], None, operator
        elif operator not in ("\n", ";") or not self.pending:
            self.pending = operator if self.pieces else ""


def read(command: str) -> tuple[tuple[Piece, ...], str] | None:
    """The command's pieces in order and the operator it ends with; None where a quote or a group isn't closed."""
    levels = [_Level("", "")]
    try:
        for token, quoted in _tokens(_HEREDOC.sub(r"\1", command)):
            level = levels[-1]
            opens = "" if quoted or level.words else {"(": ")", "{": "}"}.get(token, "")
            if opens:
                levels.append(_Level(level.pending, opens))
            elif not quoted and token == level.closes and (token == ")" or not level.words):
                level.end("")
                levels.pop()
                levels[-1].group = tuple(level.pieces)
            elif not quoted and token in _OPERATORS:
                level.end(token)
            else:
                level.words.append(token)
    except ValueError:
        return None
    last = levels.pop()
    if levels:
        return None
    if last.words or last.group is not None:
        last.end("")
    return tuple(last.pieces), last.pending


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Words and operators, each with whether it was quoted (then it is no operator). Raises ValueError at an open quote."""
    at, size = 0, len(text)
    while at < size:
        char = text[at]
        if char in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif char == "#":
            at = _find(text, "\n", at)
        elif text.startswith(("<(", ">("), at):
            end = _closing(text, at + 2)
            yield text[at:end], True
            at = end
        elif (skipped := _redirection(text, at)) > at:
            at = skipped
        elif operator := next((o for o in _OPERATORS if text.startswith(o, at)), ""):
            yield operator, False
            at += len(operator)
        else:
            word, at, quoted = _word(text, at)
            yield word, quoted


def _find(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    return len(text) if found < 0 else found


def _redirection(text: str, at: int) -> int:
    """Where the redirection that begins here ends (`2>&1`, `&> log`, `< in`); `at` where none begins."""
    start = at
    while at < len(text) and text[at].isdigit():
        at += 1
    if text.startswith(("&>", ">", "<"), at) and not text.startswith(("<(", ">("), at):
        while at < len(text) and text[at] in "&<>|-":
            at += 1
        while at < len(text) and text[at] in " \t":
            at += 1
        if at < len(text) and text[at] not in ";&|\n()":
            _, at, _ = _word(text, at)
        return at
    return start


def _word(text: str, at: int) -> tuple[str, int, bool]:
    """The word that begins here, its end, and whether a part of it was quoted."""
    word, quoted = [], False
    while at < len(text) and text[at] not in " \t\r\n;&|()<>":
        char = text[at]
        if char == "'":
            end = text.index("'", at + 1)
            word.append(text[at + 1 : end])
            at, quoted = end + 1, True
        elif char == '"':
            part, at = _double_quoted(text, at + 1)
            word.append(part)
            quoted = True
        elif char == "\\" and at + 1 < len(text):
            word.append(text[at + 1])
            at, quoted = at + 2, True
        elif text.startswith("$(", at):
            end = _closing(text, at + 2)
            word.append(text[at:end])
            at = end
        elif char == "`":
            end = text.index("`", at + 1) + 1
            word.append(text[at:end])
            at = end
        else:
            word.append(char)
            at += 1
    if not word and not quoted:
        raise ValueError("no word here")
    return "".join(word), at, quoted


def _double_quoted(text: str, at: int) -> tuple[str, int]:
    part = []
    while text[at : at + 1] != '"':
        if at >= len(text):
            raise ValueError("open quote")
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        part.append(text[at])
        at += 1
    return "".join(part), at + 1


def _closing(text: str, at: int) -> int:
    """The place after the parenthesis that closes a substitution."""
    depth = 1
    while depth:
        if at >= len(text):
            raise ValueError("open substitution")
        if text[at] == "'":
            at = text.index("'", at + 1)
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at
