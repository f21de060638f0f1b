"""A general model as judge, for comparison: asked for one word, its cost counted. One word is a verdict, not a degree."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from runtime.models.base import Message, Model, ModelCallError, Reply, Request, Text
from runtime.ports import Prices
from runtime.stoploss.labels import LABELS
from runtime.stoploss.scorers.base import Call, Score, ScorerError
from runtime.stoploss.scorers.prompt import SYSTEM, messages
from runtime.stoploss.scorers.served import CAREFUL
from runtime.stoploss.window import Window
from runtime.text import one_line

MAX_OUTPUT_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What a judge said, and the call that it took; None where whoever made the call keeps it in the ledger itself."""

    text: str
    cost_micros: int | None
    call: Call | None = None


Ask = Callable[[Request], Awaitable[Answer]]
"""Makes one model call. Raises ScorerError."""


class Judge:
    """Scores 1 for the label that the model names and 0 for the others."""

    by_steps = False

    def __init__(self, model: str, ask: Ask, close: Callable[[], Awaitable[None]] | None = None) -> None:
        self.name = f"judge-{model}"
        self._model = model
        self._ask = ask
        self._close = close

    async def score(self, window: Window) -> Score:
        """One call for one word. Raises ScorerError where the answer names no label, or several."""
        began = time.perf_counter()
        text = messages(window, CAREFUL)[1]["content"]
        answer = await self._ask(
            Request(
                model=self._model,
                system=(SYSTEM,),
                tools=(),
                messages=(Message(role="user", blocks=(Text(text=text),)),),
                max_output_tokens=MAX_OUTPUT_TOKENS,
            )
        )
        named = [name for name in LABELS if name.lower() in answer.text.lower()]
        if len(named) != 1:
            raise ScorerError(f"The judge {self._model} named no single label but said {one_line(answer.text, 60)!r}.")
        values = [float(name is named[0]) for name in LABELS]
        calls = () if answer.call is None else (answer.call,)
        return Score(values[0], values[1], values[2], answer.cost_micros, (time.perf_counter() - began) * 1000, calls)

    async def close(self) -> None:
        """Close the model."""
        if self._close is not None:
            await self._close()


def ask_model(model: Model, prices: Prices | None) -> Ask:
    """Ask a model directly, once and without retries: outside a run, where no budget binds."""

    async def ask(request: Request) -> Answer:
        began = time.perf_counter()
        reply: Reply | None = None
        try:
            async with aclosing(model.stream(request.model_copy(update={"model": model.name}))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Reply):
                        reply = piece
        except ModelCallError as error:
            raise ScorerError(f"The judge {model.name} did not answer ({one_line(error.message, 200)}).") from error
        if reply is None:
            raise ScorerError(f"The judge {model.name} did not answer.")
        seconds = time.perf_counter() - began
        micros, version = reply.cost_micros, None
        if micros is None and prices is not None:
            price = partial(prices.price, model.provider, model.name, reply.usage, seconds=seconds)
            priced = await asyncio.to_thread(price)
            micros, version = priced.micros, priced.version
        text = "\n".join(block.text for block in reply.message.blocks if isinstance(block, Text))
        call = Call(model.provider, reply.model, reply.usage, micros, seconds * 1000, reply.request_id, version)
        return Answer(text, micros, call)

    return ask
