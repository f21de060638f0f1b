"""What each round should read from cache, and why it read less: by what was sent before, when, to which model, how large.

A reply tells exactly how much of its prompt is in the cache: what it read and what it wrote. The next request begins with the same
bytes, so it should read that much, as long as the entry lives: its lifetime counts from the start of the request that used it last.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runtime.models.base import Reply, Request, Ttl
from runtime.usage import Usage

LIFETIME_S = {Ttl.MINUTES_5: 300.0, Ttl.HOUR_1: 3600.0}
SLACK_TOKENS, SLACK_SHARE = 64, 0.02
"""Shortfalls up to the larger of these are no miss: servers count in blocks of tokens."""
REPORT_FLAGS = "vLLM reports it with --enable-prompt-tokens-details, SGLang with --enable-cache-report"


class MissCause(StrEnum):
    """Why a round read less from cache than it might have."""

    EXPIRED = "expired"
    PREFIX_CHANGED = "prefix_changed"
    BELOW_MINIMUM = "below_minimum"
    OTHER_MODEL = "other_model"
    NOT_REPORTED = "not_reported"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Prediction:
    """Tokens that a round should read; None where nothing is known. `cause` says why it is less than what was cached before."""

    read: int | None
    cached_before: int = 0
    cause: MissCause | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A miss: its likely cause, in words, and what was foretold and reported. `server_reason` is the provider's own word."""

    cause: MissCause
    text: str
    predicted: int | None
    reported: int | None
    server_reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Sent:
    request: Request
    started_s: float
    usage: Usage
    answering: str

    @property
    def cached(self) -> int:
        return (self.usage.cache_read or 0) + (self.usage.cache_write or 0)


class CacheWatch:
    """Watches the cache of one leg. Times are seconds of one monotonic clock; `minimum` is the model's least prefix in tokens."""

    def __init__(self, minimum: int | None) -> None:
        self._minimum = minimum
        self._last: _Sent | None = None
        self._told_unreported = False

    def predict(self, request: Request, now_s: float) -> Prediction:
        """What a request that is sent now should read from cache."""
        last = self._last
        if last is None:
            return Prediction(None)
        if last.usage.cache_read is None:
            return Prediction(None, 0, MissCause.NOT_REPORTED, _unreported())
        changed = first_difference(last.request, request)
        if changed:
            cause = MissCause.OTHER_MODEL if request.model != last.request.model else MissCause.PREFIX_CHANGED
            return Prediction(0, last.cached, cause, f"the prompt changed: {changed}")
        if not last.cached:
            return self._nothing_cached(last)
        gap = now_s - last.started_s
        if last.usage.cache_write is not None and gap > LIFETIME_S[last.request.ttl]:
            text = f"expired: {gap / 60:.1f} min since the last call, entries live {last.request.ttl.value}"
            return Prediction(0, last.cached, MissCause.EXPIRED, text)
        return Prediction(last.cached, last.cached)

    def _nothing_cached(self, last: _Sent) -> Prediction:
        prompt = last.usage.prompt or 0
        if self._minimum is not None and prompt < self._minimum:
            return Prediction(0, prompt, MissCause.BELOW_MINIMUM, below_minimum(prompt, self._minimum))
        return Prediction(0, 0)

    def finish(self, request: Request, reply: Reply, started_s: float) -> Diagnosis | None:
        """Take a whole reply to a request that was sent at `started_s`; returns why it read less than it might have."""
        prediction = self.predict(request, started_s)
        last, self._last = self._last, _Sent(request, started_s, reply.usage, reply.model)
        read = reply.usage.cache_read
        if read is None:
            return self._unreported_once(reply)
        might = max(prediction.cached_before, prediction.read or 0)
        if last is None or read >= might - max(SLACK_TOKENS, might * SLACK_SHARE):
            return None
        cause, text = prediction.cause, prediction.text
        if cause is None and reply.model != last.answering:
            cause, text = MissCause.OTHER_MODEL, f"{reply.model} answered, {last.answering} before it"
        if cause is None:
            text = "the entry was gone before its time, or the server looked in another place"
        return Diagnosis(cause or MissCause.UNKNOWN, text, prediction.read, read, reply.cache_miss)

    def restore(self, request: Request, started_s: float, usage: Usage, answering: str) -> None:
        """Take over what an earlier process sent last: when (it may be before this clock's zero), and what its reply used."""
        self._last = _Sent(request, started_s, usage, answering)

    def _unreported_once(self, reply: Reply) -> Diagnosis | None:
        if self._told_unreported:
            return None
        self._told_unreported = True
        return Diagnosis(MissCause.NOT_REPORTED, _unreported(), None, None, reply.cache_miss)

    def touch(self, started_s: float) -> None:
        """A call that broke off after it had begun to answer renewed the entry too."""
        if self._last is not None:
            self._last = _Sent(self._last.request, started_s, self._last.usage, self._last.answering)

    def cold_in_s(self, now_s: float) -> float | None:
        """Seconds until what is cached expires, not below 0; None where nothing is cached or lifetimes aren't known."""
        last = self._last
        if last is None or not last.cached or last.usage.cache_write is None:
            return None
        return max(0.0, last.started_s + LIFETIME_S[last.request.ttl] - now_s)

    @property
    def cached_tokens(self) -> int:
        """Tokens that would have to be written anew once the cache is cold."""
        return self._last.cached if self._last else 0


def _unreported() -> str:
    return f"the server does not report what it read from cache; {REPORT_FLAGS}"


def below_minimum(prefix: int, minimum: int) -> str:
    """Why nothing is cached yet, in words."""
    return f"prefix {prefix / 1000:.1f}k of {minimum / 1000:.1f}k tokens: not cached yet"


def first_difference(before: Request, after: Request) -> str:
    """The first place in which a request doesn't begin with the one before it, in words; empty where it does."""
    if before.model != after.model:
        return f"model {before.model}, now {after.model}"
    if before.tools != after.tools:
        return "the tools"
    if before.system != after.system:
        return "the system prompt"
    if before.effort != after.effort:
        return "the effort"
    for number, old in enumerate(before.messages):
        if number >= len(after.messages):
            return f"message {number + 1} is gone"
        new = after.messages[number]
        if new is old:
            continue
        grows = number == len(before.messages) - 1
        if new.role != old.role or (not grows and len(new.blocks) != len(old.blocks)):
            return f"message {number + 1}"
        for place, block in enumerate(old.blocks):
            if place >= len(new.blocks) or (new.blocks[place] is not block and new.blocks[place] != block):
                return f"message {number + 1}, block {place + 1} ({block.kind})"
    return ""
