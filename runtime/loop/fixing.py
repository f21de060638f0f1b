"""The fix phase: rounds until the model ends its turn, or a limit, repetition or the supervisor ends the phase."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runtime.commands import Steer
from runtime.events.checks import Compacted
from runtime.events.loop import PromptAdded
from runtime.events.supervision import SteerDelivered
from runtime.events.values import StopReason
from runtime.loop.calls import Caller
from runtime.loop.control import Control
from runtime.loop.conversation import Conversation
from runtime.loop.interruptions import Cut, RunEnds
from runtime.loop.keeping import durable
from runtime.loop.limits import Gate
from runtime.loop.services import Services
from runtime.loop.state import RunState
from runtime.loop.stepping import Stepper
from runtime.models.base import CallFault, Model, ModelCallError, Reply, Request, Stop, Text, ToolCall

EMPTY_REPLIES_END = 3
NUDGE_EMPTY = "Your reply had nothing in it. Go on with the task: use a tool, or end your turn with a short summary."
NUDGE_CUT = "Your reply was cut at the output limit. Go on from where it ended, in smaller parts."


class PhaseEnd(StrEnum):
    """How a fix phase ended; what follows depends on it only where nothing was changed."""

    TURN = "turn"
    ROUNDS = "rounds"
    REPETITION = "repetition"
    EMPTY = "empty"
    GAVE_UP = "gave_up"
    SUPERVISOR = "supervisor"
    VERIFY_NOW = "verify_now"
    SWITCHED = "switched"


@dataclass(frozen=True, slots=True)
class Ended:
    """A fix phase's end, with the words for the ladder (empty where the model simply ended its turn)."""

    how: PhaseEnd
    why: str = ""


@dataclass
class Fixer:
    """Runs the fix phases of one leg."""

    state: RunState
    control: Control
    services: Services
    model: Model
    conversation: Conversation
    caller: Caller
    stepper: Stepper
    gate: Gate
    rounds_made: int = 0
    """Rounds of the present attempt, resumed ones included."""
    empty: int = 0

    async def phase(self, reply: Reply | None = None, empty: int = 0) -> Ended:
        """One fix phase. Raises RunEnds; the transcript is whole whenever it does.

        A phase that an earlier process began goes on with the `reply` that was paid for but not taken yet, and with so many
        `empty` replies in a row before it.
        """
        self.empty = empty
        while True:
            if reply is None:
                ended = await self._before_round()
                if ended is not None:
                    return ended
                try:
                    reply = await self._round()
                except Cut:
                    await self.gate.check_time()
                    continue
            taken, reply = reply, None
            ended = await self._take(taken)
            if ended is not None:
                return ended

    async def _before_round(self) -> Ended | None:
        control = self.control
        await control.gate()
        if control.end_attempt:
            control.end_attempt = False
            return Ended(PhaseEnd.SUPERVISOR, "ended by the supervisor")
        if control.next_model is not None:
            return Ended(PhaseEnd.SWITCHED, f"handed over to {control.next_model}")
        if control.verify_now:
            control.verify_now = False
            return Ended(PhaseEnd.VERIFY_NOW)
        if control.watch is not None and await control.watch.decide():
            return Ended(PhaseEnd.SUPERVISOR, "ended for a recovery, after StopLoss had asked")
        if self.rounds_made >= self.state.settings.max_rounds:
            return Ended(PhaseEnd.ROUNDS, f"round limit: {self.state.settings.max_rounds} rounds in this attempt")
        self._deliver(control.steers_now)
        return None

    def _deliver(self, steers: list[Steer]) -> None:
        while steers:
            steer = steers.pop(0)
            self.say("steer", steer.text)
            self.control.emitter.emit(SteerDelivered(command_id=steer.id, round=self.state.counters.round + 1))

    def deliver_next(self) -> None:
        """Hand over what waits for the next attempt."""
        self._deliver(self.control.steers_next)

    def say(self, kind: str, text: str, fresh: bool = False) -> None:
        """Put user-side text into the transcript, and into the record."""
        text = self.services.masker.mask(text)
        self.conversation.add_user(text)
        event = PromptAdded(attempt=self.state.counters.attempt, kind=kind, text=text, fresh=fresh)
        self.control.emitter.emit(event)

    async def _round(self) -> Reply:
        await durable(self.services, self.control)
        request = self._request()
        estimate = self.conversation.estimator.estimate(request)
        call_id = self.caller.next_id()

        async def reserve() -> None:
            await self.gate.open_for(call_id, self.model, estimate, request.max_output_tokens)

        async def reserve_anew() -> None:
            await self.services.ledger.settle(call_id)
            await reserve()

        with self.caller.scoped():
            await reserve()
            self.rounds_made += 1
            watch = self.conversation.watch
            try:
                reply = await self.caller.call(self.model, request, call_id, estimate, watch, reserve_anew)
            except ModelCallError as error:
                raise RunEnds(StopReason.UNRECOVERABLE, self._explain(error)) from error
        self.conversation.estimator.learn(request, reply.usage)
        return reply

    def _request(self) -> Request:
        """The next request; compacted first, by one large step, where it would come too near to the context's limit."""
        request = self.conversation.request()
        before = self.conversation.estimator.estimate(request)
        done = self.conversation.compact_if_full(request)
        if done is None:
            return request
        request = self.conversation.request()
        watch = self.conversation.watch
        self.control.emitter.emit(
            Compacted(
                round=self.state.counters.round + 1,
                tokens_before=before,
                tokens_after=before - done.tokens_freed,
                stubbed=done.stubs,
                predicted_miss=watch.cached_tokens if watch is not None else None,
            )
        )
        return request

    def _explain(self, error: ModelCallError) -> str:
        hints = {
            CallFault.AUTHENTICATION: " Check the API key.",
            CallFault.QUOTA: " The account's quota is used up.",
            CallFault.NOT_FOUND: " Check the model's name and the base URL.",
            CallFault.CONTEXT_FULL: " The transcript no longer fits the model's context.",
        }
        return self.services.masker.mask(f"{self.model.name}: {error.message}{hints.get(error.fault, '')}")

    async def _take(self, reply: Reply) -> Ended | None:
        """Put a reply into the transcript and do what it asks for."""
        calls = tuple(block for block in reply.message.blocks if isinstance(block, ToolCall))
        has_text = any(isinstance(block, Text) and block.text.strip() for block in reply.message.blocks)
        if not calls and (not has_text or reply.stop in (Stop.REFUSAL, Stop.UNKNOWN)):
            return self._nothing(reply, has_text)
        self.empty = 0
        self.conversation.add_reply(reply)
        if calls:
            results, ends = await self.stepper.run(calls)
            self.conversation.add_results(results)
            if ends:
                return Ended(PhaseEnd.REPETITION, ends)
            return None
        if reply.gave_up:
            return Ended(PhaseEnd.GAVE_UP, reply.gave_up)
        if reply.stop is Stop.PAUSE:
            return None
        if reply.stop in (Stop.MAX_TOKENS, Stop.CONTEXT_FULL):
            self.say("nudge", NUDGE_CUT)
            return None
        return Ended(PhaseEnd.TURN)

    def _nothing(self, reply: Reply, has_text: bool) -> Ended | None:
        """A reply that brings nothing on; three in a row end the phase. Our own nudges don't reset the count."""
        self.empty += 1
        what = {Stop.REFUSAL: "a refusal", Stop.UNKNOWN: f"the finish reason {reply.stop_detail or 'unknown'}"}
        word = what.get(reply.stop, "nothing in it")
        if self.empty >= EMPTY_REPLIES_END:
            return Ended(PhaseEnd.EMPTY, f"{self.empty} replies in a row with {word}")
        if has_text:
            self.conversation.add_reply(reply)
        self.say("nudge", NUDGE_EMPTY)
        return None
