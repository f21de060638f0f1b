"""The one command vocabulary: a supervisor never touches a run's objects, it sends one of these.

Values are absolute, never increments. A command id acts once; an event answers it.
"""

from __future__ import annotations

import json
import secrets
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from runtime.errors import UsageError
from runtime.events.values import Action


def new_command_id() -> str:
    """A fresh id, unique without coordination."""
    return secrets.token_hex(8)


class _Command(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str = Field(default_factory=new_command_id)
    sender: str = "supervisor"
    reason: str = ""


class Abort(_Command):
    """End the run now; its work is kept."""

    command: Literal["abort"] = "abort"


class Pause(_Command):
    """Stop before the next model call, or at once (`now`: the call in flight is cut and what it cost is kept)."""

    command: Literal["pause"] = "pause"
    now: bool = False


class Resume(_Command):
    """Go on after a pause or a hold."""

    command: Literal["resume"] = "resume"


class SetCap(_Command):
    """Set the present leg's retry cap."""

    command: Literal["set_cap"] = "set_cap"
    cap: int = Field(ge=1, le=20)


class SetBudget(_Command):
    """Set a budget: `tokens`, `micros` (micro-dollars) or `seconds`; a value of 0 turns it off."""

    command: Literal["set_budget"] = "set_budget"
    kind: Literal["tokens", "micros", "seconds"]
    value: float = Field(ge=0, allow_inf_nan=False)


class Steer(_Command):
    """Say something to the model: now (the round is interrupted) or with the next attempt's feedback."""

    command: Literal["steer"] = "steer"
    text: str = Field(min_length=1)
    when: Literal["now", "next_attempt"] = "next_attempt"


class ChooseRecovery(_Command):
    """Override what happens after the present failed attempt."""

    command: Literal["choose_recovery"] = "choose_recovery"
    action: Action


class Approve(_Command):
    """Let a waiting tool call happen; without a step, all that wait."""

    command: Literal["approve"] = "approve"
    step: int | None = None


class Deny(_Command):
    """Refuse a waiting tool call; without a step, all that wait."""

    command: Literal["deny"] = "deny"
    step: int | None = None


class SwitchModel(_Command):
    """Start a new leg with another model at the next safe point."""

    command: Literal["switch_model"] = "switch_model"
    model: str = Field(min_length=1)


class SetStoploss(_Command):
    """Set the StopLoss mode, the threshold, or both."""

    command: Literal["set_stoploss"] = "set_stoploss"
    mode: Literal["off", "watch", "ask", "abort"] | None = None
    threshold: float | None = Field(default=None, ge=0, le=1)


class VerifyNow(_Command):
    """Run the verify steps at the next safe point without ending the attempt."""

    command: Literal["verify_now"] = "verify_now"


class EndAttempt(_Command):
    """End the fix phase at the next safe point; verify follows."""

    command: Literal["end_attempt"] = "end_attempt"


Command = Annotated[
    Abort
    | Pause
    | Resume
    | SetCap
    | SetBudget
    | Steer
    | ChooseRecovery
    | Approve
    | Deny
    | SwitchModel
    | SetStoploss
    | VerifyNow
    | EndAttempt,
    Field(discriminator="command"),
]


@cache
def _adapter() -> TypeAdapter[Command]:
    return TypeAdapter(Command)


def command_names() -> tuple[str, ...]:
    """Every command's name, in the order of the vocabulary."""
    union = get_args(Command)[0]
    return tuple(str(kind.model_fields["command"].default) for kind in get_args(union))


def command_from_dict(data: dict[str, Any]) -> Command:
    """Build a command; raises UsageError with what is wrong in one sentence."""
    try:
        return _adapter().validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "command"
        raise UsageError(f"The command {data.get('command')!r} is not valid: {place}: {first['msg']}.") from error


def command_from_json(line: str | bytes) -> Command:
    """Parse one JSON object; raises UsageError."""
    try:
        data = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The command is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError("The command is not a JSON object.")
    return command_from_dict(data)
