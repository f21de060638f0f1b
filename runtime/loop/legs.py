"""A leg: the attempts that a run makes with one model, its cap, its transcript."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.catalog.caps import effective_cap
from runtime.catalog.models import end_of_life_warning, facts_of
from runtime.events.loop import LegStarted, ModelSwitched
from runtime.loop.conversation import Conversation
from runtime.loop.fixing import Fixer
from runtime.loop.setup import Parts
from runtime.models.base import Model, Ttl
from runtime.prompt.prediction import CacheWatch


@dataclass
class Leg:
    """One model at work."""

    model: Model
    fixer: Fixer
    opening: str
    opening_kind: str

    def open(self) -> None:
        """Put the leg's first words into its transcript, once."""
        if self.opening:
            self.fixer.say(self.opening_kind, self.opening, fresh=True)
            self.opening = ""

    async def close(self) -> None:
        """Let go of the model."""
        await self.model.close()


async def start_leg(parts: Parts, opening: str, after: Leg | None = None) -> Leg:
    """Begin a leg with the model asked for, or the one that a supervisor switched to; `opening` is its first user text."""
    state, control, services = parts.state, parts.control, parts.services
    if after is not None:
        await after.close()
        old, state.model = state.model, control.next_model or state.model
        control.next_model = None
        control.emitter.emit(ModelSwitched(old=old, new=state.model))
    model = await services.make_model(state.model, parts.model_context)
    option = state.settings.cap if after is None else None
    cap = effective_cap(model.name, option=option, project=services.project_cap, defaults=services.caps)
    counters = state.counters
    counters.leg += 1
    counters.attempt_of_leg = 0
    if after is not None or not state.limits.cap:
        state.limits.cap, state.limits.cap_source = cap.value, cap.source
    facts = facts_of(model.name)
    warning = end_of_life_warning(model.name, services.clock.now().date())
    control.emitter.emit(
        LegStarted(
            leg=counters.leg,
            model=model.name,
            provider=model.provider,
            cap=state.limits.cap,
            cap_source=state.limits.cap_source,
            on_trial=await services.trial(model.name) if cap.on_trial else "",
            context_tokens=facts.context,
            cache_minimum=facts.cache_minimum,
            warnings=tuple(filter(None, [warning, *services.prices.doubts(model.provider, model.name)])),
        )
    )
    fixer = handed_to(parts, model)
    return Leg(model, fixer, opening, "handover" if after is not None else "task")


def handed_to(parts: Parts, model: Model) -> Fixer:
    """What runs a model's fix phases, with an empty transcript."""
    state, facts = parts.state, facts_of(model.name)
    conversation = Conversation(
        model.name,
        state.settings.max_output_tokens,
        Ttl(state.settings.ttl),
        watch=CacheWatch(facts.cache_minimum) if model.provider != "local" else None,
        context=facts.context,
    )
    return Fixer(state, parts.control, parts.services, model, conversation, parts.caller, parts.stepper, parts.gate)
