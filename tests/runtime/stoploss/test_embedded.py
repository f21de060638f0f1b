"""Training and the embedded scorer: deterministic, quick, readable weights, clear refusals."""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import UsageError
from runtime.stoploss.evaluate.ranking import auc
from runtime.stoploss.fitting import Row, fit, sigmoid
from runtime.stoploss.linear import load_weights, to_json
from runtime.stoploss.scorers.embedded import SHIPPED, Embedded, embedded
from runtime.stoploss.steps import Step
from runtime.stoploss.training import train
from runtime.stoploss.window import Windower, windows
from support.stoploss_runs import made_run, made_runs


def test_a_fit_finds_the_optimum_that_newton_finds() -> None:
    rng = random.Random(1)
    rows = [Row((rng.gauss(0, 1), rng.gauss(0, 1))) for _ in range(300)]
    targets = [rng.random() < sigmoid(0.5 + 1.5 * row.dense[0] - row.dense[1]) for row in rows]
    found = fit(rows, targets, [1.0] * 300, strength=10.0)
    # At the optimum the gradient vanishes, coordinate by coordinate.
    pull = [
        sigmoid(found.bias + sum(w * x for w, x in zip(found.dense, row.dense, strict=True))) - target
        for row, target in zip(rows, targets, strict=True)
    ]
    assert abs(sum(pull)) < 0.05
    for n, weight in enumerate(found.dense):
        assert abs(sum(p * row.dense[n] for p, row in zip(pull, rows, strict=True)) + weight / 10.0) < 0.05
    assert found.dense[0] > 1
    assert found.dense[1] < -0.5


def test_words_are_learned_by_their_side() -> None:
    # Buckets 0 to 3 are words of actions, 4 to 7 of observations: word 1 means failure in an action, word 5 success.
    rows = [Row((0.0,), (1, 6) if n % 2 else (2, 5), (1.0, 1.0)) for n in range(40)]
    found = fit(rows, [n % 2 == 1 for n in range(40)], [1.0] * 40, border=4, buckets=8, strength=1.0)
    assert found.words[1] > 0.5
    assert found.words[5] < -0.5
    assert found.words[0] == found.words[7] == 0.0


def test_examples_of_one_kind_teach_nothing() -> None:
    with pytest.raises(UsageError, match="none of a failed run"):
        train([made_run(n, succeeded=True) for n in range(5)])
    with pytest.raises(UsageError, match="none of a successful run"):
        train([made_run(n, succeeded=False) for n in range(5)])
    with pytest.raises(UsageError, match="0 windows"):
        train([made_run(1, True, steps=3), made_run(2, False, steps=4)])


def test_training_is_deterministic_and_survives_its_file(tmp_path: Path) -> None:
    runs = made_runs(12, 12)
    first, second = to_json(train(runs)), to_json(train(runs))
    assert first == second
    path = tmp_path / "weights.json"
    path.write_text(first)
    model = load_weights(path)
    assert to_json(model) == first
    window = list(windows(runs[0]))[1]
    assert model.probabilities(window) == load_weights(path).probabilities(window)
    assert Embedded(model).name == embedded(path).name


async def test_it_learns_what_tells_runs_apart() -> None:
    scorer = Embedded(train(made_runs(20, 20)))
    fresh = [made_run(n, n % 2 == 0) for n in range(100, 140)]
    scores: dict[bool, list[float]] = {True: [], False: []}
    for run in fresh:
        for window in windows(run):
            score = await scorer.score(window)
            assert score.p_continue + score.p_deliver + score.p_abort == pytest.approx(1)
            scores[bool(run.succeeded)].append(score.p_abort)
    assert auc(scores[False], scores[True]) == 1.0


async def test_shuffled_verdicts_teach_nothing() -> None:
    rng = random.Random(5)
    kinds = [rng.random() < 0.5 for _ in range(120)]
    noise = [made_run(n, n % 2 == 0) for n in range(120)]
    shuffled = [replace(run, succeeded=kind) for run, kind in zip(noise, kinds, strict=True)]
    scorer = Embedded(train(shuffled[:60]))
    found: dict[bool, list[float]] = {True: [], False: []}
    for run in shuffled[60:]:
        for window in windows(run):
            found[bool(run.succeeded)].append((await scorer.score(window)).p_abort)
    value = auc(found[False], found[True])
    assert value is not None
    assert 0.3 < value < 0.7


async def test_the_shipped_weights_score_within_two_milliseconds() -> None:
    scorer = embedded()
    windower = Windower()
    rng = random.Random(2)
    checks, spent = [], 0.0
    for n in range(90):
        step = Step(f"grep -rn word{n} src", " ".join(f"name{rng.randrange(5000)}" for _ in range(300)))
        began = time.process_time()
        windower.add(step)
        if n >= 4 and n % 3 == 1:
            score = await scorer.score(windower.window())
            # A check is a window's score and the counting of the three steps before it.
            checks.append(spent + time.process_time() - began)
            spent = 0.0
            assert score.cost_micros == 0
            assert 0 <= score.p_abort <= 1
        else:
            spent += time.process_time() - began
    assert statistics.median(checks[1:]) <= 0.002


def test_the_shipped_weights_say_where_they_come_from() -> None:
    trained = load_weights(SHIPPED).trained
    assert trained["sources"] == ["gruckion/mini-swe-agent"]
    assert trained["executors"] == ["gemini-3-pro-preview"]
    assert (trained["runs"], trained["failed"], len(trained["tasks"])) == (347, 85, 347)
    assert SHIPPED.stat().st_size < 60_000


def _broken(change: Any) -> str:
    data = json.loads(SHIPPED.read_text())
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a whole weights file"),
        ("[]", "not a weights file of StopLoss"),
        (_broken(lambda d: d.update(version=9)), "has version 9 with features 1; this looptop reads version 1"),
        (_broken(lambda d: d.update(features_version=7)), "version 1 with features 7"),
        (_broken(lambda d: d["heads"]["abort"]["words"].pop()), "4095 word weights where 4096 belong"),
        (_broken(lambda d: d["mean"].pop("files")), "damaged"),
        (_broken(lambda d: d["mean"].update(files=float("nan"))), "a weight is not a number"),
        (_broken(lambda d: d["deviation"].update(files=0)), "not above 0"),
        (_broken(lambda d: d.update(family="other")), "no features are called 'other'"),
    ],
)
def test_a_weights_file_that_does_not_fit_is_refused_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "weights.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=words) as told:
        load_weights(path)
    assert "\n" not in str(told.value)
    with pytest.raises(UsageError, match="no weights file"):
        load_weights(tmp_path / "none.json")


def test_importing_and_scoring_takes_nothing_heavy() -> None:
    root = Path(__file__).resolve().parents[3]
    code = (
        "import sys, asyncio\n"
        "from runtime.stoploss.scorers.embedded import embedded\n"
        "from runtime.stoploss.monitor import Monitor\n"
        "from runtime.stoploss.scorers.factory import make_scorer\n"
        "import runtime.stoploss.training, runtime.stoploss.evaluate.report, runtime.stoploss.trajectories.load\n"
        "embedded()\n"
        "heavy = {'torch', 'numpy', 'sklearn', 'scipy', 'transformers', 'peft', 'httpx2', 'anthropic', 'genai_prices', 'aiosqlite'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_scores_do_not_depend_on_the_process() -> None:
    """Words and repeats are found by digests that are the same everywhere."""
    root = Path(__file__).resolve().parents[3]
    code = (
        "import sys; sys.path[:0] = ['tests']\n"
        "from runtime.stoploss.scorers.embedded import embedded\n"
        "from runtime.stoploss.window import windows\n"
        "from support.stoploss_runs import made_run\n"
        "print([embedded().model.probabilities(w) for w in windows(made_run(1, False, 20))])\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    here = [asyncio.run(embedded().score(w)).p_abort for w in windows(made_run(1, False, 20))]
    assert f"{here[0]}" in said.pop()
