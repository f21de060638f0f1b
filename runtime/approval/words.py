"""Read a shell line so far that every word of it is known, or not at all.

Stricter than `runtime.verify.shell`, which asks only whose exit status counts: here whatever is substituted, grouped, put into the
background or written to a file makes the line unclear, because a line that isn't wholly understood can't be called harmless.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from runtime.text import hidden_characters

SINK = "/dev/null"
_SEPARATORS = ("&&", "||", "|&", ";", "|", "\n")
_REDIRECTION = re.compile(r"(?:\d*|&(?=>))(<<<|<<|<>|<&|>>|>\||>&|<|>)")
_EXPANSIONS = {
    "`": "it runs a command inside of a word",
    "(": "it has parentheses",
    ")": "it has parentheses",
    "{": "it has braces",
    "}": "it has braces",
}
_STATUS = "0"
"""Stands for `$?`, which is a small number whatever it is."""


class Unclear(Exception):
    """The line isn't wholly understood; the message says why, as half a sentence."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word after quote removal. `glob`: the shell may put file names in its place; `home`: it begins with an unquoted tilde."""

    text: str
    glob: bool = False
    home: bool = False


@dataclass
class Plain:
    """A command with its words, and the files that it reads through `<`."""

    words: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    redirected: bool = False


def plain_commands(line: str) -> tuple[Plain, ...]:
    """The commands of a line, whatever operators stand between them. Raises Unclear."""
    if hidden_characters(line):
        raise Unclear("it has hidden characters")
    commands, present, at = [], Plain(), 0
    while at < len(line):
        char = line[at]
        separator = next((one for one in _SEPARATORS if line.startswith(one, at)), "")
        if char in " \t":
            at += 1
        elif line.startswith("\\\n", at) and line[at - 1 : at] in ("", " ", "\t"):
            # Elsewhere a continued line may join two halves of an operator or of a name.
            at += 2
        elif char == "#":
            at = _line_end(line, at)
        elif found := _REDIRECTION.match(line, at):
            at = _redirect(line, found.end(), found[1], present)
        elif separator:
            if present.words:
                commands.append(present)
                present = Plain()
            elif separator != "\n" or present.redirected:
                raise Unclear("a command is missing in it")
            at += len(separator)
        elif char == "&":
            raise Unclear("it puts a command into the background")
        else:
            word, at = _word(line, at)
            present.words.append(word)
    if present.words:
        commands.append(present)
    elif present.redirected:
        raise Unclear("a command is missing in it")
    if not commands:
        raise Unclear("there is no command in it")
    return tuple(commands)


def _line_end(line: str, at: int) -> int:
    end = line.find("\n", at)
    return len(line) if end < 0 else end


def _redirect(line: str, at: int, operator: str, present: Plain) -> int:
    """Take a redirection whose target begins at `at`; only reading, closing, joining and the null device are harmless."""
    present.redirected = True
    if operator in ("<<", "<<<"):
        raise Unclear("it has a here-document")
    while line[at : at + 1] in (" ", "\t"):
        at += 1
    if at >= len(line) or line[at] in "<>;|&\n#":
        raise Unclear("a redirection has no target")
    target, end = _word(line, at)
    if operator == "<":
        if target.glob:
            raise Unclear("it reads from a pattern of file names")
        present.reads.append(target)
    elif operator in (">&", "<&") and re.fullmatch(r"\d+|-", line[at:end]):
        pass
    elif operator == "<>" or target.glob or target.home or target.text != SINK:
        raise Unclear("it writes to a file")
    return end


def _word(line: str, at: int) -> tuple[Word, int]:
    """The word that begins here and its end."""
    text: list[str] = []
    glob, home = False, line[at] == "~"
    while at < len(line) and line[at] not in " \t\n;&|<>":
        char = line[at]
        if char == "'":
            end = line.find("'", at + 1)
            if end < 0:
                raise Unclear("a quote isn't closed")
            text.append(line[at + 1 : end])
            at = end + 1
        elif char == '"':
            part, at = _double_quoted(line, at + 1)
            text.append(part)
        elif char == "\\":
            if line[at + 1 : at + 2] in ("", "\n"):
                raise Unclear("it ends with a backslash" if at + 1 == len(line) else "a word goes on in another line")
            text.append(line[at + 1])
            at += 2
        elif line.startswith("$?", at):
            text.append(_STATUS)
            at += 2
        elif char == "$" or char in _EXPANSIONS:
            raise Unclear(_EXPANSIONS.get(char, "it substitutes a value"))
        elif not " " < char < "\x7f":
            raise Unclear("a character beyond ASCII isn't quoted")
        else:
            glob = glob or char in "*?["
            home = home or (char == "~" and line[at - 1] in "=:")
            text.append(char)
            at += 1
    return Word("".join(text), glob, home), at


def _double_quoted(line: str, at: int) -> tuple[str, int]:
    """The text up to the closing quote, and the place after it. Within double quotes a backslash escapes only a few characters."""
    part: list[str] = []
    while line[at : at + 1] != '"':
        if at >= len(line):
            raise Unclear("a quote isn't closed")
        char, after = line[at], line[at + 1 : at + 2]
        if char == "\\" and after and after in '$`"\\\n':
            part.append("" if after == "\n" else after)
            at += 2
        elif char == "$" and after == "?":
            part.append(_STATUS)
            at += 2
        elif char == "`" or (char == "$" and after not in ('"', " ", "|")):
            raise Unclear(_EXPANSIONS.get(char, "it substitutes a value"))
        else:
            part.append(char)
            at += 1
    return "".join(part), at + 1
