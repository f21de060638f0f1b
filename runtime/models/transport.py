"""The one place that retries model calls: a bounded number of tries, a bounded wait, each try told with what it may have cost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from runtime.models.base import (
    RETRYABLE,
    ArgumentsPiece,
    CallFault,
    CallRetried,
    Model,
    ModelCallError,
    Piece,
    Request,
    TextPiece,
    UsageSoFar,
)
from runtime.models.limiter import Limiter
from runtime.usage import Usage


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on tries and waits. A server's `retry-after` is honoured up to `max_wait_s`; a longer one ends the call."""

    tries: int = 5
    base_s: float = 1.0
    factor: float = 2.0
    cap_s: float = 60.0
    max_wait_s: float = 900.0
    silence_s: float = 120.0

    def backoff_s(self, attempt: int, rng: random.Random) -> float:
        """Exponential back-off with full jitter in its upper half."""
        full = min(self.cap_s, self.base_s * self.factor ** (attempt - 1))
        return full * (0.5 + 0.5 * rng.random())


@dataclass
class Transport:
    """Makes calls through any model. `sleep` and `rng` are the world's; tests put in their own."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    limiter: Limiter = field(default_factory=Limiter)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.Random)

    async def call(self, model: Model, request: Request) -> AsyncGenerator[Piece, None]:
        """Pieces of the call, of every try; the last piece is the Reply. Raises ModelCallError after the last try."""
        attempt, waited = 1, 0.0
        while True:
            progress = _Progress()
            try:
                async with (
                    self.limiter.turn(model.provider, model.name),
                    aclosing(self._one(model, request, progress)) as pieces,
                ):
                    async for piece in pieces:
                        yield piece
                return
            except ModelCallError as failed:
                error = failed
                if error.usage is None and error.sent:
                    error.usage = progress.usage
                wait = self._wait(error, attempt, waited)
                if wait is None:
                    raise self._told(error, attempt) from error
            yield CallRetried(
                attempt=attempt,
                of=self.policy.tries,
                status=error.status,
                error=error.message,
                wait_s=wait,
                usage=_cost_of(error, progress),
            )
            self.limiter.back_off(model.provider, error)
            await self.sleep(wait)
            waited += wait
            attempt += 1

    def _wait(self, error: ModelCallError, attempt: int, waited: float) -> float | None:
        """Seconds to wait before the next try; None where there is none."""
        if error.fault not in RETRYABLE or attempt >= self.policy.tries:
            return None
        asked = error.retry_after_s
        wait = self.policy.backoff_s(attempt, self.rng) if asked is None else asked
        return None if waited + wait > self.policy.max_wait_s else wait

    def _told(self, error: ModelCallError, attempt: int) -> ModelCallError:
        if attempt > 1 or error.fault in RETRYABLE:
            tries = f"{attempt} {'try' if attempt == 1 else 'tries'}"
            asked = f"; the server asks to wait {error.retry_after_s:,.0f} s" if error.retry_after_s else ""
            error.message = f"{error.message} (given up after {tries}{asked})"
        return error

    async def _one(self, model: Model, request: Request, progress: _Progress) -> AsyncGenerator[Piece, None]:
        """One try, ended when it brings no content for too long."""
        async with aclosing(model.stream(request)) as stream:
            iterator = stream.__aiter__()
            while True:
                try:
                    async with asyncio.timeout(self.policy.silence_s):
                        piece = await anext(iterator)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    text = f"no content for {self.policy.silence_s:g} s"
                    raise ModelCallError(CallFault.SILENT, text, usage=progress.usage, sent=progress.started) from None
                progress.see(piece)
                yield piece


class _Progress:
    """How far a try came."""

    def __init__(self) -> None:
        self.started = False
        self.usage: Usage | None = None
        self.streamed_bytes = 0

    def see(self, piece: Piece) -> None:
        self.started = True
        if isinstance(piece, UsageSoFar):
            self.usage = piece.usage
        elif isinstance(piece, TextPiece):
            self.streamed_bytes += len(piece.text.encode("utf-8", "replace"))
        elif isinstance(piece, ArgumentsPiece):
            self.streamed_bytes += piece.size


def _cost_of(error: ModelCallError, progress: _Progress) -> Usage | None:
    """What a broken try may have cost: reported counts exact, output that streamed beyond them estimated and marked."""
    usage = error.usage
    if usage is None:
        return None
    streamed = -(-progress.streamed_bytes // 4)
    if usage.output is None or streamed > usage.output:
        return usage.model_copy(update={"output": streamed, "estimated": tuple(sorted({*usage.estimated, "output"}))})
    return usage
