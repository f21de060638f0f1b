"""Capabilities of models that no price table has: cache minimum, limits, end of life, what a request may carry.

Sources: the provider's documentation and SDK of autumn 2026 (cache minima, thinking modes, retirement dates), and the context
sizes of genai-prices 0.2.3. Unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from runtime.catalog.caps import bare_name

DEFAULT_MODEL = "claude-sonnet-5-5"
CHEAP_MODEL = "claude-haiku-5-5"
STRONG_MODEL = "claude-opus-5-5"
NEAR_END_DAYS = 60


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model beside its prices; token counts, dates."""

    cache_minimum: int | None = None
    context: int | None = None
    max_output: int | None = None
    end_of_life: date | None = None
    adaptive_thinking: bool = False
    """Takes `thinking: adaptive`."""
    binds_thinking: bool = False
    """Ties thinking blocks to the unchanged history before them."""
    hides_thinking: bool = False
    """Streams nothing of its reasoning unless a summary is asked for."""


SMALL, LARGE = 200_000, 1_000_000


def _old(minimum: int, context: int = SMALL, max_output: int | None = None, end: date | None = None) -> ModelFacts:
    return ModelFacts(minimum, context, max_output, end)


def _new(minimum: int, *, binds: bool = False, hides: bool = True) -> ModelFacts:
    return ModelFacts(minimum, LARGE, adaptive_thinking=True, binds_thinking=binds, hides_thinking=hides)


_FACTS: dict[str, ModelFacts] = {
    "claude-opus-5-5": _new(512, binds=True),
    "claude-sonnet-5-5": _new(512, binds=True),
    "claude-haiku-5-5": _new(512, binds=True),
    "claude-fable-5-2": _new(512, binds=True),
    "claude-fable-5-1": _new(512, binds=True),
    "claude-fable-5": _new(512),
    "claude-mythos-5-2": _new(512, binds=True),
    "claude-mythos-5-1": _new(512),
    "claude-mythos-5": _new(512),
    "claude-opus-5": _new(512),
    "claude-opus-4-8": _new(1024),
    "claude-opus-4-7": _new(2048),
    "claude-opus-4-6": _new(4096, hides=False),
    "claude-sonnet-5": _new(1024),
    "claude-sonnet-4-6": _new(1024, hides=False),
    "claude-opus-4-5": _old(4096, max_output=64_000, end=date(2027, 1, 22)),
    "claude-sonnet-4-5": _old(1024, max_output=64_000, end=date(2026, 11, 30)),
    "claude-haiku-4-5": _old(4096, max_output=64_000),
    "claude-opus-4-1": _old(1024, max_output=32_000),
    "claude-opus-4": _old(1024, max_output=32_000),
    "claude-sonnet-4": _old(1024, max_output=64_000),
    "claude-3-5-haiku": _old(2048, max_output=8_192),
    "claude-3-haiku": _old(2048, max_output=4_096),
    "local": ModelFacts(),
}
UNKNOWN = ModelFacts()


def facts_of(model: str) -> ModelFacts:
    """Facts by the longest known name that begins the model's bare name; all None for a model that isn't known."""
    name = bare_name(model)
    matching = [known for known in _FACTS if name == known or name.startswith(f"{known}-")]
    return _FACTS[max(matching, key=len)] if matching else UNKNOWN


def end_of_life_warning(model: str, today: date) -> str:
    """A sentence for the supervisor where a model is retired or soon will be; empty otherwise."""
    end = facts_of(model).end_of_life
    if end is None:
        return ""
    days = (end - today).days
    if days < 0:
        return f"{model} reached its end of life on {end.isoformat()}; the API may refuse it. Use {DEFAULT_MODEL}."
    return f"{model} reaches its end of life on {end.isoformat()}." if days <= NEAR_END_DAYS else ""


def known_models() -> tuple[str, ...]:
    """Names of the models that facts are known of."""
    return tuple(_FACTS)
