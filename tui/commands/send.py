"""`looptop send`: a command from a script to a run that another process of this machine executes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from runtime.commands import Command, command_from_dict, command_names
from runtime.errors import EnvironmentFault, ExitCode, UsageError
from runtime.events.codec import event_to_json
from runtime.events.supervision import CommandAccepted
from runtime.events.values import StopReason
from runtime.sockets.client import send_command
from runtime.sockets.wire import Answered
from runtime.text import one_line
from store.owner import this_process
from store.store import Store
from tui.cli import json_line
from tui.commands.store_access import with_store

Fields = dict[str, Any]
BUDGETS = {"tokens": ("tokens", 1), "usd": ("micros", 1_000_000), "minutes": ("seconds", 60)}


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("run")
@click.argument("command")
@click.argument("values", nargs=-1)
@click.option("--now", is_flag=True, help="steer, pause: at once, and not at the next safe point.")
@click.option("--reason", default="", help="Why; kept in the record.")
@click.option("--sender", default="script", help="Who says so (default: script).")
@click.option("--id", "command_id", metavar="ID", help="The same id acts once; again it gets the first answer.")
@click.option("--json", "as_json", is_flag=True, help="Print the answering event.")
def send(
    run: str,
    command: str,
    values: tuple[str, ...],
    now: bool,
    reason: str,
    sender: str,
    command_id: str | None,
    as_json: bool,
) -> int:
    """Send COMMAND to the run RUN, whichever process executes it.

    \b
    abort | pause [now] | resume | verify_now | end_attempt
    set_cap N | set_budget tokens|usd|minutes N | switch_model M
    steer TEXT [--now] | choose_recovery reflect|replan|escalate
    approve [STEP] | deny [STEP] | set_stoploss off|watch|ask|abort [THRESHOLD]
    """
    fields = {"command": command, "reason": reason, "sender": sender, **fields_of(command, values, now)}
    if command_id is not None:
        if not command_id.strip():
            raise UsageError("--id is empty.", "Give it a name, or leave it out.")
        fields["id"] = command_id
    checked = command_from_dict(fields)

    async def work(store: Store, home: Path) -> Answered:
        return await deliver(store, home, await store.history.find(run), checked)

    answer = with_store(work)
    accepted = isinstance(answer, CommandAccepted)
    if as_json:
        click.echo(json_line(event_to_json(answer)))
    elif isinstance(answer, CommandAccepted):
        click.echo(said(answer))
    else:
        click.echo(f"looptop: {answer.command} refused: {one_line(answer.why)}", err=True)
    return int(ExitCode.OK if accepted else ExitCode.NOT_FIXED)


async def deliver(store: Store, home: Path, run: str, command: Command) -> Answered:
    """Bring a command to the process that executes a run; one whose id was answered already gets that answer.

    Raises UsageError where the run isn't executed, EnvironmentFault where its process can't be reached.
    """
    known = await store.history.answered(run, command.id)
    if known is not None:
        return known
    line, owner = await store.history.line(run), await store.history.owner(run)
    if line.reason == StopReason.INTERRUPTED.value:
        raise UsageError(f"Run {run} was interrupted and isn't executed.", f"`looptop resume {run}` goes on with it.")
    if line.reason is not None:
        raise UsageError(f"Run {run} has ended: {line.reason}.")
    if owner is None or owner.host != this_process().host:
        where = f"on {owner.host}" if owner is not None else "elsewhere"
        raise EnvironmentFault(f"Run {run} is executed {where}, not on this machine.", "Send the command from there.")
    return await asyncio.to_thread(send_command, home, owner.pid, run, command)


def said(answer: CommandAccepted) -> str:
    """An acceptance in words: what was, what is, what follows."""
    change = f"{answer.old} -> {answer.new}" if answer.old is not None and answer.new is not None else answer.new or ""
    return one_line(f"{answer.command}: {'; '.join(filter(None, (change, answer.effect))) or 'accepted'}")


def fields_of(command: str, values: tuple[str, ...], now: bool) -> Fields:
    """The fields of a command from the words after it. Raises UsageError."""
    if command not in command_names():
        raise UsageError(f"There is no command {command!r}.", f"There are: {', '.join(command_names())}.")
    words = list(values)
    if now and command not in ("steer", "pause"):
        raise UsageError(f"--now doesn't go with {command}.", "It goes with steer and pause.")
    if command == "pause" and words == ["now"]:
        return {"now": True}
    fields = _VALUES[command](command, words) if command in _VALUES else _nothing(command, words)
    if now:
        fields["when" if command == "steer" else "now"] = "now" if command == "steer" else True
    return fields


def _nothing(command: str, words: list[str]) -> Fields:
    if words:
        raise UsageError(f"{command} takes no value, but {' '.join(words)!r} was given.")
    return {}


def _one(command: str, words: list[str], what: str) -> str:
    if len(words) != 1:
        raise UsageError(f"{command} takes {what}, but {len(words)} values were given.", f"`send RUN {command} ...`")
    return words[0]


def _number(command: str, word: str) -> float:
    try:
        return float(word.replace(",", "").replace("_", "").lstrip("$"))
    except ValueError:
        raise UsageError(f"{command}: {word!r} isn't a number.") from None


def _whole(command: str, word: str) -> int:
    value = _number(command, word)
    if value != value // 1:
        raise UsageError(f"{command}: {word!r} isn't a whole number.")
    return int(value)


def _budget(command: str, words: list[str]) -> Fields:
    if len(words) != 2 or words[0] not in BUDGETS:
        raise UsageError(f"{command} takes tokens, usd or minutes, and a number; 0 turns that budget off.")
    kind, factor = BUDGETS[words[0]]
    return {"kind": kind, "value": _number(command, words[1]) * factor}


def _step(command: str, words: list[str]) -> Fields:
    return {"step": _whole(command, _one(command, words, "one step's number"))} if words else {}


def _stoploss(command: str, words: list[str]) -> Fields:
    fields: Fields = {}
    for word in words[:2]:
        if word in ("off", "watch", "ask", "abort"):
            fields["mode"] = word
        else:
            fields["threshold"] = _number(command, word)
    if not words or len(words) > 2 or len(fields) < len(words):
        raise UsageError(f"{command} takes off, watch, ask or abort, a threshold from 0 to 1, or both.")
    return fields


_VALUES: dict[str, Callable[[str, list[str]], Fields]] = {
    "set_cap": lambda command, words: {"cap": _whole(command, _one(command, words, "a number from 1 to 20"))},
    "set_budget": _budget,
    "steer": lambda command, words: {"text": " ".join(words)},
    "choose_recovery": lambda command, words: {"action": _one(command, words, "reflect, replan or escalate")},
    "approve": _step,
    "deny": _step,
    "switch_model": lambda command, words: {"model": _one(command, words, "a model's name")},
    "set_stoploss": _stoploss,
}
