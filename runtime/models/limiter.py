"""Rate limits of our own, a lane for each provider, address, key and tenant: parallel calls, requests and tokens a minute.

A lane learns from what the server's headers say is left, and from refusals; no lane ever waits for another.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runtime.models.base import CallFault, Model, ModelCallError
from runtime.scope import current_scope

WINDOW_S = 60.0
_LEFT = ("requests", "tokens", "input-tokens", "output-tokens")


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one lane, a minute: calls at a time, requests, tokens. None is no limit of ours."""

    parallel: int = 16
    requests: int | None = None
    tokens: int | None = None


@dataclass
class Lane:
    """Calls that share a limit. Times are seconds of the limiter's clock."""

    limits: Limits
    slots: asyncio.Semaphore
    not_before: float = 0.0
    """No call starts earlier: the server said so."""
    sent: deque[tuple[float, int]] = field(default_factory=deque)
    """When calls of the last minute started, or will start, and their tokens."""

    def reserve(self, now: float, tokens: int) -> float:
        """Take the next start for a call of so many tokens; returns in how many seconds that is."""
        while self.sent and self.sent[0][0] <= now - WINDOW_S:
            self.sent.popleft()
        start = max(now, self.not_before, self._free_at(tokens), self.sent[-1][0] if self.sent else now)
        self.sent.append((start, tokens))
        return start - now

    def _free_at(self, tokens: int) -> float:
        """When enough of the last minute's calls are out of the window. A call larger than the limit goes alone."""
        count, total = len(self.sent), sum(size for _, size in self.sent)
        free_at = 0.0
        for started, size in self.sent:
            many = self.limits.requests is not None and count >= self.limits.requests
            much = self.limits.tokens is not None and total + tokens > self.limits.tokens
            if not many and not much:
                break
            free_at = started + WINDOW_S
            count, total = count - 1, total - size
        return free_at


@dataclass
class Limiter:
    """Keeps calls within their lane's limits."""

    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The time of day, for reset times in headers."""
    _lanes: dict[str, Lane] = field(default_factory=dict)

    def lane(self, model: Model) -> Lane:
        """The lane of a model's calls, for the tenant of the present scope."""
        name = f"{getattr(model, 'lane', model.provider)} {current_scope().tenant or ''}"
        if name not in self._lanes:
            # The embedded model asks no server: limits of requests and tokens mean nothing to it.
            limits = Limits(self.limits.parallel) if model.provider == "local" else self.limits
            self._lanes[name] = Lane(limits, asyncio.Semaphore(limits.parallel))
        return self._lanes[name]

    @asynccontextmanager
    async def place(self, model: Model) -> AsyncIterator[Lane]:
        """A place among the lane's parallel calls; freed at the end, however it comes."""
        lane = self.lane(model)
        async with lane.slots:
            yield lane

    def reserve(self, lane: Lane, tokens: int) -> float:
        """Take the lane's next start for a call of so many tokens; returns in how many seconds that is."""
        return lane.reserve(self.clock(), tokens)

    def learn(self, lane: Lane, headers: Mapping[str, str]) -> None:
        """Take what the server says is left: where it is nothing, the lane waits for the time at which it is more."""
        for name in _LEFT:
            left, reset = (headers.get(f"anthropic-ratelimit-{name}-{what}") for what in ("remaining", "reset"))
            if left is None or reset is None or not left.strip().isdigit() or int(left) > 0:
                continue
            try:
                seconds = (datetime.fromisoformat(reset) - self.now()).total_seconds()
            except (ValueError, TypeError):
                continue
            lane.not_before = max(lane.not_before, self.clock() + min(max(0.0, seconds), WINDOW_S))

    def refused(self, lane: Lane, error: ModelCallError) -> None:
        """Keep the lane's other calls back as long as a server that limits the rate asked."""
        self.learn(lane, error.rate_limits)
        if error.fault is CallFault.RATE_LIMITED and error.retry_after_s:
            lane.not_before = max(lane.not_before, self.clock() + error.retry_after_s)
