"""What the engine needs of others, as small protocols: a record of events, a ledger of usage, a clock."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol

from runtime.errors import StoreError
from runtime.events.base import Event
from runtime.usage import Money, Usage


class Clock(Protocol):
    """Time as the engine sees it; tests put in their own."""

    def now(self) -> datetime:
        """UTC time of day."""
        ...

    def monotonic(self) -> float:
        """Seconds by a clock that never goes back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """UTC time of day."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds by a clock that never goes back."""
        return time.monotonic()


class Record(Protocol):
    """Keeps events in order. `append` never waits.

    What was flushed outlives the process; what is marked durable (`Event.durable`) outlives a power cut as well.
    """

    def append(self, event: Event) -> None:
        """Take a stamped event."""
        ...

    async def flush(self) -> None:
        """Wait until everything appended is kept. Raises RecordBlocked while it can't be written."""
        ...


class RecordBlocked(StoreError):
    """The record can't be written for now; `text` says which filesystem needs what. Nothing is lost: it is tried again at the next flush."""

    @property
    def text(self) -> str:
        """What is in the way and what helps, in words."""
        return str(self)


@dataclass(frozen=True, slots=True)
class CallRow:
    """One model call for the ledger. `outcome` is ok, broken, interrupted; unknown figures are None."""

    call_id: str
    """Unique per try; the same row delivered twice is stored once."""
    provider: str
    model: str
    usage: Usage
    cost_micros: int | None
    price_version: str | None
    started_at: datetime
    latency_ms: int | None
    ttft_ms: int | None
    request_id: str | None
    outcome: str
    purpose: str | None = None
    """None takes the purpose of the scope."""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LostCall:
    """A model call whose process died in it, as the ledger settled it: at its worst case, estimated."""

    round: int
    usage: Usage
    cost_micros: int | None


@dataclass(frozen=True, slots=True)
class RunTotals:
    """What a run has used so far, from the ledger: over attempts, legs, resumes and retries."""

    usage: Usage
    tokens: int
    """Tokens that count against the budget; where a part isn't known, its estimate."""
    money: Money
    calls: int


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget that a call must fit into: what of, in what unit, and how much. Days are UTC days."""

    of: Literal["run", "project", "tenant", "day"]
    unit: Literal["tokens", "micros"]
    limit: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """The limit that a call doesn't fit into, with what is used, what other calls in flight may still take, and what it needs."""

    limit: Limit
    used: int
    reserved: int
    needed: int
    complete: bool = True
    """False where calls without a price are in `used`."""


class Ledger(Protocol):
    """One row per model call; the only source of sums. The scope (runtime.scope) says what a call was for."""

    async def record(self, row: CallRow) -> None:
        """Keep a row, and drop its call's reservation with it; durable on return. Raises RecordBlocked while it can't be written."""
        ...

    async def run_totals(self, run: str) -> RunTotals:
        """Sums of one run."""
        ...

    async def reserve(self, call_id: str, run: str, tokens: int, micros: int | None) -> None:
        """Note a call's worst case before it is made, so that a crash leaves it counted as estimated."""
        ...

    async def try_reserve(
        self,
        call_id: str,
        run: str,
        tokens: int,
        micros: int | None,
        limits: Sequence[Limit] = (),
        *,
        provider: str = "unknown",
        model: str = "unknown",
        output_tokens: int = 0,
    ) -> Refusal | None:
        """Reserve a call's worst case if it fits into every limit, else say which one it doesn't fit; nothing is reserved then.

        Check and reservation are one step for all runs and processes of a store. Project, tenant and day are those of the
        scope. `tokens` counts all, `output_tokens` the part that is output; without `micros` limits in money don't bind.
        """
        ...

    async def settle(self, call_id: str) -> None:
        """Drop a reservation whose call was never sent."""
        ...


@dataclass(frozen=True, slots=True)
class Priced:
    """Cost of a call in micro-dollars; None where it isn't known, with why in `note`."""

    micros: int | None
    version: str | None = None
    note: str = ""


class Prices(Protocol):
    """The catalog's prices, with the project's overrides."""

    def price(
        self, provider: str, model: str, usage: Usage, *, seconds: float | None = None, in_flight: int = 1
    ) -> Priced:
        """What a call cost; `seconds` and calls `in_flight` count for a model that is priced by the hour."""
        ...

    def worst_case(
        self, provider: str, model: str, prompt_tokens: int, output_tokens: int, ttl: str = "1h"
    ) -> int | None:
        """The most a call may cost, in micro-dollars, everything at the write price of a lifetime; None without a price."""
        ...

    def doubts(self, provider: str, model: str) -> list[str]:
        """Where a model's rates break the pattern of its family, in words."""
        ...

    def rewarm(self, provider: str, model: str, usage: Usage, ttl: str) -> int | None:
        """What it costs more to write anew, rather than to read, all that a call left in the cache, in micro-dollars."""
        ...

    def saved(self, provider: str, model: str, usage: Usage) -> int | None:
        """What caching saved against sending the whole prompt fresh, in micro-dollars; negative where writing cost more."""
        ...
