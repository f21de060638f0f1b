"""Verify commands that throw their own status away: named before anything is spent on their word.

A finding here refuses the command, so it is only said what the command certainly does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.verify.shell import Piece, read

# They succeed whatever the check before them did.
_SUCCEED = frozenset({"true", ":", "echo", "printf", "/bin/true", "/usr/bin/true", "wait", "sleep", "date"})
# They prepare a check and are none themselves.
_PRELUDE = frozenset(
    {"cd", "pushd", "export", "source", ".", "set", "unset", "shopt", "umask", "ulimit", "alias", "trap", "local"}
    | {"mkdir", "touch", "rm", "cp", "echo", "printf", "true", ":", "pwd", "declare", "sleep", "date", "which"}
)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "/bin/sh", "/bin/bash", "/usr/bin/bash"})
# Words of the shell's grammar that stand before a command, and those whose command is a condition, not a check.
_LEADING = frozenset({"then", "else", "do", "time"})
_CONDITIONS = frozenset({"if", "elif", "while", "until", "for", "case", "fi", "done", "esac", "[", "[[", "test"})
_LOOPS = {"for": "done", "while": "done", "until": "done", "if": "fi", "case": "esac"}
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
_STATUS_KEPT = re.compile(r"^[A-Za-z_]\w*=\$\{?\?\}?$")
_LENIENT = (
    (re.compile(r"(?:^|\s)--exit-zero\b"), "`--exit-zero` makes it pass whatever it finds"),
    (
        re.compile(r"(?:^|\s)--pass-?with-?no-?tests\b", re.IGNORECASE),
        "`--passWithNoTests` makes it pass without a test",
    ),
    (re.compile(r"(?:^|\s)(?:--collect-only|--co)\b"), "`--collect-only` runs no test"),
    (re.compile(r"(?:^|\s)--no-run\b"), "`--no-run` runs no test"),
    (re.compile(r"^(?:g?make|npm|pnpm|yarn)\b.*\s(?:-i|--ignore-errors|--if-present)(?:\s|$)"), "it ignores errors"),
)


def status_hazards(command: str) -> list[str]:
    """Why the command's exit status isn't that of its checks, a sentence each; a pipeline is none (pipefail is on)."""
    parsed = read(command)
    if parsed is None:
        return ["it can't be parsed: a quote or a parenthesis is not closed"]
    pieces, end = parsed
    found = _of_list(pieces, pipefail=True)
    if end == "&":
        found.append("the `&` at its end puts it into the background, where its status is lost")
    return list(dict.fromkeys(found))


def _of_list(pieces: Sequence[Piece], *, pipefail: bool) -> list[str]:
    """Hazards of a list of commands, groups included."""
    found = []
    # What a function or a branch of a `case` does is known only where it is used.
    stops = _stops_at_failure(pieces) or any(piece.operator in ("(", ")") for piece in pieces)
    if (keyword := _keyword(pieces)) is not None:
        return [] if stops or _exits(pieces) else [f"its status is that of `{keyword}`, not of the checks in it"]
    for index, piece in enumerate(pieces):
        if piece.inside is not None:
            found += _of_list(piece.inside, pipefail=pipefail)
        else:
            found += _of_command(piece)
        if piece.operator == "||" and _succeeds(piece) and not _exits(pieces[index + 1 :]):
            found.append(f"`|| {piece.text}` makes it pass always")
        if piece.operator in (";", "\n") and not stops and (lost := _lost(pieces, index)) is not None:
            found.append(f"`; {piece.text}` replaces the status of `{lost.text}`; use `&&`")
        if piece.operator == "&" and not any(map(_checks, pieces[index:])):
            found.append("`&` puts the check into the background, where its status is lost")
        if piece.operator in ("|", "|&") and not pipefail:
            found.append("a shell of its own has no pipefail: the pipe hides the status; leave `sh -c` away")
    return found


def _of_command(piece: Piece) -> list[str]:
    words = _without_assignments(piece.words)
    if not words:
        return []
    text = " ".join(words)
    found = [why for pattern, why in _LENIENT if pattern.search(text)]
    if words[0] == "!":
        found.append("`!` turns its status round")
    if words[:2] == ["set", "+e"] or words[:3] == ["set", "+o", "errexit"] or words[:3] == ["set", "+o", "pipefail"]:
        found.append(f"`{text}` switches the checking of statuses off")
    if words[0] == "trap" and "exit 0" in text:
        found.append("`trap` ends it with status 0")
    if words[0] in ("echo", "printf") and re.search(r"\$\((?!\()|`", text):
        found.append(f"`{words[0]}` replaces the status of what it quotes")
    if words[0] in _SHELLS:
        found += _of_shell(words)
    return found


def _of_shell(words: Sequence[str]) -> list[str]:
    """Hazards of `bash -c '...'`, which is a script of its own."""
    for index, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-[a-z]*c", word):
            options = words[1:index]
            inner = read(words[index + 1])
            if inner is None:
                return ["the script in it can't be parsed"]
            pieces = inner[0]
            if "e" in "".join(option for option in [*options, word] if option.startswith("-")):
                pieces = (Piece("", ("set", "-e")), *(Piece(p.operator or ";", p.words, p.inside) for p in pieces))
            pipefail = "pipefail" in options or any("pipefail" in piece.words for piece in pieces)
            return _of_list(pieces, pipefail=pipefail)
    return []


def _without_assignments(words: Sequence[str]) -> list[str]:
    rest = list(words)
    while rest and (_ASSIGNMENT.match(rest[0]) or rest[0] in _LEADING):
        rest.pop(0)
    return rest


def _lost(pieces: Sequence[Piece], index: int) -> Piece | None:
    """The check whose status the command at `index` replaces, if it does: its status is kept by `exit $?` or `rc=$?`."""
    piece, before = pieces[index], pieces[index - 1] if index else None
    words = piece.words
    if words and words[0] in _CONDITIONS | {"then", "else", "do"} - {"[", "[[", "test"}:
        return None
    if index == len(pieces) - 1 and _succeeds(piece):
        # The last word is certain; which check it speaks over is the nearest one.
        before = next(filter(_checks, reversed(pieces[:index])), None)
    if before is None or not _checks(before):
        return None
    if words and (words[0] == "exit" and (len(words) == 1 or "$" in words[1] or words[1] != "0")):
        return None
    if words and _STATUS_KEPT.match(words[0]) and _exits(pieces[index:]):
        return None
    return before


def _checks(piece: Piece) -> bool:
    """Whether a command may be a check, whose status matters."""
    if piece.inside is not None:
        return any(map(_checks, piece.inside))
    words = _without_assignments(piece.words)
    return bool(words) and words[0] not in _PRELUDE | _SUCCEED | _CONDITIONS | {"exit", "return", "function"}


def _succeeds(piece: Piece) -> bool:
    """Whether a command succeeds for certain."""
    if piece.inside is not None:
        return bool(piece.inside) and _succeeds(piece.inside[-1]) and not _exits(piece.inside)
    words = _without_assignments(piece.words)
    return not words or words[0] in _SUCCEED or words[:2] in (["exit", "0"], ["return", "0"])


def _exits(pieces: Sequence[Piece]) -> bool:
    """Whether a command in the list leaves with a status that isn't 0 for certain."""
    for piece in pieces:
        words = [word for word in piece.words if word not in ("then", "else", "do")]
        if words == ["false"] or (words[:1] in (["exit"], ["return"]) and words[1:] != ["0"]):
            return True
        if piece.inside is not None and _exits(piece.inside):
            return True
    return False


def _stops_at_failure(pieces: Sequence[Piece]) -> bool:
    """Whether the list ends at the first failure by its own setting, which must come first."""
    words = pieces[0].words if pieces else ()
    options = "".join(word for word in words[1:] if word.startswith("-"))
    return words[:1] == ("set",) and ("e" in options or "errexit" in words)


def _keyword(pieces: Sequence[Piece]) -> str | None:
    """The keyword that governs the list's end: a loop or a condition has a status of its own."""
    closing = {word: opening for opening, word in _LOOPS.items()}
    last = pieces[-1].words if pieces else ()
    return closing.get(last[0]) if last else None
