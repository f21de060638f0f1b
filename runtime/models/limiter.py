"""Parallel calls and pauses per provider, so that a refused one makes its siblings wait and no other provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from runtime.models.base import CallFault, ModelCallError

MAX_PAUSE_S = 60.0


@dataclass
class Lane:
    """One provider's calls."""

    slots: asyncio.Semaphore
    not_before: float = 0.0


@dataclass
class Limiter:
    """At most `parallel` calls at a time per provider; after a rate limit, none before the server's own time."""

    parallel: int = 16
    clock: Callable[[], float] = time.monotonic
    _lanes: dict[str, Lane] = field(default_factory=dict)

    def _lane(self, provider: str) -> Lane:
        if provider not in self._lanes:
            self._lanes[provider] = Lane(asyncio.Semaphore(self.parallel))
        return self._lanes[provider]

    @asynccontextmanager
    async def turn(self, provider: str, _model: str) -> AsyncIterator[None]:
        """Wait for a place among the provider's calls."""
        lane = self._lane(provider)
        async with lane.slots:
            wait = lane.not_before - self.clock()
            if wait > 0:
                await asyncio.sleep(min(wait, MAX_PAUSE_S))
            yield

    def back_off(self, provider: str, error: ModelCallError) -> None:
        """Keep the provider's other calls back as long as the server asked."""
        if error.fault is CallFault.RATE_LIMITED and error.retry_after_s:
            lane = self._lane(provider)
            lane.not_before = max(lane.not_before, self.clock() + error.retry_after_s)
