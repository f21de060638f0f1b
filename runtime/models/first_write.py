"""Calls that begin with the same bytes, started together: one goes first and writes the cache, the others wait until it begins to answer.

A provider's cache entry can be read only from then on; sent all at once, each call would pay for writing the same prefix.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from runtime.models.base import Model, Request
from runtime.prompt.prediction import LIFETIME_S


@dataclass
class _Front:
    """A prefix that calls share: until when it is warm, and who is writing it."""

    warm_until: float = float("-inf")
    writing: asyncio.Event | None = None


@dataclass
class FirstWrites:
    """Keeps order among calls that share tools and system prompt. `clock` gives monotonic seconds."""

    clock: Callable[[], float] = time.monotonic
    _fronts: dict[tuple[str, ...], _Front] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, model: Model, request: Request) -> AsyncIterator[Callable[[], None]]:
        """Wait until the call may go; gives what is to be called once its answer begins. Only for providers with marked caches."""
        if model.provider != "anthropic" or not (request.tools or request.system):
            yield _nothing
            return
        front = self._fronts.setdefault(_key(model, request), _Front())
        while front.writing is not None and front.warm_until <= self.clock():
            await front.writing.wait()
        started, done = self.clock(), asyncio.Event()
        if front.warm_until <= started:
            front.writing = done

        def begun() -> None:
            front.warm_until = max(front.warm_until, started + LIFETIME_S[request.ttl])
            done.set()

        try:
            yield begun
        finally:
            done.set()
            if front.writing is done:
                front.writing = None


def _nothing() -> None:
    """Nothing to tell anybody."""


def _key(model: Model, request: Request) -> tuple[str, ...]:
    lane = getattr(model, "lane", model.provider)
    return (lane, request.model, *request.system, *(tool.model_dump_json() for tool in request.tools))
