"""Whether a shell line only reads: judged on its parsed words against the table, never on how it begins."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runtime.approval.table import COMMANDS, GIT, GIT_BEFORE, GPG_FORMAT, SED_SCRIPT, Rule
from runtime.approval.words import Plain, Unclear, Word, plain_commands
from runtime.text import one_line

SHOWN = 60
_HARMLESS_PLACES = frozenset({"/dev/null", "/dev/stdin"})
_NUMBER = re.compile(r"-\d+[bckMGw]?")


@dataclass(frozen=True, slots=True)
class Ground:
    """What must be known of the place where commands run."""

    roots: tuple[str, ...]
    """The workspace's absolute names, as commands see it."""
    trusted: Callable[[str], bool]
    """Whether a bare name is found on PATH, and as a program that commands can't have put there."""
    own_git: Callable[[], bool]
    """Whether git's configuration and hooks in the workspace are as they were when the run began."""


def why_not_reading(line: str, ground: Ground) -> str:
    """Why a shell line isn't provably read-only, as half a sentence; empty where it is."""
    try:
        commands = plain_commands(line)
    except Unclear as unclear:
        return str(unclear)
    moved = False
    for command in commands:
        why = _why_not(command, ground, moved)
        if why:
            return why
        moved = moved or command.words[0].text == "cd"
    return ""


def _why_not(command: Plain, ground: Ground, moved: bool) -> str:
    name, words = command.words[0], command.words[1:]
    rule = COMMANDS.get(name.text)
    if name.text == "git" and not name.glob:
        if moved:
            # Another folder may hold a repository whose configuration runs programs.
            return "it uses git in another folder"
        if not ground.own_git():
            return "git's configuration in the workspace was changed since the run began, and may run programs"
        return (
            _no_program(name.text, ground) or _git(words, ground) or _first(_outside(w, ground) for w in command.reads)
        )
    if rule is None or name.glob:
        return f"{_quoted(name.text)} isn't among the commands that only read"
    if not rule.builtin and (why := _no_program(name.text, ground)):
        return why
    return (
        _special(name.text, words)
        or _words(name.text, rule, words, ground)
        or _first(_outside(w, ground) for w in command.reads)
    )


def _first(reasons: object) -> str:
    return next((why for why in reasons if why), "")  # type: ignore[attr-defined]


def _quoted(text: str) -> str:
    return f"`{one_line(text, SHOWN)}`"


def _no_program(name: str, ground: Ground) -> str:
    return "" if ground.trusted(name) else f"{_quoted(name)} isn't found on PATH outside of the workspace"


def _git(words: Sequence[Word], ground: Ground) -> str:
    at = 0
    while at < len(words) and words[at].text in GIT_BEFORE:
        at += 1
    if at == len(words):
        return "git is called without a subcommand"
    subcommand = words[at]
    rule = GIT.get(subcommand.text)
    if rule is None or subcommand.glob:
        return f"{_quoted('git ' + subcommand.text)} isn't among the commands that only read"
    rest = words[at + 1 :]
    if any(GPG_FORMAT.search(word.text) for word in rest):
        return "git would run another program to check signatures"
    return _words(f"git {subcommand.text}", rule, rest, ground)


def _special(name: str, words: Sequence[Word]) -> str:
    """What can't be said by options alone."""
    if name == "printf" and words and (words[0].text.startswith("-") or words[0].glob):
        return "printf may set a variable"
    if name == "sed":
        script = next((word for word in words if not word.text.startswith("-")), None)
        if script is None or script.glob or not SED_SCRIPT.fullmatch(script.text):
            return "sed's script does more than print lines"
    return ""


def _words(name: str, rule: Rule, words: Sequence[Word], ground: Ground) -> str:
    """Check options and operands against a rule."""
    if rule.free:
        return ""
    if rule.needs and not (words and words[0].text in rule.needs):
        return f"{_quoted(name)} without {' or '.join(sorted(rule.needs))} may do more than read"
    patterns = rule.patterns
    operands: list[Word] = []
    for at, word in enumerate(words):
        text = word.text
        if len(text) > 1 and text.startswith("-"):
            if text == "--" and not word.glob:
                return _operands(name, rule, [*operands, *words[at + 1 :]], patterns, ground, ended=True)
            if rule.most is not None and operands:
                return f"{_quoted(name)} has an option after an operand"
            why = _option(name, rule, word, ground)
            if why:
                return why
            if _gives_pattern(rule, text):
                patterns = 0
        else:
            operands.append(word)
    return _operands(name, rule, operands, patterns, ground)


def _gives_pattern(rule: Rule, text: str) -> bool:
    if text.startswith("--"):
        return text.partition("=")[0] in rule.pattern_options
    return any(f"-{letter}" in rule.pattern_options for letter in text[1:])


def _option(name: str, rule: Rule, word: Word, ground: Ground) -> str:
    text = word.text
    refused = f"{_quoted(f'{name} {text}')} isn't among the options that only read"
    if word.glob:
        return refused
    head, equals, value = text.partition("=")
    if head in rule.exact:
        return _outside(Word(value, home=word.home), ground) if equals else ""
    if text.startswith("--"):
        return refused
    if rule.digits and _NUMBER.fullmatch(text):
        return ""
    for at, letter in enumerate(text[1:], 2):
        if letter in rule.valued:
            # An attached value without letters is harmless even to a program that takes it for further options.
            attached = text[at:]
            return (
                refused
                if any(char.isalpha() for char in attached)
                else _outside(Word(attached, home=word.home), ground)
            )
        if letter not in rule.flags:
            return refused
    return ""


def _operands(
    name: str, rule: Rule, operands: Sequence[Word], patterns: int, ground: Ground, ended: bool = False
) -> str:
    if rule.most is not None and (len(operands) > rule.most or any(word.glob for word in operands)):
        return f"{_quoted(name)} has operands that it may write to"
    for at, word in enumerate(operands):
        if ended and word.text.startswith("-") and word.text != "-":
            return f"{_quoted(f'{name} {word.text}')} has an option after the end of options"
        if word.glob and word.text[0] in "*?[-":
            return "a file name may be taken for an option (write ./* for *)"
        if rule.operand is not None and not rule.operand.fullmatch(word.text):
            return f"{_quoted(f'{name} {word.text}')} may do more than read"
        if at >= patterns and (why := _outside(word, ground)):
            return why
    return ""


def _outside(word: Word, ground: Ground) -> str:
    """Why a word, taken as a path, leads out of the workspace; empty where it doesn't."""
    if word.home:
        return "it reads from a home directory"
    path = posixpath.normpath(word.text) if word.text else ""
    if path.startswith("/"):
        path = "/" + path.lstrip("/")
        if path in _HARMLESS_PLACES or any(path == root or path.startswith(f"{root}/") for root in ground.roots):
            return ""
    elif path != ".." and not path.startswith("../"):
        return ""
    return f"{_quoted(word.text)} lies outside of the workspace"
