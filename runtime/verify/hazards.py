"""Verify commands that throw their own status away: named before anything is spent on their word."""

from __future__ import annotations

import shlex

_ALWAYS_TRUE = {"true", ":", "exit 0", "/bin/true", "/usr/bin/true"}


def _parts(command: str) -> list[tuple[str, str]] | None:
    """The command's simple commands, each with the operator before it; None where it can't be read."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|\n()")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = "#"
    parts: list[tuple[str, list[str]]] = [("", [])]
    try:
        for token in lexer:
            if token and set(token) <= set(";&|\n()"):
                parts.append((token.strip() or ";", []))
            else:
                parts[-1][1].append(token)
    except ValueError:
        return None
    return [(operator, " ".join(words)) for operator, words in parts]


def status_hazards(command: str) -> list[str]:
    """Why the command's exit status may not be that of its checks, a sentence each; a pipeline is none (pipefail is on)."""
    parts = _parts(command)
    if parts is None:
        return ["it can't be parsed: a quote is not closed"]
    found = []
    meaningful = [(operator, words) for operator, words in parts if words or operator not in ("", ";", "\n")]
    for index, (operator, words) in enumerate(meaningful):
        if operator == "||" and words in _ALWAYS_TRUE:
            found.append(f"`|| {words}` makes it pass always")
        if operator in (";", "\n", ";;") and words and index and not _set_e(meaningful):
            found.append(f"`; {words}` replaces the status of what stands before it; use `&&`")
        if operator == "&" and index:
            found.append("`&` puts a check into the background, where its status is lost")
        if words.startswith("set +e") or words.startswith("set +o pipefail"):
            found.append(f"`{words}` switches the checking of statuses off")
    return list(dict.fromkeys(found))


def _set_e(parts: list[tuple[str, str]]) -> bool:
    """Whether the command ends at the first failure by its own setting, which then must come first."""
    first = parts[0][1].split()
    return first[:1] == ["set"] and any(word.startswith("-") and "e" in word for word in first[1:])
