"""A served model as scorer: one chat completion of one token, whose log-probabilities over the three labels are the score."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from runtime.catalog.providers import provider_of
from runtime.models.wire import count, name_or_none
from runtime.ports import Prices
from runtime.stoploss.labels import LABELS, Label
from runtime.stoploss.scorers.base import Call, Score, ScorerError, softmax
from runtime.stoploss.scorers.client import JsonClient, server_words
from runtime.stoploss.scorers.prompt import messages
from runtime.stoploss.window import ByteTokenizer, Tokenizer, Window
from runtime.usage import Usage

TOP = 20
"""The most alternatives that chat-completions servers commonly give."""
CAREFUL = ByteTokenizer(3)
"""Without the server's own tokenizer: three bytes a token, so that the window stays below its limit in any of them."""
_MARKERS = " \u2581\u0120"


class Served:
    """Scores by a chat-completions endpoint that gives log-probabilities."""

    by_steps = False

    def __init__(
        self,
        model: str,
        client: JsonClient,
        prices: Prices | None = None,
        tokenizer: Tokenizer = CAREFUL,
    ) -> None:
        self.name = f"served-{model}"
        self._model = model
        self._client = client
        self._prices = prices
        self._tokenizer = tokenizer
        self._provider = provider_of(client.api)
        self._ids: dict[Label, int] | None = None
        self._asked_ids = False

    async def score(self, window: Window) -> Score:
        """One request for one token."""
        prompt = messages(window, self._tokenizer)
        if not self._asked_ids:
            # Once: which token a label begins with depends on the model and its template, not on the window.
            self._ids = await self._label_ids()
            self._asked_ids = True
        began = time.perf_counter()
        status, answer = await self._client.post(f"{self._client.api}/chat/completions", self._body(prompt))
        seconds = time.perf_counter() - began
        if status != 200 or not isinstance(answer, dict):
            raise ScorerError(f"The scorer {self._model} refused the check ({server_words(status, answer)}).")
        logits = label_logits(_alternatives(answer, self._model), self._ids)
        p_continue, p_deliver, p_abort = softmax(logits, f"The scorer {self._model}")
        call = await self._call(answer, seconds)
        return Score(p_continue, p_deliver, p_abort, call.cost_micros, seconds * 1000, (call,))

    def _body(self, prompt: list[dict[str, str]]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "messages": prompt, "logprobs": True, "temperature": 0}
        body["max_completion_tokens" if self._provider == "openai" else "max_tokens"] = 1
        if self._ids is None:
            return body | {"top_logprobs": TOP}
        return body | {
            "logprob_token_ids": list(self._ids.values()),
            "return_tokens_as_token_ids": True,
            # A reasoning model would spend its one token on thinking.
            "chat_template_kwargs": {"enable_thinking": False},
        }

    async def _label_ids(self) -> dict[Label, int] | None:
        """The first token of each label where the model would answer, by vLLM's /tokenize; None where the server has none.

        Raises ScorerError where two labels begin with the same token.
        """
        if self._provider == "openai":
            return None
        prompt = [{"role": "user", "content": "x"}]
        common = {"model": self._model, "chat_template_kwargs": {"enable_thinking": False}}
        bare = await self._tokens({**common, "messages": prompt, "add_generation_prompt": True})
        if bare is None:
            return None
        found: dict[Label, int] = {}
        for name in LABELS:
            answered = [*prompt, {"role": "assistant", "content": str(name)}]
            body = {**common, "messages": answered, "add_generation_prompt": False, "continue_final_message": True}
            tokens = await self._tokens(body)
            if tokens is None or len(tokens) <= len(bare) or tokens[: len(bare)] != bare:
                return None
            found[name] = tokens[len(bare)]
        if len(set(found.values())) < len(found):
            raise ScorerError(
                f"The labels of the scorer {self._model} begin with the same token, so they can't be told apart.",
                "Use a model with another tokenizer.",
            )
        return found

    async def _tokens(self, body: dict[str, Any]) -> list[int] | None:
        status, answer = await self._client.post(f"{self._client.root}/tokenize", body)
        tokens = answer.get("tokens") if status == 200 and isinstance(answer, dict) else None
        if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
            return None
        return tokens

    async def _call(self, answer: dict[str, Any], seconds: float) -> Call:
        usage = _usage(answer.get("usage"))
        priced = None
        if self._prices is not None:
            # The first question loads the price table.
            price = partial(self._prices.price, self._provider, self._model, usage, seconds=seconds)
            priced = await asyncio.to_thread(price)
        micros, version = (None, None) if priced is None else (priced.micros, priced.version)
        return Call(self._provider, self._model, usage, micros, seconds * 1000, name_or_none(answer.get("id")), version)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def label_logits(alternatives: Mapping[str, float], ids: Mapping[Label, int] | None) -> dict[Label, float]:
    """Log-probability by label; a label that isn't among the alternatives is left out.

    With ids, tokens are named `token_id:N`. Without, a token stands for the label that begins with it; several tokens of one
    label (with and without a blank before it) add up.
    """
    if ids is not None:
        names = {f"token_id:{token}": name for name, token in ids.items()}
        return {names[token]: value for token, value in alternatives.items() if token in names}
    found: dict[Label, list[float]] = {}
    for token, value in alternatives.items():
        word = token.lstrip(_MARKERS).lower()
        matches = [name for name in LABELS if word and name.lower().startswith(word)]
        if len(matches) == 1:
            found.setdefault(matches[0], []).append(value)
    return {name: _log_sum(values) for name, values in found.items()}


def _log_sum(values: list[float]) -> float:
    top = max(values)
    return top if not math.isfinite(top) else top + math.log(math.fsum(math.exp(value - top) for value in values))


def _alternatives(answer: dict[str, Any], model: str) -> dict[str, float]:
    """Tokens of the first place with their log-probabilities. Raises ScorerError where the endpoint gives none."""
    hint = "Serve it where log-probabilities are given, or use another scorer."
    try:
        first = answer["choices"][0]["logprobs"]["content"][0]
        entries = [*(first.get("top_logprobs") or []), first]
        found: dict[str, float] = {}
        for entry in entries:
            token, value = entry.get("token"), entry.get("logprob")
            if isinstance(token, str) and isinstance(value, int | float) and not math.isnan(value):
                found.setdefault(token, float(value))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ScorerError(f"The endpoint of {model} gives no logprobs.", hint) from error
    if not found:
        raise ScorerError(f"The endpoint of {model} gives no logprobs.", hint)
    return found


def _usage(raw: Any) -> Usage:
    """Token counts as chat-completions servers report them: the prompt's count includes what was read from cache."""
    if not isinstance(raw, dict):
        return Usage()
    prompt, output = count(raw.get("prompt_tokens")), count(raw.get("completion_tokens"))
    details = raw.get("prompt_tokens_details")
    cached = count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if prompt is not None and cached is not None and cached <= prompt:
        return Usage(input=prompt - cached, output=output, cache_read=cached)
    return Usage(input=prompt, output=output)
