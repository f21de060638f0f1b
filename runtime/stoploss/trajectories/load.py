"""Files and folders of recorded runs, whatever wrote them; verdicts from a results file where the runs hold none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime.errors import UsageError
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.trajectories.agents import mini, swe_agent
from runtime.stoploss.trajectories.reading import bad, json_lines, read_text, whole_json
from runtime.stoploss.trajectories.recorded import recorded
from runtime.stoploss.trajectories.sessions import atif, claude_code

SUFFIXES = (".traj", ".traj.json", ".jsonl", ".json", ".traj.gz", ".jsonl.gz", ".json.gz")
KNOWN = "Known are mini-swe-agent (.traj.json), SWE-agent (.traj), ATIF, Claude Code and looptop events (JSON lines), recorded runs."


def load(paths: Sequence[Path]) -> list[Trajectory]:
    """All runs of some files and folders, in the order of their names, each id once. Raises UsageError."""
    found: dict[tuple[str, str], Trajectory] = {}
    for path in paths:
        for file in _files(path):
            for run in load_file(file):
                found.setdefault((run.source, run.id), run)
    return list(found.values())


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file())
    if not files:
        raise UsageError(f"No recorded run is in {path}.", KNOWN)
    return files


def load_file(path: Path) -> list[Trajectory]:
    """The runs of one file. Raises UsageError with what is wrong and where."""
    text = read_text(path)
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        return _from_lines(path, text)
    data = whole_json(path, text)
    if name.endswith(".traj.json") or "trajectory_format" in data:
        return [mini(path, data)]
    if name.endswith(".traj") or "trajectory" in data:
        return [swe_agent(path, data)]
    if "schema_version" in data:
        return [atif(path, data)]
    raise bad(path, "not a recorded run of any known form", hint=KNOWN)


def _from_lines(path: Path, text: str) -> list[Trajectory]:
    rows = json_lines(path, text)
    first = next(rows, None)
    if first is None:
        raise bad(path, "it is empty")
    _, row = first
    if "steps" in row:
        return list(recorded(path, text))
    if {"run", "seq", "type"} <= row.keys():
        return _events(path, text)
    if "type" in row or "sessionId" in row:
        return [claude_code(path, json_lines(path, text))]
    raise bad(path, "not a recorded run of any known form", 1, KNOWN)


def _events(path: Path, text: str) -> list[Trajectory]:
    # Events are pydantic models: not needed where only other files are read.
    from runtime.events.codec import event_from_dict
    from runtime.stoploss.trajectories.own import own

    by_run: dict[str, list[Any]] = {}
    for number, row in json_lines(path, text):
        try:
            event = event_from_dict(row)
        except ValueError as error:
            raise bad(path, str(error), number) from error
        by_run.setdefault(event.run, []).append(event)
    runs = [own(events) for events in by_run.values()]
    return [run for run in runs if run is not None]


def with_verdicts(runs: Sequence[Trajectory], path: Path) -> list[Trajectory]:
    """The runs with the verdicts of a results file, by task: an object of task to true or false, or lists of resolved tasks.

    Raises UsageError where the file isn't one, or fits no run.
    """
    data = whole_json(path, read_text(path))
    verdict = _verdicts(path, data)
    judged = [replace(run, succeeded=found) if (found := verdict(run.task)) is not None else run for run in runs]
    if runs and all(run.succeeded is None for run in judged):
        raise bad(path, "it names none of the runs' tasks")
    return judged


def _verdicts(path: Path, data: dict[str, Any]) -> Callable[[str], bool | None]:
    for name in ("resolved_ids", "resolved"):
        if isinstance(solved := data.get(name), list):
            known = {name for group in data.values() if isinstance(group, list) for name in map(str, group)}
            passed = {str(item) for item in solved}
            return lambda task: task in passed if task in known else None
    flags = {name: value for name, value in data.items() if isinstance(value, bool)}
    if not flags:
        raise bad(path, f"no verdicts: {json.dumps(sorted(data)[:5])} are neither true or false nor lists of tasks")
    return flags.get
