"""`looptop stoploss`: train, calibrate, evaluate, score, from files and from own history."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.events.loop import RunQueued, ToolCalled, ToolFinished
from runtime.events.values import RunSettings, StepStatus, StopReason
from store.store import open_store
from support.cli import CommandLine, one_sentence
from support.stoploss_runs import made_run, made_runs, write_runs
from support.store_runs import AT, finished


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Sixty successes of 14 to 17 steps, thirty failures that go on much longer."""
    good = [made_run(n, True, 14 + n % 4) for n in range(60)]
    bad = [made_run(n, False, 40 + n % 4) for n in range(60, 90)]
    return write_runs(tmp_path / "runs.jsonl", good + bad)


def seed(home: Path, good: int, steps: int, bad: int = 0, bad_steps: int = 0) -> None:
    """Own history: so many passed runs of so many tool steps, and failed ones."""

    async def fill() -> None:
        async with open_store(home) as store:
            for number in range(good + bad):
                run = f"run{number:03d}"
                n = steps if number < good else bad_steps
                settings = RunSettings(model="scripted")
                events: list[Any] = [RunQueued(task=f"task {number}", repo="/src", project="src-1", settings=settings)]
                for step in range(1, n + 1):
                    call = {"attempt": 1, "round": step, "step": step, "call_id": f"c{step}", "tool": "shell"}
                    events.append(ToolCalled(**call, arguments={"command": f"do {step}"}))
                    events.append(ToolFinished(**call, status=StepStatus.OK, content=f"saw {step}"))
                for seq, event in enumerate(events, 1):
                    store.record.append(event.stamped(run, seq, AT, seq))
                reason = StopReason.PASSED if number < good else StopReason.CAP_REACHED
                store.record.append(finished(run, len(events) + 1, reason))
            await store.record.flush()

    asyncio.run(fill())


def test_training_writes_the_same_file_twice_and_scoring_reads_it(
    looptop: CommandLine, runs: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    said = looptop("stoploss", "train", str(runs), "--out", str(one))
    assert said.code == 0, said
    assert "trained on 90 runs (30 failed)" in said.out
    assert looptop("stoploss", "train", str(runs), "--out", str(two), "--json").code == 0
    assert one.read_bytes() == two.read_bytes()
    data = json.loads(looptop("stoploss", "score", str(runs), "--scorer", f"embedded:{one}", "--json").out)
    assert len(data) == 90
    last = {run["succeeded"]: run["checks"][2]["p_abort"] for run in data}
    assert last[False] > 0.5 > last[True]
    assert all(abs(c["p_abort"] + c["p_continue"] + c["p_deliver"] - 1) < 1e-9 for run in data for c in run["checks"])
    assert data[0]["threshold"] is None
    text = looptop("stoploss", "score", str(runs), "--scorer", "step-limit").out
    assert "run0: 14 tool steps, succeeded" in text


def test_evaluation_tells_everything_and_lets_the_better_policy_abort(looptop: CommandLine, runs: Path) -> None:
    said = looptop("stoploss", "evaluate", str(runs), "--resamples", "100", "--json")
    assert said.code == 0, said
    found = json.loads(said.out)
    assert (found["runs"], found["successes"], found["groups"]) == (90, 60, 5)
    by_name = {one["name"]: one for one in found["measured"]}
    assert set(by_name) == {"step-limit", "trained", "step-limit+trained", "trained:window"}
    assert by_name["step-limit"]["tier"]["value"] == 0.5
    assert by_name["trained"]["tier"]["value"] == 1.0
    ledger = by_name["step-limit"]["ledger"]
    assert ledger["unit"] == "dollars"
    assert ledger["failed_stopped"]["value"] == 1.0
    assert ledger["r"]["high"] <= 0.1
    assert 0.5 < ledger["median_left"] < 0.7
    assert [row["times"] for row in ledger["by_price"]] == [1, 2, 5, 10]
    assert by_name["trained"]["by_step"]["5"] is not None
    assert len(by_name["trained"]["reliability"]) == 10
    assert found["decision"]["mode"] == "abort"
    assert "trained" in found["decision"]["policy"]
    text = looptop("stoploss", "evaluate", str(runs), "--resamples", "100", "--scorer", "step-limit")
    assert "in force: step-limit, abort" in text.out
    assert "group 1 of 5" in text.err


def test_an_ensemble_may_have_one_member_that_is_trained_anew(looptop: CommandLine, runs: Path) -> None:
    args = ("stoploss", "evaluate", str(runs), "--resamples", "100", "--json")
    found = json.loads(looptop(*args, "--scorer", "step-limit+trained:step").out)
    assert found["measured"][0]["name"] == "step-limit+trained:step"
    # Two members that know nothing but the step count rank within a checkpoint no better than chance.
    assert 0.3 < found["measured"][0]["tier"]["value"] < 0.7
    assert found["measured"][0]["ledger"]["failed_stopped"]["value"] > 0.9
    line = one_sentence(looptop("stoploss", "evaluate", str(runs), "--scorer", "trained+trained:window"), 2)
    assert "an ensemble can have one of them" in line


def test_a_calibration_is_kept_with_what_it_is_valid_for(looptop: CommandLine, runs: Path) -> None:
    said = looptop("stoploss", "calibrate", str(runs), "--scorer", "step-limit", "--json")
    assert said.code == 0, said
    made = json.loads(said.out)
    assert (made["executor"], made["project"], made["scorer"]) == ("made-1", "made", "step-limit")
    assert made["successes"] == 30
    assert made["last_checkpoint"] == 14
    assert made["tasks"]
    assert made["chosen_by"]
    assert not set(made["tasks"]) & set(made["chosen_by"])
    assert "more than 17 tool steps" in looptop("stoploss", "calibrate", str(runs), "--scorer", "step-limit").out

    async def stored() -> list[dict[str, Any]]:
        async with open_store(looptop.home) as store:
            return [row.body for row in await store.calibrations.all("stoploss")]

    rows = asyncio.run(stored())
    assert len(rows) == 2
    assert rows[1] == made


def test_what_trained_a_scorer_cannot_calibrate_or_measure_it(looptop: CommandLine, runs: Path) -> None:
    assert looptop("stoploss", "train", str(runs)).code == 0
    line = one_sentence(looptop("stoploss", "calibrate", str(runs), "--scorer", "embedded"), 2)
    assert "90 tasks were used to train the scorer" in line
    assert looptop("stoploss", "calibrate", str(runs)).out.startswith("step-limit: more than 17 tool steps")
    line = one_sentence(looptop("stoploss", "evaluate", str(runs), "--scorer", "embedded"), 2)
    assert "90 of the tasks to measure embedded on were also used to train it" in line


def test_forty_own_successes_of_five_steps_make_a_limit_of_five(looptop: CommandLine) -> None:
    seed(looptop.home, good=40, steps=5)
    said = looptop("stoploss", "calibrate", "--project", "src-1")
    assert said.code == 0, said
    assert "step-limit: more than 5 tool steps, from 20 successful runs" in said.out
    assert "valid for scripted on src-1" in said.out
    assert "abort is not measured" in said.out
    assert "no checkpoint was reached" not in looptop("stoploss", "score", "run000", "--scorer", "step-limit").out
    data = json.loads(looptop("stoploss", "score", "run000", "--scorer", "step-limit", "--json").out)
    assert data[0]["checks"][0]["above"] is False
    assert data[0]["threshold"] == 0.2


def test_own_failures_show_that_stopping_pays(looptop: CommandLine) -> None:
    seed(looptop.home, good=80, steps=5, bad=40, bad_steps=20)
    said = looptop("stoploss", "calibrate", "--project", "src-1", "--scorer", "step-limit", "--json")
    made = json.loads(said.out)
    assert made["abort"] == "allowed"
    assert made["successes"] == 40


def test_too_few_successes_are_refused_with_the_number(looptop: CommandLine) -> None:
    seed(looptop.home, good=18, steps=6, bad=3, bad_steps=9)
    line = one_sentence(looptop("stoploss", "calibrate", "--project", "src-1"), 2)
    assert "18 successful runs are left to calibrate on: at least 19 are needed" in line


def test_runs_of_several_models_are_told_apart(looptop: CommandLine, tmp_path: Path) -> None:
    mixed = made_runs(30, 5) + [made_run(n, True, executor="made-2") for n in range(100, 130)]
    path = write_runs(tmp_path / "mixed.jsonl", mixed)
    line = one_sentence(looptop("stoploss", "calibrate", str(path)), 2)
    assert "2 executors (made-1, made-2)" in line
    assert looptop("stoploss", "calibrate", str(path), "--executor", "made-2").code == 0
    line = one_sentence(looptop("stoploss", "calibrate", str(path), "--executor", "made-3"), 2)
    assert "no finished runs of made-3" in line


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("train", "none.jsonl"), "There is no file none.jsonl"),
        (("evaluate", "--project", "nobody"), "There are no finished runs in own history"),
        (("calibrate",), "Whose runs?"),
        (("score", "nothing"), "There is no run"),
        (("score", "none.traj"), "There is no file none.traj"),
        (("score", "none.traj", "--scorer", "magic"), "There is no scorer 'magic'"),
        (("calibrate", "--target", "1"), "--target"),
    ],
)
def test_bad_input_is_one_sentence(looptop: CommandLine, args: tuple[str, ...], words: str) -> None:
    assert words in one_sentence(looptop("stoploss", *args), 2)


def test_half_a_line_is_told_with_its_number(looptop: CommandLine, runs: Path) -> None:
    runs.write_text(runs.read_text()[:-100])
    assert "line 90: half a line" in one_sentence(looptop("stoploss", "train", str(runs)), 2)


def test_a_results_file_gives_the_verdicts(looptop: CommandLine, tmp_path: Path) -> None:
    unjudged = write_runs(tmp_path / "runs.jsonl", [replace(run, succeeded=None) for run in made_runs(20, 10)])
    results = tmp_path / "results.json"
    results.write_text(json.dumps({f"task{n}": n < 20 for n in range(30)}))
    line = one_sentence(looptop("stoploss", "train", str(unjudged)), 2)
    assert "0 windows" in line
    assert looptop("stoploss", "train", str(unjudged), "--results", str(results)).code == 0
