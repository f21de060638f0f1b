"""The tools as they are declared, validated and executed. The declaration is a constant: the same bytes in every round of every run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from runtime.events.values import StepStatus
from runtime.models.base import ToolCall, ToolSpec
from runtime.text import one_line
from runtime.tools import files, shell
from runtime.tools.base import OnOutput, ToolContext, ToolFault, ToolOutcome

__all__ = ["ToolContext", "ToolOutcome", "call_key", "execute", "tool_specs"]

_PATH = {"type": "string", "description": "Relative to the repository's root."}


def canonical(specs: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Declarations in one order, whatever order they and their schemas were made in: the same set is the same bytes.

    By name; in a schema what is required comes first, as it is listed, since models write arguments in that order.
    """
    sorted_specs = sorted(specs, key=lambda spec: spec.name)
    return tuple(spec.model_copy(update={"parameters": _ordered(spec.parameters)}) for spec in sorted_specs)


def _ordered(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with its keys in order."""
    ordered: dict[str, Any] = {}
    for key in sorted(schema):
        value = schema[key]
        if key == "properties":
            first = [name for name in schema.get("required", ()) if name in value]
            names = [*first, *sorted(set(value) - set(first))]
            ordered[key] = {name: _ordered(value[name]) for name in names}
        else:
            ordered[key] = _ordered(value) if isinstance(value, Mapping) else value
    return ordered


def _spec(name: str, description: str, properties: dict[str, Any], required: list[str]) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return ToolSpec(name=name, description=description, parameters=schema)


_SPECS = canonical(
    (
        _spec(
            "shell",
            "Run a bash command in the repository's root. No terminal: nothing can ask. Background processes end with the command.",
            {
                "command": {"type": "string"},
                "timeout": {"type": "number", "description": "Seconds, at most 600; default 120."},
            },
            ["command"],
        ),
        _spec(
            "read_file",
            "Read a text file with line numbers, or list a folder.",
            {"path": _PATH, "offset": {"type": "integer", "description": "First line."}, "limit": {"type": "integer"}},
            ["path"],
        ),
        _spec(
            "edit_file",
            "Replace text in a file. `old` must match exactly (without line numbers) and stand only once, unless replace_all.",
            {
                "path": _PATH,
                "old": {"type": "string"},
                "new": {"type": "string"},
                "replace_all": {"type": "boolean"},
            },
            ["path", "old", "new"],
        ),
        _spec(
            "write_file",
            "Make a file or replace its whole content.",
            {"path": _PATH, "content": {"type": "string"}},
            ["path", "content"],
        ),
        _spec(
            "search",
            "Find lines by extended regular expression in files that git doesn't ignore.",
            {"pattern": {"type": "string"}, "path": _PATH, "glob": {"type": "string", "description": "Like *.py"}},
            ["pattern"],
        ),
    )
)
_BY_NAME = {spec.name: spec for spec in _SPECS}
_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}
CUT = (
    "This call was not executed: its arguments arrived cut off or are not a whole JSON object. "
    "Send it again in full; write long files in several smaller parts."
)


def tool_specs() -> tuple[ToolSpec, ...]:
    """The declarations, in their constant order."""
    return _SPECS


def call_key(call: ToolCall) -> str:
    """A call's tool and normalised arguments: equal for calls that ask for the same."""
    if call.arguments is None:
        return f"{call.name} raw {call.raw}"
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, ensure_ascii=True)}"


def problem_with(call: ToolCall) -> str:
    """Why a call can't be executed; empty where it can."""
    spec = _BY_NAME.get(call.name)
    if spec is None:
        return f"There is no tool {one_line(call.name, 60)!r}. There are: {', '.join(_BY_NAME)}."
    if call.arguments is None:
        return CUT
    properties: dict[str, Any] = spec.parameters["properties"]
    for name in spec.parameters["required"]:
        if name not in call.arguments:
            return (
                f"This call was not executed: the argument {name!r} is missing, perhaps because the call was cut off."
            )
    for name, value in call.arguments.items():
        if name not in properties:
            return f"This call was not executed: {call.name} takes no argument {one_line(name, 60)!r}."
        wanted = properties[name]["type"]
        if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean"):
            return f"This call was not executed: the argument {name!r} must be a {wanted}."
    return ""


async def execute(call: ToolCall, ctx: ToolContext, on_output: OnOutput | None = None) -> ToolOutcome:
    """Validate and execute one call. What goes wrong is an outcome that the model reads; only a cancellation is raised."""
    problem = problem_with(call)
    if problem:
        return ToolOutcome(StepStatus.MALFORMED, problem)
    began = time.monotonic()
    arguments = call.arguments or {}
    try:
        outcome = await _dispatch(call.name, ctx, on_output, arguments)
    except ToolFault as fault:
        return ToolOutcome(StepStatus.FAILED, str(fault), duration_ms=_since(began))
    except (OSError, UnicodeError, ValueError) as error:
        return ToolOutcome(StepStatus.FAILED, f"{call.name} failed: {error}", duration_ms=_since(began))
    return outcome if outcome.duration_ms else replace(outcome, duration_ms=_since(began))


async def _dispatch(name: str, ctx: ToolContext, on_output: OnOutput | None, arguments: dict[str, Any]) -> ToolOutcome:
    if name == "shell":
        return await shell.shell(ctx, on_output, **arguments)
    if name == "search":
        return await shell.search(ctx, **arguments)
    if name == "read_file":
        return files.read_file(ctx, **arguments)
    if name == "edit_file":
        return files.edit_file(ctx, **arguments)
    return files.write_file(ctx, **arguments)


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
