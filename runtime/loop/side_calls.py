"""Model calls beside the fix phase, such as the failure analysis: reserved, priced and kept in the ledger under their own purpose."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from runtime.loop.flight import CallDoor, CallInFlight
from runtime.loop.services import Services
from runtime.models.base import (
    ArgumentsPiece,
    CallRetried,
    Model,
    ModelCallError,
    Reply,
    Request,
    Text,
    TextPiece,
    UsageSoFar,
)
from runtime.ports import CallRow, Limit, Priced, RecordBlocked, Refusal
from runtime.prompt.estimate import estimate_tokens
from runtime.scope import UNSCOPED, scope
from runtime.usage import FREE, Money, Usage, add_usage

Keep = Callable[[CallRow], Awaitable[None]]
"""Puts a row into the ledger, whatever is to be done while that can't be written."""


@dataclass
class SideCall:
    """What a call brought and cost, its tries included, as far as it came; `failed` says in words why there is no text."""

    text: str = ""
    failed: str = ""
    usage: Usage = field(default_factory=Usage)
    """Of all tries; a call that wasn't made used nothing."""
    tries: int = 0
    latency_ms: int | None = None
    answered: bool = False
    """Whether a whole reply came, with text or without."""
    money: Money = field(default_factory=Money)
    model: str = ""

    @property
    def micros(self) -> int | None:
        """Its cost in micro-dollars; None where a part of it has no price."""
        return self.money.micros if self.money.complete else None


class SideCaller:
    """Makes single calls for a purpose. They are retried by the transport alone, never held, and always in the ledger."""

    def __init__(self, services: Services, limits: Sequence[Limit], keep: Keep, run: str | None = None) -> None:
        self._services = services
        self._limits = limits
        self._keep_row = keep
        self._run = run

    async def call(self, model: Model, request: Request, purpose: str, done: SideCall) -> None:
        """Make a call, if its worst case fits into every limit, and note in `done` what comes of it.

        Raises only what ends the task; what the call had cost by then is kept and noted too.
        """
        call_id = f"{self._run or UNSCOPED}-{purpose}-{secrets.token_hex(4)}"
        estimate = estimate_tokens(request)
        done.model = model.name
        with scope(run=self._run, purpose=purpose):
            try:
                refusal = await self._reserve(call_id, model, request, estimate)
            except RecordBlocked as blocked:
                done.failed = blocked.text
                return
            if refusal is not None:
                done.failed = f"not asked: it doesn't fit into the {_words(refusal)}"
                return
            clock = self._services.clock
            flight = CallInFlight(call_id, clock.now(), clock.monotonic(), estimate)
            await self._make(model, request, flight, done)

    async def _reserve(self, call_id: str, model: Model, request: Request, estimate: int) -> Refusal | None:
        free = model.provider == "local"
        output = request.max_output_tokens
        return await self._services.ledger.try_reserve(
            call_id,
            self._run or UNSCOPED,
            0 if free else estimate + output,
            self._services.prices.worst_case(model.provider, model.name, estimate, output, request.ttl.value),
            self._limits,
            provider=model.provider,
            model=model.name,
            output_tokens=0 if free else output,
        )

    async def _make(self, model: Model, request: Request, flight: CallInFlight, done: SideCall) -> None:
        try:
            reply = await self._stream(model, request, flight, done)
        except ModelCallError as error:
            flight.usage = error.usage or flight.usage
            await self._keep(model, flight, flight.usage_so_far() if error.sent else FREE, "broken", done)
            done.failed = self._services.masker.mask(error.message)
        except BaseException:
            await self._keep(model, flight, flight.usage_so_far() if flight.sent else FREE, "interrupted", done)
            raise
        else:
            await self._keep(model, flight, reply.usage, "ok", done, reply)
            done.text = "\n".join(block.text for block in reply.message.blocks if isinstance(block, Text)).strip()
            done.model, done.answered = reply.model, True
            done.failed = "" if done.text else f"the answer had no text ({reply.stop_detail or reply.stop.value})"

    async def _stream(self, model: Model, request: Request, flight: CallInFlight, done: SideCall) -> Reply:
        reply: Reply | None = None
        async with aclosing(self._services.transport.call(model, request, CallDoor(flight))) as stream:
            async for piece in stream:
                if isinstance(piece, UsageSoFar):
                    flight.usage = piece.usage
                elif isinstance(piece, TextPiece):
                    flight.streamed_bytes += len(piece.text.encode("utf-8", "replace"))
                elif isinstance(piece, ArgumentsPiece):
                    flight.streamed_bytes += piece.size
                elif isinstance(piece, CallRetried):
                    flight.tries += 1
                    if piece.usage is not None:
                        await self._keep(model, flight, piece.usage, "broken", done, tried=True)
                    flight.usage, flight.streamed_bytes, flight.sent = None, 0, False
                elif isinstance(piece, Reply):
                    reply = piece
        if reply is None:
            raise RuntimeError(f"the adapter for {model.name} ended its stream without a reply")
        return reply

    async def _keep(
        self,
        model: Model,
        flight: CallInFlight,
        usage: Usage,
        outcome: str,
        done: SideCall,
        reply: Reply | None = None,
        *,
        tried: bool = False,
    ) -> None:
        """Put one try into the ledger, and the reservation away with the last one."""
        seconds = self._services.clock.monotonic() - flight.began
        if reply is not None and reply.cost_micros is not None:
            priced = Priced(reply.cost_micros)
        else:
            priced = self._services.prices.price(model.provider, model.name, usage, seconds=seconds)
        done.tries += 1
        done.latency_ms = int(seconds * 1000)
        done.usage, done.money = add_usage(done.usage, usage), done.money.plus(priced.micros)
        row = CallRow(
            call_id=f"{flight.call_id}.{flight.tries}" if tried else flight.call_id,
            provider=model.provider,
            model=reply.model if reply else model.name,
            usage=usage,
            cost_micros=priced.micros,
            price_version=priced.version,
            started_at=flight.started_at,
            latency_ms=done.latency_ms,
            ttft_ms=reply.ttft_ms if reply else None,
            request_id=reply.request_id if reply else None,
            outcome=outcome,
        )
        await self._keep_row(row)
        if not tried:
            await self._services.ledger.settle(flight.call_id)


def _words(refusal: Refusal) -> str:
    whose = "" if refusal.limit.of == "run" else f"{refusal.limit.of}'s "
    return f"{whose}{'token' if refusal.limit.unit == 'tokens' else 'dollar'} budget"
