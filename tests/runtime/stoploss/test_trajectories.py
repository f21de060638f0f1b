"""Importers: every form of file, and one sentence for what doesn't fit."""

from __future__ import annotations

import contextlib
import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import UsageError
from runtime.events.base import Event
from runtime.events.codec import event_to_json
from runtime.events.loop import LegStarted, RoundFinished, RunFinished, RunPrepared, RunQueued, ToolCalled, ToolFinished
from runtime.events.values import RunSettings, StepStatus, StopReason
from runtime.stoploss.trajectories.load import load, load_file, with_verdicts
from runtime.stoploss.trajectories.own import outcome_of, own
from runtime.usage import Usage
from support.stoploss_runs import made_run, made_runs, recorded_line, write_packed, write_runs

MINI: dict[str, Any] = {
    "trajectory_format": "mini-swe-agent-1.1",
    "info": {
        "model_stats": {"instance_cost": 0.25},
        "config": {"model": {"model_name": "some/model"}},
        "exit_status": "Submitted",
    },
    "messages": [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls -la\n```", "extra": {"cost": 0.01}},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
        {
            "role": "assistant",
            "content": "",
            "extra": {"actions": [{"command": "cat a.py"}, {"command": "false"}], "cost": 0.02},
        },
        {"role": "tool", "content": "x = 1", "extra": {"returncode": 0}},
        {"role": "tool", "content": "<returncode>1</returncode><output></output>"},
        {"role": "assistant", "content": "```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"},
        {"role": "exit", "content": "diff"},
    ],
}
SWE = {
    "environment": "swe_main",
    "trajectory": [
        {"action": "open a.py\n", "observation": "1: x = 1", "thought": "look", "response": "r", "state": "{}"},
        {"action": "edit 1:1\nx = 2\nend_of_edit", "observation": "done", "thought": "", "response": "", "state": "{}"},
        {"action": "submit", "observation": "", "thought": "", "response": "", "state": "{}"},
    ],
    "info": {"exit_status": "submitted", "model_stats": {"instance_cost": 0}},
}
ATIF = {
    "schema_version": "ATIF-v1.8",
    "session_id": "s1",
    "agent": {"name": "agent", "version": "1", "model_name": "model-a"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Fix it."},
        {
            "step_id": 2,
            "source": "agent",
            "message": "looking",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}},
                {"tool_call_id": "c2", "function_name": "read_file", "arguments": {"path": "a.py"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c2", "content": [{"type": "text", "text": "x = 1"}]},
                    {"source_call_id": "c1", "content": "a.py"},
                ]
            },
            "metrics": {"cost_usd": 0.003},
        },
    ],
    "final_metrics": {"total_cost_usd": 0.003},
}


def _session() -> list[dict[str, Any]]:
    def assistant(uuid: str, block: dict[str, Any], **extra: Any) -> dict[str, Any]:
        message = {"id": "m1", "model": "claude-x", "role": "assistant", "content": [block]}
        return {"type": "assistant", "uuid": uuid, "sessionId": "s9", "cwd": "/src", "message": message, **extra}

    def result(call: str, content: Any, error: bool) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
        return {"type": "user", "sessionId": "s9", "message": {"role": "user", "content": [block]}}

    bash = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest -q"}}
    edit = {
        "type": "tool_use",
        "id": "t2",
        "name": "Edit",
        "input": {"file_path": "a.py", "old_string": "x\ny", "new_string": "z"},
    }
    return [
        {"type": "summary", "summary": "old"},
        {"type": "user", "sessionId": "s9", "message": {"role": "user", "content": "Fix it."}},
        assistant("u1", {"type": "text", "text": "I look"}),
        assistant("u2", bash),
        assistant("u2", bash),
        result("t1", [{"type": "text", "text": "1 failed"}], True),
        assistant(
            "u3", {"type": "tool_use", "id": "side", "name": "Bash", "input": {"command": "no"}}, isSidechain=True
        ),
        assistant("u4", edit),
        result("t2", "ok", False),
    ]


def _write(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data))
    return path


def test_mini_swe_agent(tmp_path: Path) -> None:
    (run,) = load_file(_write(tmp_path / "django__django-1.traj.json", MINI))
    assert [(s.action, s.observation, s.failed, s.cost_micros) for s in run.steps] == [
        ("ls -la", "a.py", False, 10_000),
        ("cat a.py", "x = 1", False, 20_000),
        ("false", "", True, 0),
    ]
    assert (run.task, run.group, run.executor, run.cost_micros) == (
        "django__django-1",
        "django/django",
        "some/model",
        250_000,
    )
    assert run.succeeded is None


def test_swe_agent_and_a_price_that_it_does_not_know(tmp_path: Path) -> None:
    (run,) = load_file(_write(tmp_path / "apache__dubbo-1.traj", SWE))
    assert [s.action for s in run.steps] == ["open a.py", "edit 1:1\nx = 2\nend_of_edit"]
    assert run.cost_micros is None
    assert run.group == "apache/dubbo"


def test_atif_results_find_their_calls(tmp_path: Path) -> None:
    (run,) = load_file(_write(tmp_path / "run.json", ATIF))
    assert [(s.action.strip(), s.observation, s.cost_micros) for s in run.steps] == [
        ("ls", "a.py", 3_000),
        ("read_file a.py", "x = 1", 0),
    ]
    assert (run.id, run.executor, run.cost_micros) == ("s1", "model-a", 3_000)


def test_a_claude_code_session_counts_every_call_once(tmp_path: Path) -> None:
    path = tmp_path / "s9.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in _session()))
    (run,) = load_file(path)
    assert [(s.observation, s.failed) for s in run.steps] == [("1 failed", True), ("ok", False)]
    assert run.steps[0].action == "pytest -q"
    assert run.steps[1].action == "Edit a.py z\nold_string:\nx\ny"
    assert (run.id, run.executor, run.project) == ("s9", "claude-x", "/src")


def test_recorded_runs_come_back_as_they_were(tmp_path: Path) -> None:
    runs = made_runs(3, 2)
    assert load_file(write_runs(tmp_path / "runs.jsonl", runs)) == runs
    packed = write_packed(tmp_path / "packed.jsonl.gz", "".join(recorded_line(run) + "\n" for run in runs))
    assert load_file(packed) == runs
    # A folder holds both; a run is taken once.
    assert load([tmp_path]) == runs


def _own_events(run: str, reason: StopReason) -> list[Event]:
    events: list[Event] = [
        RunQueued(task="fix it", repo="/src", project="src-1", settings=RunSettings(model="claude-x")),
        RunPrepared(workspace="/w", base_commit="abc", branch="b", sandbox="none"),
        LegStarted(leg=1, model="claude-x", provider="anthropic", cap=3, cap_source="default"),
        ToolCalled(attempt=1, round=1, step=1, call_id="c1", tool="shell", arguments={"command": "ls"}),
        ToolFinished(
            attempt=1, round=1, step=1, call_id="c1", tool="shell", status=StepStatus.OK, content="a.py", exit_code=0
        ),
        ToolCalled(attempt=1, round=1, step=2, call_id="c2", tool="shell", arguments=None, raw='{"comm'),
        ToolFinished(
            attempt=1, round=1, step=2, call_id="c2", tool="shell", status=StepStatus.MALFORMED, content="cut off"
        ),
        RoundFinished(
            attempt=1, round=1, leg=1, model="claude-x", stop="tool_use", usage=Usage(), cost_micros=700, latency_ms=5
        ),
        RunFinished(reason=reason, attempts=1, rounds=1, usage={}, cost_micros=900),
    ]
    return [event.stamped(run, n, datetime(2026, 1, 1, tzinfo=UTC), n) for n, event in enumerate(events, 1)]


def test_own_runs_are_steps_with_what_their_rounds_cost(tmp_path: Path) -> None:
    run = own(_own_events("r1", StopReason.PASSED))
    assert run is not None
    assert [(s.action, s.observation, s.failed, s.cost_micros) for s in run.steps] == [
        ("ls", "a.py", False, 700),
        ('shell {"comm', "cut off", True, 0),
    ]
    assert (run.succeeded, run.executor, run.project, run.task, run.cost_micros) == (
        True,
        "claude-x",
        "src-1",
        "fix it",
        900,
    )
    path = tmp_path / "export.jsonl"
    path.write_text("".join(event_to_json(event) + "\n" for event in _own_events("r1", StopReason.PASSED)))
    assert load_file(path) == [run]
    assert own([]) is None


def test_only_an_end_with_a_verdict_is_an_outcome() -> None:
    known = {reason: outcome_of(reason) for reason in StopReason}
    assert known[StopReason.PASSED] is True
    assert known[StopReason.CAP_REACHED] is False
    unknown = {"already_passing", "stoploss", "aborted", "unrecoverable", "interrupted"}
    assert {reason.value for reason, outcome in known.items() if outcome is None} == unknown


def test_verdicts_come_from_a_results_file(tmp_path: Path) -> None:
    (run,) = load_file(_write(tmp_path / "a__b-1.traj", SWE))
    for data, verdict in (
        ({"a__b-1": True}, True),
        ({"resolved_ids": [], "unresolved_ids": ["a__b-1"]}, False),
        ({"resolved": ["a__b-1"], "applied": ["a__b-1"]}, True),
    ):
        assert with_verdicts([run], _write(tmp_path / "results.json", data))[0].succeeded is verdict
    with pytest.raises(UsageError, match="names none of the runs' tasks"):
        with_verdicts([run], _write(tmp_path / "results.json", {"other": True}))
    with pytest.raises(UsageError, match="no verdicts"):
        with_verdicts([run], _write(tmp_path / "results.json", {"other": "yes"}))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.jsonl", recorded_line(made_run(1, True)) + "\n" + recorded_line(made_run(2, True))[:200], "line 2: half a line, or not JSON"),
        ("a.jsonl", recorded_line(made_run(1, True)) + "\n[]\n", "line 2: not a JSON object"),
        ("a.jsonl", recorded_line(made_run(1, True)) + '\n{"steps": []}\n', "line 2: not a recorded run: id, resolved"),
        ("a.jsonl", '{"steps": [1], "id": "x", "resolved": true, "executor_model": "m"}', "a step is not an object"),
        ("a.jsonl", "", "it is empty"),
        ("a.jsonl", '{"other": 1}', "not a recorded run of any known form"),
        ("a.jsonl", '{"type": "summary"}', "no session of Claude Code"),
        ("a.jsonl", '{"run": "r", "seq": 1, "type": 5}', "line 1: an event needs a type"),
        ("a.traj.json", json.dumps(MINI)[:300], "not whole JSON; it may have been cut"),
        ("a.traj.json", json.dumps({**MINI, "trajectory_format": "mini-swe-agent-9"}), "'mini-swe-agent-9' is not known"),
        ("a.traj.json", '{"messages": 3}', "messages are missing"),
        ("a.traj", '{"trajectory": [{"content": 1}]}', "another version wrote this"),
        ("a.json", json.dumps({**ATIF, "schema_version": "ATIF-v3.0"}), "'ATIF-v3.0' is not known; 1.x is"),
        ("a.json", '{"schema_version": "ATIF-v1.8"}', "steps are missing"),
        ("a.json", "[1]", "not a JSON object"),
        ("a.json", "{}", "not a recorded run of any known form"),
        ("a.jsonl.gz", "not gzip", "can't be read"),
    ],
)  # fmt: skip
def test_what_is_no_recorded_run_is_told_in_one_sentence(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UsageError) as told:
        load([path])
    assert words in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("nonsense", [None, [], {}, [None], {"a": 1}, -1, 1e308, float("nan"), "\ud800", True])
def test_nonsense_anywhere_in_a_file_is_a_sentence_or_nothing(tmp_path: Path, nonsense: Any) -> None:
    files: dict[str, Any] = {
        "a.traj.json": MINI,
        "a.traj": SWE,
        "a.json": ATIF,
        "a.jsonl": json.loads(recorded_line(made_run(1, True))),
    }
    for name, whole in files.items():
        for place in _places(whole):
            path = _write(tmp_path / name, _with(whole, place, nonsense))
            with contextlib.suppress(UsageError):
                for run in load([path]):
                    run.task.encode()
                    assert all(isinstance(step.action, str) and isinstance(step.observation, str) for step in run.steps)


def _places(data: Any, so_far: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in JSON data, by keys and indices."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, value in items for place in [(*so_far, key), *_places(value, (*so_far, key))]]


def _with(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy of JSON data with another value at a place."""
    made = copy.deepcopy(data)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


def test_missing_files_and_empty_folders_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no file"):
        load([tmp_path / "none.traj"])
    with pytest.raises(UsageError, match="No recorded run is in"):
        load([tmp_path])
