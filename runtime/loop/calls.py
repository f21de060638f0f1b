"""One model call: announced, reserved, streamed, priced and kept, also when it breaks off or is cut."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager

from runtime.events.loop import CacheDiagnosed, RoundFinished, RoundStarted, TextDelta, TransportRetried, UsageDelta
from runtime.events.supervision import Notice
from runtime.events.values import HoldReason
from runtime.loop.control import Control
from runtime.loop.deltas import DeltaBatch
from runtime.loop.flight import CallDoor, CallInFlight
from runtime.loop.interruptions import Aborted, Cut, RunEnds
from runtime.loop.keeping import keep_row
from runtime.loop.limits import seconds_left
from runtime.loop.services import Services
from runtime.loop.state import RunState
from runtime.models.base import (
    ArgumentsPiece,
    CallRetried,
    CallWaits,
    Model,
    ModelCallError,
    Reply,
    Request,
    TextPiece,
    UsageSoFar,
)
from runtime.ports import CallRow, Priced
from runtime.prompt.prediction import CacheWatch, Diagnosis
from runtime.scope import scope
from runtime.usage import FREE, Usage

LONG_WAIT_S = 60.0


class Caller:
    """Makes the model calls of one run's fix phases."""

    def __init__(self, state: RunState, control: Control, services: Services) -> None:
        self._state = state
        self._control = control
        self._services = services
        self._emit = control.emitter.emit
        self._noted: set[str] = set()
        self._text = DeltaBatch(self._emit_text)
        self._thinking = DeltaBatch(self._emit_thinking)

    def next_id(self) -> str:
        """An id for the next round's call."""
        return f"{self._state.run}-{self._state.counters.round + 1}-{secrets.token_hex(3)}"

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """What the next round's call is for, as the ledger notes it."""
        counters = self._state.counters
        with scope(leg=counters.leg, attempt=counters.attempt, round=counters.round + 1, purpose="fix"):
            yield

    async def call(
        self,
        model: Model,
        request: Request,
        call_id: str,
        estimate: int,
        watch: CacheWatch | None = None,
        reserve_anew: Callable[[], Awaitable[None]] | None = None,
    ) -> Reply:
        """Make the next round's call, reserved under `call_id`, and return the reply; `estimate` is its prompt in tokens.

        Everything before it is to be durable by now: from here to the sending nothing waits, unless the run is paused.
        `reserve_anew` is awaited before a try that follows a billed one. Raises RunEnds, Cut, or ModelCallError once the
        transport gave up. However it ends, its usage is in the ledger before this returns or raises.
        """
        counters = self._state.counters
        counters.round += 1
        flight = CallInFlight(call_id, self._services.clock.now(), self._services.clock.monotonic(), estimate)
        self._emit(
            RoundStarted(
                attempt=counters.attempt,
                round=counters.round,
                leg=counters.leg,
                model=model.name,
                prompt_estimate=estimate,
                predicted_read=watch.predict(request, flight.began).read if watch is not None else None,
                reserved_micros=self._services.prices.worst_case(
                    model.provider, model.name, estimate, request.max_output_tokens, request.ttl.value
                ),
            )
        )
        door = CallDoor(flight, self._control, reserve_anew)
        return await self._guarded(model, request, flight, door, watch)

    async def _guarded(
        self, model: Model, request: Request, flight: CallInFlight, door: CallDoor, watch: CacheWatch | None
    ) -> Reply:
        try:
            reply = await self._control.guard(
                self._stream(model, request, flight, door), seconds_left(self._state, self._control)
            )
        except (RunEnds, Cut) as cut:
            why = "cut by the supervisor" if isinstance(cut, Aborted | Cut) else str(cut)
            if watch is not None and flight.usage is not None:
                watch.touch(flight.began)
            await self._broke_off(model, flight, "interrupted", why, billed=flight.sent)
            raise
        except ModelCallError as error:
            if error.usage is not None:
                flight.usage = error.usage
            await self._broke_off(model, flight, "broken", error.message, billed=error.sent)
            raise
        finally:
            self._control.end_hold()
        priced = self._price(model, reply.usage, reply.cost_micros, reply.latency_ms)
        await self._keep(model, flight, reply.usage, priced, "ok", reply)
        for note in (*reply.usage_notes, *filter(None, [priced.note])):
            self._note(note)
        if watch is not None:
            self._diagnose(watch.finish(request, reply, flight.began))
        return reply

    def _diagnose(self, miss: Diagnosis | None) -> None:
        if miss is not None:
            self._emit(
                CacheDiagnosed(
                    round=self._state.counters.round,
                    cause=miss.cause.value,
                    text=miss.text,
                    predicted=miss.predicted,
                    reported=miss.reported,
                    server_reason=miss.server_reason,
                )
            )

    async def _stream(self, model: Model, request: Request, flight: CallInFlight, door: CallDoor) -> Reply:
        reply: Reply | None = None
        async with aclosing(self._services.transport.call(model, request, door)) as stream:
            async for piece in stream:
                if isinstance(piece, CallRetried):
                    await self._retried(model, flight, piece)
                    continue
                if isinstance(piece, CallWaits):
                    self._hold_for(piece.wait_s, "before the call is sent: the server limits the rate")
                    continue
                self._control.end_hold()
                if isinstance(piece, TextPiece):
                    flight.streamed_bytes += len(piece.text.encode("utf-8", "replace"))
                    (self._thinking if piece.thinking else self._text).add(piece.text)
                elif isinstance(piece, ArgumentsPiece):
                    flight.streamed_bytes += piece.size
                elif isinstance(piece, UsageSoFar):
                    flight.usage = piece.usage
                    self._emit(UsageDelta(round=self._state.counters.round, usage=piece.usage))
                else:
                    reply = piece
        self._flush_text()
        if reply is None:
            raise RuntimeError(f"the adapter for {model.name} ended its stream without a reply")
        return reply

    async def _retried(self, model: Model, flight: CallInFlight, piece: CallRetried) -> None:
        self._flush_text()
        flight.tries += 1
        priced = Priced(None)
        if piece.usage is not None:
            flight.owes = True
            priced = self._price(model, piece.usage, None)
            row = self._row(model, flight, piece.usage, priced, "broken", f"{flight.call_id}.{flight.tries}")
            await keep_row(self._services, self._control, row)
        flight.usage, flight.streamed_bytes, flight.sent = None, 0, False
        self._emit(
            TransportRetried(
                round=self._state.counters.round,
                attempt_of_call=piece.attempt,
                of=piece.of,
                status=piece.status,
                error=self._services.masker.mask(piece.error),
                wait_s=piece.wait_s,
                usage=piece.usage,
                cost_micros=priced.micros,
            )
        )
        self._hold_for(piece.wait_s, f"before the call is tried again: {piece.error}")

    def _hold_for(self, wait_s: float, why: str) -> None:
        """A wait longer than a minute is a hold, with the time in words."""
        if wait_s > LONG_WAIT_S:
            text = f"waiting {wait_s / 60:.0f} min {why}"
            self._control.begin_hold(HoldReason.TRANSPORT, self._services.masker.mask(text))

    async def _broke_off(
        self, model: Model, flight: CallInFlight, outcome: str, detail: str, billed: bool = True
    ) -> None:
        self._flush_text()
        usage = flight.usage_so_far() if billed else FREE
        priced = self._price(model, usage, None) if billed else Priced(0)
        if self._control.abort is not None:
            self._control.call_cut, self._control.call_cut_micros = True, priced.micros
        await self._keep(model, flight, usage, priced, outcome, None, detail)

    async def _keep(
        self,
        model: Model,
        flight: CallInFlight,
        usage: Usage,
        priced: Priced,
        outcome: str,
        reply: Reply | None,
        detail: str = "",
    ) -> None:
        counters = self._state.counters
        row = self._row(model, flight, usage, priced, outcome, flight.call_id, reply)
        self._emit(
            RoundFinished(
                attempt=counters.attempt,
                round=counters.round,
                leg=counters.leg,
                model=reply.model if reply else model.name,
                stop=reply.stop.value if reply else outcome,
                stop_detail=self._services.masker.mask(reply.stop_detail if reply else detail),
                usage=usage,
                cost_micros=priced.micros,
                saved_micros=self._services.prices.saved(model.provider, model.name, usage),
                rewarm_micros=self._services.prices.rewarm(model.provider, model.name, usage, self._state.settings.ttl),
                latency_ms=row.latency_ms or 0,
                ttft_ms=row.ttft_ms,
                request_id=row.request_id,
                message_id=reply.message_id if reply else None,
                outcome=outcome,
                reply=reply.message.blocks if reply else (),
                gave_up=self._services.masker.mask(reply.gave_up) if reply else "",
            )
        )
        await keep_row(self._services, self._control, row)

    def _row(
        self,
        model: Model,
        flight: CallInFlight,
        usage: Usage,
        priced: Priced,
        outcome: str,
        call_id: str,
        reply: Reply | None = None,
    ) -> CallRow:
        return CallRow(
            call_id=call_id,
            provider=model.provider,
            model=reply.model if reply else model.name,
            usage=usage,
            cost_micros=priced.micros,
            price_version=priced.version,
            started_at=flight.started_at,
            latency_ms=int((self._services.clock.monotonic() - flight.began) * 1000),
            ttft_ms=reply.ttft_ms if reply else None,
            request_id=reply.request_id if reply else None,
            outcome=outcome,
        )

    def _note(self, text: str) -> None:
        """Say once why a figure isn't known."""
        if text not in self._noted:
            self._noted.add(text)
            self._emit(Notice(level="warning", text=self._services.masker.mask(text)))

    def _price(self, model: Model, usage: Usage, stated: int | None, latency_ms: int | None = None) -> Priced:
        if stated is not None:
            return Priced(stated)
        seconds = None if latency_ms is None else latency_ms / 1000
        return self._services.prices.price(model.provider, model.name, usage, seconds=seconds)

    def _emit_text(self, text: str) -> None:
        self._emit(TextDelta(round=self._state.counters.round, text=self._services.masker.mask(text)))

    def _emit_thinking(self, text: str) -> None:
        self._emit(TextDelta(round=self._state.counters.round, text=self._services.masker.mask(text), thinking=True))

    def _flush_text(self) -> None:
        self._text.flush()
        self._thinking.flush()
