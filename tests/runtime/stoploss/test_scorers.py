"""The scorers that ask a server or a model, against a server on the loopback; ensembles; names."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtime.catalog.prices import Catalog
from runtime.errors import UsageError
from runtime.models.openai import OpenAIModel
from runtime.stoploss.labels import Label
from runtime.stoploss.scorers.base import Score, ScorerError, softmax
from runtime.stoploss.scorers.client import JsonClient
from runtime.stoploss.scorers.ensemble import Ensemble
from runtime.stoploss.scorers.factory import make_scorer
from runtime.stoploss.scorers.judge import Judge, ask_model
from runtime.stoploss.scorers.served import Served, label_logits
from runtime.stoploss.scorers.step_limit import StepLimit, score_of, steps_of
from runtime.stoploss.window import Window, windows
from support.http_loopback import Connection, Loopback, Received
from support.scripted_server import ScriptedServer, text
from support.stoploss_runs import made_run

WINDOW = next(windows(made_run(1, succeeded=False)))
LOGPROBS = {"Continue": -0.2, "Abort": -2.0, "Deliver": -4.0}


@dataclass
class ScoringServer:
    """A chat-completions endpoint with log-probabilities, as vLLM (with /tokenize) or as a plain one."""

    tokens: Callable[[dict[str, Any]], list[int]] | None = None
    logprobs: dict[str, float] = field(default_factory=lambda: dict(LOGPROBS))
    broken: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def handle(self, request: Received, connection: Connection) -> None:
        body = request.json()
        if request.path == "/tokenize":
            if self.tokens is None:
                await connection.answer(404, {"detail": "Not Found"})
            else:
                await connection.answer(200, {"tokens": self.tokens(body)})
            return
        assert request.path == "/v1/chat/completions"
        self.bodies.append(body)
        if self.broken == "status":
            await connection.answer(400, {"error": {"message": "logprobs are off"}})
            return
        if self.broken == "silent":
            await asyncio.Event().wait()
        entries = [{"token": token, "logprob": value} for token, value in self.logprobs.items()]
        content: Any = {"content": [{**entries[0], "top_logprobs": entries}]} if entries else {"content": []}
        choice = {"index": 0, "message": {"content": "x"}, "logprobs": None if self.broken == "none" else content}
        usage = {"prompt_tokens": 1_200, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1_000}}
        await connection.answer(200, {"id": "chat-1", "choices": [choice], "usage": usage})


@asynccontextmanager
async def serving(
    server: ScoringServer, timeout_s: float = 5.0, prices: Catalog | None = None
) -> AsyncIterator[Served]:
    loopback = Loopback(server.handle, 0)
    async with loopback:
        scorer = Served("monitor-8b", JsonClient(f"{loopback.url}/v1", timeout_s=timeout_s), prices)
        try:
            yield scorer
        finally:
            await scorer.close()


def vllm_tokens(body: dict[str, Any]) -> list[int]:
    """A template of three tokens, then the label's: each label its own, Deliver in two pieces."""
    last = body["messages"][-1]
    if last["role"] != "assistant":
        assert body["add_generation_prompt"]
        return [1, 2, 3]
    assert body["continue_final_message"]
    return [1, 2, 3, *{"Continue": [70], "Deliver": [80, 81], "Abort": [90]}[last["content"]]]


async def test_one_request_for_one_token() -> None:
    server = ScoringServer()
    async with serving(server) as scorer:
        score = await scorer.score(WINDOW)
    total = sum(math.exp(v) for v in LOGPROBS.values())
    assert score.p_abort == pytest.approx(math.exp(-2.0) / total)
    assert score.p_continue == pytest.approx(math.exp(-0.2) / total)
    assert len(server.bodies) == 1
    body = server.bodies[0]
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"], body["temperature"]) == (1, True, 20, 0)
    assert "logprob_token_ids" not in body
    assert WINDOW.pairs[-1].action in body["messages"][1]["content"]
    assert score.calls[0].usage.cache_read == 1_000
    assert score.calls[0].usage.input == 200


async def test_where_there_are_token_ids_exactly_the_labels_are_asked_for() -> None:
    server = ScoringServer(vllm_tokens, {"token_id:5": -0.01, "token_id:90": -3.0, "token_id:70": -4.0})
    async with serving(server) as scorer:
        score = await scorer.score(WINDOW)
        await scorer.score(WINDOW)
    body = server.bodies[0]
    assert body["logprob_token_ids"] == [70, 80, 90]
    assert body["return_tokens_as_token_ids"] is True
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert len(server.bodies) == 2
    # What isn't given is minus infinity, and whatever is no label counts for nothing.
    assert score.p_deliver == 0.0
    assert score.p_abort == pytest.approx(1 / (1 + math.exp(-1)))


async def test_labels_that_begin_alike_are_told() -> None:
    server = ScoringServer(lambda body: [1, 2] if body["messages"][-1]["role"] == "user" else [1, 2, 7, 8])
    async with serving(server) as scorer:
        with pytest.raises(ScorerError, match="begin with the same token"):
            await scorer.score(WINDOW)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (ScoringServer(broken="none"), "The endpoint of monitor-8b gives no logprobs"),
        (ScoringServer(logprobs={}), "gives no logprobs"),
        (ScoringServer(broken="status"), "refused the check \\(400: logprobs are off\\)"),
        (ScoringServer(logprobs={"Yes": -0.1, "No": -2.0}), "named none of the labels Continue, Deliver, Abort"),
        (ScoringServer(logprobs={"Abort": float("-inf")}), "named none of the labels"),
    ],
)
async def test_an_endpoint_that_does_not_fit_is_told_in_one_sentence(server: ScoringServer, words: str) -> None:
    async with serving(server) as scorer:
        with pytest.raises(ScorerError, match=words) as told:
            await scorer.score(WINDOW)
    assert "\n" not in str(told.value)


async def test_a_server_that_is_silent_or_gone_is_told() -> None:
    async with serving(ScoringServer(broken="silent"), timeout_s=0.05) as scorer:
        with pytest.raises(ScorerError, match="did not answer in time"):
            await scorer.score(WINDOW)
    scorer = Served("gone", JsonClient("http://127.0.0.1:1"))
    with pytest.raises(ScorerError, match=r"127\.0\.0\.1:1 can't be reached"):
        await scorer.score(WINDOW)
    await scorer.close()


async def test_a_price_of_ones_own_makes_the_cost_and_none_leaves_it_unknown() -> None:
    own = Catalog({"monitor-8b": {"input": 0.1, "output": 0.4, "cache_read": 0.05}})
    async with serving(ScoringServer(), prices=own) as scorer:
        score = await scorer.score(WINDOW)
    assert score.cost_micros == pytest.approx(200 * 0.1 + 1_000 * 0.05 + 0.4, abs=1)
    async with serving(ScoringServer(), prices=Catalog()) as scorer:
        assert (await scorer.score(WINDOW)).cost_micros is None


def test_tokens_stand_for_the_labels_that_begin_with_them() -> None:
    found = label_logits(
        {" Abort": -1.0, "Ab": -1.0, "\u0120Cont": -3.0, "The": -0.1, "": -0.2, "Abortive": -0.3}, None
    )
    assert found[Label.ABORT] == pytest.approx(-1.0 + math.log(2))
    assert found[Label.CONTINUE] == -3.0
    assert Label.DELIVER not in found


def test_softmax_of_a_missing_candidate_is_zero() -> None:
    assert softmax({Label.ABORT: -700.0}, "x") == (0.0, 0.0, 1.0)
    with pytest.raises(ScorerError):
        softmax({}, "x")


@pytest.mark.parametrize(("answer", "p_abort"), [("Abort", 1.0), ("  continue.", 0.0), ("**Deliver**", 0.0)])
async def test_a_judge_says_one_word_and_its_call_is_counted(answer: str, p_abort: float) -> None:
    async with ScriptedServer([text(answer)]) as server:
        model = OpenAIModel("general", server.url)
        prices = Catalog({"general": {"input": 1.0, "output": 4.0}})
        judge = Judge("general", ask_model(model, prices), model.close)
        score = await judge.score(WINDOW)
        await judge.close()
        assert score.p_abort == p_abort
        assert score.cost_micros is not None
        assert score.cost_micros > 0
        assert score.calls[0].usage.output is not None
        assert server.bodies[0]["max_tokens"] == 16


@pytest.mark.parametrize("answer", ["perhaps", "Continue or Abort"])
async def test_a_judge_that_names_no_single_label_gives_no_score(answer: str) -> None:
    async with ScriptedServer([text(answer)]) as server:
        model = OpenAIModel("general", server.url)
        judge = Judge("general", ask_model(model, None), model.close)
        with pytest.raises(ScorerError, match="named no single label"):
            await judge.score(WINDOW)
        await judge.close()


@dataclass
class Fixed:
    """A scorer that always says the same."""

    p_abort: float
    cost: int | None = 0
    name: str = "fixed"
    by_steps: bool = False
    error: Exception | None = None

    async def score(self, window: Window) -> Score:
        if self.error is not None:
            raise self.error
        return Score(1 - self.p_abort, 0.0, self.p_abort, self.cost)

    async def close(self) -> None:
        """Nothing to let go."""


async def test_an_ensemble_takes_the_mean_of_scores_and_the_sum_of_costs() -> None:
    score = await Ensemble([Fixed(0.2, 10), Fixed(0.8, 5)]).score(WINDOW)
    assert score.p_abort == pytest.approx(0.5)
    assert score.cost_micros == 15
    assert (await Ensemble([Fixed(0.2, 10), Fixed(0.8, None)]).score(WINDOW)).cost_micros is None
    with pytest.raises(ScorerError, match="gone"):
        await Ensemble([Fixed(0.2), Fixed(0.1, error=ScorerError("gone"))]).score(WINDOW)
    with pytest.raises(UsageError):
        Ensemble([])


async def test_the_step_limit_rises_with_every_step() -> None:
    scores = [(await StepLimit().score(window)).p_abort for window in windows(made_run(1, succeeded=True, steps=40))]
    assert scores == sorted(set(scores))
    assert steps_of(score_of(17)) == pytest.approx(17)


def test_scorers_by_name(tmp_path: Path) -> None:
    env = {"OPENAI_BASE_URL": "http://localhost:9/v1"}
    assert make_scorer("step-limit", {}).name == "step-limit"
    assert make_scorer("embedded", {}).name.startswith("embedded-")
    assert make_scorer("served:monitor", env).name == "served-monitor"
    assert make_scorer("judge:general", env).name == "judge-general"
    assert make_scorer("step-limit + embedded", {}).name.startswith("step-limit+embedded-")
    for wrong, words in (
        ("nothing", "There is no scorer 'nothing'"),
        ("step-limit:3", "There is no scorer"),
        ("served:", "There is no scorer"),
        ("served:monitor", "needs an address"),
        ("judge:claude-haiku-5-5", "needs an API key"),
        (f"embedded:{tmp_path}/none.json", "no weights file"),
    ):
        with pytest.raises(UsageError, match=words):
            make_scorer(wrong, {})
