"""A model's own rates: per token or per GPU hour, checked for nonsense; and the pattern that a family's rates follow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from runtime.errors import UsageError
from runtime.usage import MICROS_PER_DOLLAR, Usage

WRITE_5M, WRITE_1H = Decimal("1.25"), Decimal(2)
"""Write prices as multiples of the input price, the same for all Claude models."""
READ_SHARES = (Decimal("0.1"), Decimal("0.05"), Decimal("0.025"))
"""Read prices as shares of the input price: a tenth up to the models of 5.0, less for some of the newest."""
PER_TOKEN = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
PER_HOUR = "gpu_hour"
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    write_5m: Decimal
    write_1h: Decimal

    @property
    def all(self) -> tuple[Decimal, ...]:
        """Every rate."""
        return (self.input, self.output, self.cache_read, self.write_5m, self.write_1h)

    def total(self, usage: Usage) -> Decimal:
        """Cost of a usage in micro-dollars, exact; dollars per million tokens are micro-dollars per token."""
        return (
            self.input * (usage.input or 0)
            + self.output * (usage.output or 0)
            + self.cache_read * (usage.cache_read or 0)
            + self.write_5m * (usage.cache_write_5m or 0)
            + self.write_1h * (usage.cache_write_1h or 0)
        )

    def micros(self, usage: Usage) -> int:
        """Cost of a usage in whole micro-dollars, rounded half up once, on the sum."""
        return whole_micros(self.total(usage))


@dataclass(frozen=True, slots=True)
class HourRate:
    """Dollars per hour of the machine that serves a model."""

    gpu_hour: Decimal

    def micros(self, seconds: float, in_flight: int = 1) -> int:
        """Share of a call that took so many wall seconds while so many calls were served at once, rounded half up."""
        hours = Decimal(repr(seconds)) / SECONDS_PER_HOUR
        return whole_micros(self.gpu_hour * hours * MICROS_PER_DOLLAR / max(1, in_flight))


def whole_micros(value: Decimal) -> int:
    """Micro-dollars as an integer, rounded half up."""
    return int(value.quantize(Decimal(1), ROUND_HALF_UP))


def rates_from(settings: Mapping[str, float], where: str) -> Rates | HourRate:
    """A project's own prices: `input` and `output`, optionally `cache_read`, `cache_write_5m`, `cache_write_1h`; or `gpu_hour` alone.

    Cached tokens without a rate of their own cost what input costs. Raises UsageError for a rate that is missing, unknown,
    negative or not a number.
    """
    if not isinstance(settings, Mapping):
        raise UsageError(f"{where} is {settings!r}.", "Give a table with `input` and `output`, or with `gpu_hour`.")
    found: dict[str, Decimal] = {}
    for name, value in settings.items():
        if name not in (*PER_TOKEN, PER_HOUR):
            raise UsageError(f"{where} has no rate {name!r}.", f"It has: {', '.join((*PER_TOKEN, PER_HOUR))}.")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            raise UsageError(f"{where}.{name} is {value!r}.", "Give dollars, 0 or more.")
        found[name] = Decimal(str(value))
    if PER_HOUR in found:
        if len(found) > 1:
            raise UsageError(f"{where} has rates per token and per hour.", "Give one kind only.")
        return HourRate(found[PER_HOUR])
    if "input" not in found or "output" not in found:
        raise UsageError(f"{where} needs `input` and `output`, in dollars per million tokens, or `gpu_hour`.")
    price = found["input"]
    cached = (found.get(name, price) for name in PER_TOKEN[2:])
    return Rates(price, found["output"], *cached)


def odd_rates(rates: Rates) -> list[str]:
    """Where rates break the pattern of the Claude family: writes at 1.25 and 2 times the input price, reads at a known share of it."""
    wanted = (
        ("5-minute writes", rates.write_5m, rates.input * WRITE_5M),
        ("1-hour writes", rates.write_1h, rates.input * WRITE_1H),
    )
    odd = [f"{what} at {_plain(is_)}, not {_plain(should)}" for what, is_, should in wanted if is_ != should]
    if rates.cache_read not in [rates.input * share for share in READ_SHARES]:
        odd.append(f"reads at {_plain(rates.cache_read)}, not {_plain(rates.input * READ_SHARES[0])}")
    return odd


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"
