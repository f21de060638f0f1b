"""What calls cost, in whole micro-dollars: by genai-prices, by the project's own prices, or not known. Never zero by default."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from importlib.metadata import version
from typing import Any

from runtime.catalog.caps import bare_name
from runtime.errors import UsageError
from runtime.ports import Priced
from runtime.usage import MICROS_PER_DOLLAR, Usage

WRITE_5M, WRITE_1H = Decimal("1.25"), Decimal(2)
"""Write prices as multiples of the input price, the same for all Claude models."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    write_5m: Decimal
    write_1h: Decimal

    def micros(self, usage: Usage) -> int:
        """Cost of a usage, rounded half up; dollars per million tokens are micro-dollars per token."""
        total = (
            self.input * (usage.input or 0)
            + self.output * (usage.output or 0)
            + self.cache_read * (usage.cache_read or 0)
            + self.write_5m * (usage.cache_write_5m or 0)
            + self.write_1h * (usage.cache_write_1h or 0)
        )
        return int(total.quantize(Decimal(1), ROUND_HALF_UP))


def rates_from(settings: Mapping[str, float], where: str) -> Rates:
    """A project's own prices: `input`, `output`, and optionally `cache_read`, `cache_write_5m`, `cache_write_1h`.

    Raises UsageError for a rate that is missing, negative or not a number.
    """
    found: dict[str, Decimal] = {}
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            raise UsageError(f"{where}.{name} is {value!r}.", "Give dollars per million tokens, 0 or more.")
        found[name] = Decimal(str(value))
    if "input" not in found or "output" not in found:
        raise UsageError(f"{where} needs `input` and `output`, in dollars per million tokens.")
    price = found["input"]
    return Rates(
        price,
        found["output"],
        found.get("cache_read", price),
        found.get("cache_write_5m", price),
        found.get("cache_write_1h", price),
    )


def odd_rates(rates: Rates) -> list[str]:
    """Where rates break the pattern of their family: writes at 1.25 and 2 times the input price, reads at a tenth or less."""
    odd = []
    if rates.write_5m != rates.input * WRITE_5M:
        odd.append(f"5-minute writes at {rates.write_5m}, not {rates.input * WRITE_5M}")
    if rates.write_1h != rates.input * WRITE_1H:
        odd.append(f"1-hour writes at {rates.write_1h}, not {rates.input * WRITE_1H}")
    if not 0 < rates.cache_read <= rates.input / 10:
        odd.append(f"reads at {rates.cache_read}, not a tenth of {rates.input} or less")
    return odd


class Catalog:
    """Prices of calls. The price table is loaded at the first question."""

    def __init__(self, overrides: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self._own = {bare_name(name): rates_from(value, f"prices.{name}") for name, value in (overrides or {}).items()}
        self._table: Any = None
        self._unpriced: set[tuple[str, str]] = set()

    def _genai(self) -> Any:
        if self._table is None:
            self._table = importlib.import_module("genai_prices")
        return self._table

    @property
    def version(self) -> str:
        """The price table's name and version."""
        return f"genai-prices {version('genai-prices')}"

    def price(self, provider: str, model: str, usage: Usage) -> Priced:
        """What a call cost; with None for every usage whose token counts, or model whose price, isn't known."""
        if provider == "local":
            return Priced(0, "free")
        if usage.prompt is None or usage.output is None:
            return Priced(None, None, "the server did not report its usage")
        own = self._own.get(bare_name(model))
        if own is not None:
            return Priced(own.micros(usage), "project")
        return self._by_table(provider, model, usage)

    def _by_table(self, provider: str, model: str, usage: Usage) -> Priced:
        if (provider, model) in self._unpriced:
            return Priced(None, None, f"no price is known for {model}")
        table = self._genai()
        write, hour = usage.cache_write or 0, usage.cache_write_1h or 0
        try:
            result = table.calc_price(
                table.Usage(
                    input_tokens=usage.prompt or 0,
                    cache_write_tokens=write,
                    cache_write_1h_tokens=hour,
                    cache_read_tokens=usage.cache_read or 0,
                    output_tokens=usage.output or 0,
                ),
                model_ref=bare_name(model),
                provider_id=provider if provider != "openai-compatible" else None,
            )
        except LookupError:
            self._unpriced.add((provider, model))
            return Priced(None, None, f"no price is known for {model}")
        except ValueError as error:
            return Priced(None, None, f"the usage can't be priced: {error}")
        micros = (result.total_price * MICROS_PER_DOLLAR).quantize(Decimal(1), ROUND_HALF_UP)
        return Priced(int(micros), self.version)

    def worst_case(self, provider: str, model: str, prompt_tokens: int, output_tokens: int) -> int | None:
        """The most a call may cost: its whole prompt written to cache for an hour, and all the output it may make."""
        usage = Usage(input=0, output=output_tokens, cache_read=0, cache_write_5m=0, cache_write_1h=prompt_tokens)
        return self.price(provider, model, usage).micros

    def saved(self, provider: str, model: str, usage: Usage) -> int | None:
        """What caching saved against sending the whole prompt fresh; negative where writing cost more than it saved."""
        if usage.cache_read is None or usage.prompt is None:
            return None
        fresh = Usage(input=usage.prompt, output=usage.output, cache_read=0, cache_write_5m=0, cache_write_1h=0)
        with_cache, without = self.price(provider, model, usage).micros, self.price(provider, model, fresh).micros
        return None if with_cache is None or without is None else without - with_cache

    def known(self, provider: str, model: str) -> bool:
        """Whether the model has a price."""
        return self.price(provider, model, Usage(input=1000, output=1000)).micros is not None
