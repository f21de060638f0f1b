"""Trajectories as ATIF and as Claude Code's session files. Neither holds a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runtime.stoploss.steps import Step, Trajectory
from runtime.stoploss.trajectories.agents import action_words
from runtime.stoploss.trajectories.reading import bad, micros, named, words

_ATIF = re.compile(r"(?:ATIF-)?v?1(?:\.\d+)*\Z")


def atif(path: Path, data: dict[str, Any]) -> Trajectory:
    """A trajectory in the Agent Trajectory Interchange Format, versions 1.x. Raises UsageError for another version."""
    version = str(data.get("schema_version"))
    if not _ATIF.match(version):
        raise bad(path, f"ATIF version {version[:40]!r} is not known; 1.x is")
    raw = data.get("steps")
    if not isinstance(raw, list) or not all(isinstance(step, dict) for step in raw):
        raise bad(path, "steps are missing")
    steps: list[Step] = []
    for step in raw:
        if step.get("source") == "agent" and not step.get("is_copied_context"):
            steps += _atif_steps(step)
    agent = data.get("agent") if isinstance(data.get("agent"), dict) else {}
    assert isinstance(agent, dict)
    session = named(data.get("trajectory_id"), data.get("session_id")) or path.name
    metrics = data.get("final_metrics")
    return Trajectory(
        id=session,
        steps=tuple(steps),
        succeeded=None,
        task=session,
        group=session,
        executor=named(agent.get("model_name"), *(step.get("model_name") for step in raw)) or "unknown",
        source=path.name,
        cost_micros=micros(metrics.get("total_cost_usd")) if isinstance(metrics, dict) else None,
    )


def _atif_steps(step: dict[str, Any]) -> list[Step]:
    calls = step.get("tool_calls")
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    given = [result for result in results if isinstance(result, dict)] if isinstance(results, list) else []
    by_call = {named(result.get("source_call_id")): words(result.get("content")) for result in given}
    metrics = step.get("metrics")
    cost = micros(metrics.get("cost_usd")) if isinstance(metrics, dict) else None
    made: list[Step] = []
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(call, dict):
            continue
        arguments = call.get("arguments")
        action = action_words(named(call.get("function_name")), arguments if isinstance(arguments, dict) else {})
        content = by_call.get(named(call.get("tool_call_id")) or "without an id")
        if content is None and len(given) == len(calls or ()):
            content = words(given[number].get("content"))
        paid = cost if not made else (None if cost is None else 0)
        made.append(Step(action, content or "", None, paid))
    return made


def claude_code(path: Path, rows: Iterable[tuple[int, dict[str, Any]]]) -> Trajectory:
    """A session of Claude Code. A response's lines repeat one another and resumed sessions copy old ones: every call counts once.

    Side conversations of subagents are left out.
    """
    calls: dict[str, str] = {}
    results: dict[str, tuple[str, bool | None]] = {}
    session = project = model = ""
    for _, row in rows:
        message = row.get("message")
        if row.get("isSidechain") is True or not isinstance(message, dict):
            continue
        session, project = named(session, row.get("sessionId")), named(project, row.get("cwd"))
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                model = named(message.get("model"), model)
                arguments = block.get("input")
                action = action_words(named(block.get("name")), arguments if isinstance(arguments, dict) else {})
                calls.setdefault(named(block.get("id")) or str(len(calls)), action)
            elif block.get("type") == "tool_result":
                failed = block.get("is_error") if isinstance(block.get("is_error"), bool) else None
                results.setdefault(named(block.get("tool_use_id")), (words(block.get("content")), failed))
    if not session and not calls:
        raise bad(path, "no session of Claude Code: neither a session id nor a tool call is in it")
    steps = []
    for call, action in calls.items():
        observation, failed = results.get(call, ("", None))
        steps.append(Step(action, observation, failed))
    name = session or path.stem
    return Trajectory(name, tuple(steps), None, name, project or name, model or "unknown", project, path.name)
