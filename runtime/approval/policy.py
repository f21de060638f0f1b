"""From a tool call and a mode to what happens with it: it runs, it waits for the supervisor, or it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.approval.reading import Ground, why_not_reading

READERS = frozenset({"read_file", "search"})
WRITERS = frozenset({"edit_file", "write_file"})


class Does(StrEnum):
    """What happens with a call."""

    RUNS = "runs"
    WAITS = "waits"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens with a call, and why it isn't provably read-only (half a sentence; empty where it simply runs)."""

    does: Does
    why: str = ""


def why_not_read_only(tool: str, arguments: Mapping[str, Any], ground: Ground) -> str:
    """Why a well-formed call isn't provably read-only; empty where it is."""
    if tool in READERS:
        return ""
    if tool in WRITERS:
        return "it writes a file"
    if tool == "shell":
        return why_not_reading(str(arguments.get("command", "")), ground)
    return "the tool isn't known to be harmless"


def decide(mode: str, tool: str, arguments: Mapping[str, Any], ground: Ground) -> Decision:
    """What a mode makes of a well-formed call. Every mode but `auto` judges it; an unknown mode is as strict as the strictest."""
    if mode == "auto":
        return Decision(Does.RUNS)
    why = why_not_read_only(tool, arguments, ground)
    if not why:
        return Decision(Does.RUNS)
    return Decision(Does.WAITS if mode == "ask" else Does.REFUSED, why)


def refusal(why: str) -> str:
    """What the model reads of a call that a read-only run refuses."""
    return (
        f"Not executed: this run may only read, and {why}. Use read_file, search, or a shell command that only reads "
        "(cat, ls, grep, find, git log, git diff, ... without writing, substitution or other programs), and describe the "
        "change that you would make instead of making it."
    )


def denial(sender: str, reason: str) -> str:
    """What the model reads of a call that was denied."""
    said = f" The reason given: {reason}" if reason else " No reason was given."
    return f"Not executed: {sender} denied this call.{said}\nDon't repeat it; find another way, or end your turn and say what you need."


NOBODY = "nobody can be asked: the run has no supervisor"
"""Why a call that would wait is denied where a run may not hold."""


def shown_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """All of a call that a supervisor must read before it is let through."""
    if tool == "shell":
        return str(arguments.get("command", ""))
    if tool == "write_file":
        return f"{arguments.get('path', '')}\n{arguments.get('content', '')}"
    if tool == "edit_file":
        every = " (every occurrence)" if arguments.get("replace_all") else ""
        old = "\n".join(f"- {line}" for line in str(arguments.get("old", "")).split("\n"))
        new = "\n".join(f"+ {line}" for line in str(arguments.get("new", "")).split("\n"))
        return f"{arguments.get('path', '')}{every}\n{old}\n{new}"
    return "\n".join(f"{name}: {value}" for name, value in arguments.items())
