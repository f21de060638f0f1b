"""Tokens and money of model calls: what is known, what was estimated, what isn't known."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

MICROS_PER_DOLLAR = 1_000_000


class Usage(BaseModel):
    """Token counts of one call, or a sum of calls. `None` means unknown, never zero.

    `input` counts fresh tokens only: neither read from cache nor written to it (the Messages API's sense). A prompt's size is
    `input + cache_read + cache_write_5m + cache_write_1h`. `estimated` names the fields that were not reported but estimated.
    """

    model_config = ConfigDict(frozen=True)

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None
    cache_write_1h: int | None = None
    estimated: tuple[str, ...] = ()

    @property
    def cache_write(self) -> int | None:
        """Tokens written to cache, both lifetimes together."""
        known = [n for n in (self.cache_write_5m, self.cache_write_1h) if n is not None]
        return sum(known) if known else None

    @property
    def prompt(self) -> int | None:
        """All prompt tokens; `None` where the fresh part isn't known."""
        if self.input is None:
            return None
        return self.input + (self.cache_read or 0) + (self.cache_write or 0)

    @property
    def total(self) -> int | None:
        """Every token that counts against a token budget, unweighted; `None` where nothing is known."""
        if self.prompt is None and self.output is None:
            return None
        return (self.prompt or 0) + (self.output or 0)

    @property
    def cache_share(self) -> float | None:
        """Share of the prompt read from cache, 0..1; `None` where the server doesn't report cache reads."""
        prompt = self.prompt
        if self.cache_read is None or not prompt:
            return None
        return self.cache_read / prompt


FREE = Usage(input=0, output=0, cache_read=0, cache_write_5m=0, cache_write_1h=0)


def _add(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else a + b


def add_usage(a: Usage, b: Usage) -> Usage:
    """Sum of two usages, field by field; a field known on one side only keeps what is known."""
    return Usage(
        input=_add(a.input, b.input),
        output=_add(a.output, b.output),
        cache_read=_add(a.cache_read, b.cache_read),
        cache_write_5m=_add(a.cache_write_5m, b.cache_write_5m),
        cache_write_1h=_add(a.cache_write_1h, b.cache_write_1h),
        estimated=tuple(sorted({*a.estimated, *b.estimated})),
    )


def sum_usage(items: Iterable[Usage]) -> Usage:
    """Sum of many usages; an empty sum has nothing known."""
    total = Usage()
    for item in items:
        total = add_usage(total, item)
    return total


class Money(BaseModel):
    """A sum of money in integer micro-dollars. `complete` is False where a part of it has no price."""

    model_config = ConfigDict(frozen=True)

    micros: int = 0
    complete: bool = True

    def plus(self, micros: int | None) -> Money:
        """This sum with one more cost; an unknown cost makes the sum incomplete."""
        if micros is None:
            return Money(micros=self.micros, complete=False)
        return Money(micros=self.micros + micros, complete=self.complete)

    @property
    def known(self) -> bool:
        """Whether there is any figure to show: false where every part is unknown."""
        return self.complete or self.micros > 0
