"""Trajectory files of mini-swe-agent (`.traj.json`) and SWE-agent (`.traj`). Neither holds the benchmark's verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime.stoploss.steps import Step, Trajectory
from runtime.stoploss.trajectories.reading import bad, micros, named, words

MINI = "mini-swe-agent-1"
_BLOCK = re.compile(r"```(?:bash|sh|mswea_bash_command)?\s*\n(.*?)\n?```", re.DOTALL)
_OUTPUT = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)
_CODE = re.compile(r"<returncode>\s*(-?\d+)\s*</returncode>")
_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def mini(path: Path, data: dict[str, Any]) -> Trajectory:
    """A run of mini-swe-agent, formats 1.x. Raises UsageError for another version."""
    version = data.get("trajectory_format", MINI)
    if not isinstance(version, str) or not version.startswith(MINI):
        raise bad(path, f"the format {str(version)[:60]!r} is not known; {MINI}.x is")
    raw = data.get("messages")
    if not isinstance(raw, list) or not all(isinstance(message, dict) for message in raw):
        raise bad(path, "messages are missing")
    info = _dict(data.get("info"))
    return _made(path, tuple(_mini_steps(raw)), info, _model(_dict(info.get("config"))), data)


def _mini_steps(messages: list[dict[str, Any]]) -> Iterator[Step]:
    waiting: list[str] = []
    cost: int | None = None
    for message in messages:
        if message.get("role") == "assistant":
            yield from (Step(action, "") for action in waiting)
            waiting = [action for action in _actions(message) if _SUBMIT not in action]
            cost = micros(_dict(message.get("extra")).get("cost"))
        elif waiting and message.get("role") in ("user", "tool"):
            text = words(message.get("content"))
            code, output = _CODE.search(text), _OUTPUT.search(text)
            returned = _dict(message.get("extra")).get("returncode", int(code.group(1)) if code else None)
            failed = returned != 0 if isinstance(returned, int) else None
            yield Step(waiting.pop(0), output.group(1) if output else text, failed, cost)
            # A reply with several actions is paid once.
            cost = None if cost is None else 0
    yield from (Step(action, "") for action in waiting)


def _actions(message: dict[str, Any]) -> list[str]:
    """The commands of a reply: as recorded beside it, as tool calls, or as its code blocks."""
    recorded = _dict(message.get("extra")).get("actions")
    if isinstance(recorded, list) and recorded:
        return [
            named(item.get("command"), item.get("action")) if isinstance(item, dict) else words(item)
            for item in recorded
        ]
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return [_call_words(_dict(_dict(call).get("function"))) for call in calls]
    return _BLOCK.findall(words(message.get("content")))


def _call_words(function: dict[str, Any]) -> str:
    raw = function.get("arguments")
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return f"{named(function.get('name'))} {raw}"
    return action_words(named(function.get("name")), _dict(raw))


def action_words(tool: str, arguments: dict[str, Any]) -> str:
    """A tool call as one text: a shell's command alone, else the tool's name and its arguments, the short ones first."""
    command = arguments.get("command")
    if isinstance(command, str) and tool.lower() in ("bash", "shell", "execute_bash", "run_command", "terminal", ""):
        return command
    parts = sorted(((name, words(value) or json.dumps(value)) for name, value in arguments.items()), key=_short_first)
    return "\n".join(
        [f"{tool} " + " ".join(value for _, value in parts if "\n" not in value and len(value) <= 200)]
        + [f"{name}:\n{value}" for name, value in parts if "\n" in value or len(value) > 200]
    )


def _short_first(pair: tuple[str, str]) -> tuple[int, str]:
    return (len(pair[1]) > 200 or "\n" in pair[1], pair[0])


def swe_agent(path: Path, data: dict[str, Any]) -> Trajectory:
    """A run of SWE-agent: `trajectory` holds triples of action, observation and thought. Raises UsageError."""
    raw = data.get("trajectory")
    if not isinstance(raw, list) or not all(isinstance(step, dict) and "action" in step for step in raw):
        raise bad(path, "`trajectory` with actions and observations is missing; another version wrote this")
    steps = [Step(words(step["action"]).strip(), words(step.get("observation"))) for step in raw]
    kept = [step for step in steps if step.action not in ("submit", "exit_forfeit", "exit_cost", "exit_format")]
    info = _dict(data.get("info"))
    model = named(data.get("model"), _model(_dict(data.get("replay_config"))), info.get("model"))
    return _made(path, tuple(kept), info, model, data)


def _made(path: Path, steps: tuple[Step, ...], info: dict[str, Any], model: str, data: dict[str, Any]) -> Trajectory:
    task = named(data.get("instance_id"), info.get("instance_id")) or path.name.split(".traj")[0]
    repo = task.rsplit("-", 1)[0].replace("__", "/") if "__" in task else task
    cost = micros(_dict(info.get("model_stats")).get("instance_cost"))
    return Trajectory(
        id=path.name.removesuffix(".gz"),
        steps=steps,
        succeeded=None,
        task=task,
        group=repo,
        executor=model or "unknown",
        source=path.name,
        # SWE-agent writes 0 for a model whose price it doesn't know.
        cost_micros=cost or None,
    )


def _model(config: dict[str, Any]) -> str:
    """A model's name wherever a configuration keeps it."""
    model = config.get("model")
    if isinstance(model, dict):
        return named(model.get("model_name"), model.get("name"))
    agent = config.get("agent")
    return named(model) or (_model(agent) if isinstance(agent, dict) else "")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
