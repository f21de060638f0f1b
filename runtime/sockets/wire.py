"""What goes over a socket: one line of JSON to ask, one to answer."""

from __future__ import annotations

import json
from typing import Any

from runtime.commands import Command, command_from_dict
from runtime.errors import EnvironmentFault, ExitCode, LooptopError, UsageError
from runtime.events.codec import event_from_dict, event_to_json
from runtime.events.supervision import CommandAccepted, CommandRefused

LINE_BYTES = 1024 * 1024
"""The longest line that is taken, either way."""
Answered = CommandAccepted | CommandRefused


def question(run: str, command: Command) -> bytes:
    """A command for a run, as a line. Raises UsageError where it is too long."""
    line = json.dumps({"run": run, "command": command.model_dump(mode="json")}).encode() + b"\n"
    if len(line) > LINE_BYTES:
        raise UsageError(f"The command is longer than {LINE_BYTES // 1024} KiB.", "Say it in fewer words.")
    return line


def read_question(line: bytes) -> tuple[str, Command]:
    """A line's run and command. Raises UsageError in one sentence for everything else."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("A line came that is not JSON.") from None
    if not isinstance(data, dict) or not isinstance(data.get("run"), str) or not isinstance(data.get("command"), dict):
        raise UsageError('A line holds an object with "run" and "command".')
    return data["run"], command_from_dict(data["command"])


def answer(event: Answered) -> bytes:
    """The answering event, as a line."""
    return b'{"answer": ' + event_to_json(event).encode() + b"}\n"


def failure(error: LooptopError) -> bytes:
    """Why there is no answer, as a line."""
    said = {"error": error.message, "hint": error.hint, "code": int(error.exit_code)}
    return json.dumps(said).encode() + b"\n"


def read_answer(line: bytes) -> Answered:
    """The event that answers. Raises what the other side said was wrong, or EnvironmentFault for what isn't an answer."""
    try:
        data: Any = json.loads(line)
        if "answer" in data:
            event = event_from_dict(data["answer"])
            if isinstance(event, CommandAccepted | CommandRefused):
                return event
        kind = UsageError if data["code"] == ExitCode.USAGE else EnvironmentFault
        raise kind(str(data["error"]), str(data.get("hint", "")))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise EnvironmentFault("The process that hosts the run answered with something else than an answer.") from None
