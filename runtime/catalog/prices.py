"""What calls cost, in whole micro-dollars: by genai-prices, by the project's own prices, or not known. Never zero by default."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from importlib.metadata import version
from typing import Any

from runtime.catalog.caps import bare_name
from runtime.catalog.providers import SELF_HOSTED
from runtime.catalog.rates import HourRate, Rates, odd_rates, rates_from, whole_micros
from runtime.ports import Priced
from runtime.usage import MICROS_PER_DOLLAR, Usage

FREE_PROVIDER = "local"
SAMPLE_TOKENS = 1000
"""Few enough to stay in the first tier of every price."""
MIXED = Usage(input=211, output=223, cache_read=227, cache_write_5m=229, cache_write_1h=233)
"""Some of every kind, no two alike: what rates come to here they come to everywhere."""


class Catalog:
    """Prices of calls. The price table is loaded at the first question; ask that in a thread where a pause would be seen."""

    def __init__(self, overrides: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self._own = {bare_name(name): rates_from(value, f"prices.{name}") for name, value in (overrides or {}).items()}
        self._unpriced: set[tuple[str, str]] = set()
        self._flat: dict[tuple[str, str], Rates | None] = {}

    @cached_property
    def _table(self) -> Any:
        return importlib.import_module("genai_prices")

    @cached_property
    def version(self) -> str:
        """The price table's name and version."""
        return f"genai-prices {version('genai-prices')}"

    def price(
        self, provider: str, model: str, usage: Usage, *, seconds: float | None = None, in_flight: int = 1
    ) -> Priced:
        """What a call cost; with None for every usage whose token counts, or model whose price, isn't known.

        `seconds` and `in_flight` count for models that are paid by the hour: the call's wall time, and how many were served at once.
        """
        if provider == FREE_PROVIDER:
            return Priced(0, "free")
        own = self._own.get(bare_name(model))
        if isinstance(own, HourRate):
            if seconds is None:
                return Priced(None, None, "paid by the hour, and how long it took is not known")
            return Priced(own.micros(seconds, in_flight), "project")
        if usage.prompt is None or usage.output is None:
            return Priced(None, None, "the server did not report its usage")
        note = "cache reads are not reported: the whole prompt is priced as fresh" if usage.cache_read is None else ""
        if own is not None:
            return Priced(own.micros(usage), "project", note)
        priced = self._by_table(provider, model, usage)
        return priced if priced.micros is None else Priced(priced.micros, priced.version, note)

    def _by_table(self, provider: str, model: str, usage: Usage) -> Priced:
        # A name alone says nothing: somebody's own server may call its model like a hosted one.
        if provider == SELF_HOSTED or (provider, model) in self._unpriced:
            return Priced(None, None, f"no price is known for {model}")
        if (provider, model) not in self._flat:
            self._flat[provider, model] = self._flat_rates(provider, model)
        flat = self._flat[provider, model]
        if flat is not None:
            return Priced(flat.micros(usage), self.version)
        try:
            total = self._total(provider, model, usage)
        except LookupError:
            self._unpriced.add((provider, model))
            return Priced(None, None, f"no price is known for {model}")
        except (ValueError, ArithmeticError) as error:
            return Priced(None, None, f"the usage can't be priced: {error}")
        if not total.is_finite() or total < 0:
            return Priced(None, None, f"the price table's rates for {model} are nonsense")
        return Priced(whole_micros(total * MICROS_PER_DOLLAR), self.version)

    def _flat_rates(self, provider: str, model: str) -> Rates | None:
        """A model's rates where the table has one for each kind of token and nothing else counts; None for all others.

        The table takes half a millisecond for a sum, and every round asks for seven.
        """
        try:
            found = self._calculated(provider, model, MIXED)
            plain = all(value is None or isinstance(value, Decimal) for value in vars(found.model_price).values())
            rates = self.rates(provider, model) if plain and not isinstance(found.model.prices, list) else None
            total = Decimal(found.total_price) * MICROS_PER_DOLLAR
        except Exception:  # noqa: BLE001 - whatever the table's insides look like, its own sum is asked for then
            return None
        if rates is None or not total.is_finite() or total <= 0 or min(rates.all) < 0 or rates.total(MIXED) != total:
            return None
        return rates

    def _total(self, provider: str, model: str, usage: Usage) -> Decimal:
        """Dollars by the table. Raises LookupError for a model that it doesn't know."""
        return Decimal(self._calculated(provider, model, usage).total_price)

    def _calculated(self, provider: str, model: str, usage: Usage) -> Any:
        table = self._table
        counts = table.Usage(
            input_tokens=usage.prompt or 0,
            cache_write_tokens=usage.cache_write or 0,
            cache_write_1h_tokens=usage.cache_write_1h or 0,
            cache_read_tokens=usage.cache_read or 0,
            output_tokens=usage.output or 0,
        )
        try:
            return table.calc_price(counts, model_ref=model, provider_id=provider)
        except LookupError:
            return table.calc_price(counts, model_ref=bare_name(model), provider_id=provider)

    def worst_case(
        self, provider: str, model: str, prompt_tokens: int, output_tokens: int, ttl: str = "1h"
    ) -> int | None:
        """The most a call may cost: its whole prompt written to cache with this lifetime, and all the output it may make.

        None without a price, and for a model that is paid by the hour.
        """
        if provider != "anthropic":
            usage = Usage(input=prompt_tokens, output=output_tokens, cache_read=0)
            return self.price(provider, model, usage).micros
        five = prompt_tokens if ttl == "5m" else 0
        usage = Usage(
            input=0, output=output_tokens, cache_read=0, cache_write_5m=five, cache_write_1h=prompt_tokens - five
        )
        return self.price(provider, model, usage).micros

    def rewarm(self, provider: str, model: str, usage: Usage, ttl: str) -> int | None:
        """What it costs more to send anew, rather than to read, all that a call read from or wrote to the cache.

        None without a price, and where the server doesn't report what it read.
        """
        if usage.cache_read is None:
            return None
        cached = usage.cache_read + (usage.cache_write or 0)
        warm = self.price(provider, model, Usage(input=0, output=0, cache_read=cached)).micros
        cold = self.worst_case(provider, model, cached, 0, ttl)
        return None if warm is None or cold is None else cold - warm

    def saved(self, provider: str, model: str, usage: Usage) -> int | None:
        """What caching saved against sending the whole prompt fresh; negative where writing cost more than it saved."""
        if usage.cache_read is None or usage.prompt is None:
            return None
        fresh = Usage(input=usage.prompt, output=usage.output, cache_read=0, cache_write_5m=0, cache_write_1h=0)
        with_cache, without = self.price(provider, model, usage).micros, self.price(provider, model, fresh).micros
        return None if with_cache is None or without is None else without - with_cache

    def known(self, provider: str, model: str) -> bool:
        """Whether the model has a price; one by the hour counts."""
        usage = Usage(input=SAMPLE_TOKENS, output=SAMPLE_TOKENS)
        return self.price(provider, model, usage, seconds=1.0).micros is not None

    def rates(self, provider: str, model: str) -> Rates | None:
        """A model's rates by the table, in its first tier; None without a price."""
        n = SAMPLE_TOKENS
        samples = (
            Usage(input=n),
            Usage(input=0, output=n),
            Usage(input=0, cache_read=n),
            Usage(input=0, cache_write_5m=n),
            Usage(input=0, cache_write_1h=n),
        )
        try:
            totals = [self._total(provider, model, usage) for usage in samples]
        except (LookupError, ValueError, ArithmeticError):
            return None
        return Rates(*(total * MICROS_PER_DOLLAR / n for total in totals))

    def doubts(self, provider: str, model: str) -> list[str]:
        """Where the rates that a Claude model is priced with break the pattern of its family, in words."""
        if provider != "anthropic":
            return []
        rates = self._own.get(bare_name(model)) or self.rates(provider, model)
        return odd_rates(rates) if isinstance(rates, Rates) else []
