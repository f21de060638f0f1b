"""The one place that retries model calls: a bounded number of tries, a bounded wait, each try told with what it may have cost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from runtime.models.base import (
    RETRYABLE,
    ArgumentsPiece,
    CallFault,
    CallRetried,
    CallWaits,
    Model,
    ModelCallError,
    Piece,
    Reply,
    Request,
    TextPiece,
    UsageSoFar,
)
from runtime.models.first_write import FirstWrites
from runtime.models.limiter import Lane, Limiter
from runtime.prompt.estimate import BYTES_PER_TOKEN, estimate_tokens
from runtime.usage import Usage


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on tries and waits, in seconds. A server's `retry-after` is honoured; one beyond what is left of `max_wait_s` ends the call."""

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


class Door(Protocol):
    """Says whether a try may be sent: asked for every one, since a run may have been paused while the call waited."""

    def admits(self) -> bool:
        """Whether to send it now. Where true is returned it is sent without any wait in between."""
        ...

    async def opened(self) -> None:
        """Wait until it may be worth asking again."""
        ...


class OpenDoor:
    """For calls that nobody holds back."""

    def admits(self) -> bool:
        """Always."""
        return True

    async def opened(self) -> None:
        """No wait."""


@dataclass
class Transport:
    """Makes calls through any model. `sleep` and `rng` are the world's; tests put in their own."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    limiter: Limiter = field(default_factory=Limiter)
    first: FirstWrites = field(default_factory=FirstWrites)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.Random)

    async def call(self, model: Model, request: Request, door: Door | None = None) -> AsyncGenerator[Piece, None]:
        """Pieces of the call, of every try; the last piece is the Reply. Raises ModelCallError after the last try.

        Waits are announced by a CallRetried or CallWaits before they begin, and end at once when the generator is closed.
        """
        attempt, waited = 1, 0.0
        while True:
            progress = _Progress(request)
            try:
                async with (
                    self.limiter.place(model) as lane,
                    aclosing(self._one(model, request, lane, progress, door or OpenDoor())) as pieces,
                ):
                    async for piece in pieces:
                        yield piece
                return
            except ModelCallError as error:
                error.usage = progress.cost_of(error)
                self.limiter.refused(lane, error)
                waited += progress.waited
                wait = self._wait(error, attempt, waited)
                if wait is None:
                    self._tell(error, attempt)
                    raise
                retried = CallRetried(
                    attempt=attempt,
                    of=self.policy.tries,
                    status=error.status,
                    error=error.message,
                    wait_s=wait,
                    usage=error.usage,
                )
            yield retried
            await self.sleep(wait)
            waited += wait
            attempt += 1

    def _wait(self, error: ModelCallError, attempt: int, waited: float) -> float | None:
        """Seconds to wait before the next try; None where there is none."""
        if error.fault not in RETRYABLE or attempt >= self.policy.tries:
            return None
        # A server that asks for no wait at all gets the usual one: it has just refused.
        wait = error.retry_after_s or self.policy.backoff_s(attempt, self.rng)
        return None if waited + wait > self.policy.max_wait_s else wait

    def _tell(self, error: ModelCallError, attempt: int) -> None:
        if attempt > 1 or error.fault in RETRYABLE:
            tries = f"{attempt} {'try' if attempt == 1 else 'tries'}"
            asked = f"; the server asks to wait {error.retry_after_s:,.0f} s" if error.retry_after_s else ""
            error.message = f"{error.message} (given up after {tries}{asked})"

    async def _one(
        self, model: Model, request: Request, lane: Lane, progress: _Progress, door: Door
    ) -> AsyncGenerator[Piece, None]:
        """One try, ended when it brings no content for too long."""
        progress.waited = self.limiter.reserve(lane, progress.estimate)
        if progress.waited > self.policy.max_wait_s:
            text = f"calls to {model.provider} are held back after a rate limit"
            raise ModelCallError(CallFault.RATE_LIMITED, text, retry_after_s=progress.waited, sent=False)
        if progress.waited > 0:
            yield CallWaits(wait_s=progress.waited)
            await self.sleep(progress.waited)
        while True:
            await door.opened()
            # A call that isn't admitted after all leaves its turn to the others.
            async with self.first.turn(model, request) as begun:
                if not door.admits():
                    continue
                async with aclosing(self._stream(model, request, progress)) as stream:
                    async for piece in stream:
                        begun()
                        if isinstance(piece, Reply):
                            self.limiter.learn(lane, piece.rate_limits)
                        yield piece
                return

    async def _stream(self, model: Model, request: Request, progress: _Progress) -> AsyncGenerator[Piece, None]:
        async with aclosing(model.stream(request)) as stream:
            iterator = stream.__aiter__()
            while True:
                try:
                    async with asyncio.timeout(self.policy.silence_s) as silence:
                        piece = await anext(iterator)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if not silence.expired():
                        raise
                    text = f"no content for {self.policy.silence_s:g} s"
                    raise ModelCallError(CallFault.SILENT, text, usage=progress.usage) from None
                progress.see(piece)
                yield piece


class _Progress:
    """How far a try came."""

    def __init__(self, request: Request) -> None:
        self.estimate = estimate_tokens(request)
        self.waited = 0.0
        self.usage: Usage | None = None
        self.streamed_bytes = 0

    def see(self, piece: Piece) -> None:
        if isinstance(piece, UsageSoFar):
            self.usage = piece.usage
        elif isinstance(piece, TextPiece):
            self.streamed_bytes += len(piece.text.encode("utf-8", "replace"))
        elif isinstance(piece, ArgumentsPiece):
            self.streamed_bytes += piece.size

    def cost_of(self, error: ModelCallError) -> Usage | None:
        """What the broken try may have cost; None for a try that was refused or never sent.

        Reported counts are exact; a prompt that was sent without an answer, and output that streamed in beyond the last count,
        are estimated and marked.
        """
        if not error.sent:
            return None
        usage = error.usage or self.usage or Usage()
        estimated = set(usage.estimated)
        changes: dict[str, int] = {}
        if usage.prompt is None:
            changes["input"] = self.estimate
            estimated.add("input")
        streamed = -(-self.streamed_bytes // BYTES_PER_TOKEN)
        if usage.output is None or streamed > usage.output:
            changes["output"] = streamed
            estimated.add("output")
        return usage.model_copy(update={**changes, "estimated": tuple(sorted(estimated))})
