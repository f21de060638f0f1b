"""Prices: worked cases to the micro-dollar, what isn't known, what is nonsense."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.catalog import models
from runtime.catalog.prices import Catalog
from runtime.catalog.rates import HourRate, Rates, odd_rates, rates_from
from runtime.errors import UsageError
from runtime.ports import Prices
from runtime.usage import Usage

MILLION = 1_000_000
OWN = {"input": 3, "output": 15, "cache_read": 0.30, "cache_write_5m": 3.75, "cache_write_1h": 6}
CLAUDE = "claude-sonnet-5-5"


def usage(**counts: int | None) -> Usage:
    return Usage(**{"input": 0, "output": 0, "cache_read": 0, **counts})


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog()


@pytest.mark.parametrize(
    ("five", "hour", "micros"), [(400_000, 600_000, 5_853_000), (MILLION, 0, 4_503_000), (0, MILLION, 6_753_000)]
)
def test_two_lifetimes_have_two_prices(five: int, hour: int, micros: int) -> None:
    own = Catalog({"claude-x": OWN})
    counts = usage(input=1000, output=10_000, cache_read=2 * MILLION, cache_write_5m=five, cache_write_1h=hour)
    assert own.price("anthropic", "claude-x", counts).micros == micros


@pytest.mark.parametrize(
    ("model", "micros"), [("claude-opus-5-5", 37_800), (CLAUDE, 18_900), ("claude-haiku-5-5", 965)]
)
def test_the_table_prices_every_kind_of_token(catalog: Catalog, model: str, micros: int) -> None:
    """By hand: input, output, read, 5-minute and 1-hour writes at the published rates."""
    counts = usage(input=1000, output=500, cache_read=4000, cache_write_5m=3000, cache_write_1h=1000)
    priced = catalog.price("anthropic", model, counts)
    assert priced.micros == micros
    assert (priced.version or "").startswith("genai-prices ")


def test_a_long_prompt_moves_the_whole_request_to_the_higher_tier(catalog: Catalog) -> None:
    short = catalog.price("anthropic", "claude-haiku-5-5", usage(input=100_000)).micros
    long = catalog.price("anthropic", "claude-haiku-5-5", usage(input=200_000)).micros
    assert (short, long) == (10_000, 100_000)


def test_no_token_is_counted_twice(catalog: Catalog) -> None:
    """The two wire forms of one prompt cost the same."""
    beside = usage(input=5, cache_read=128_955, cache_write_5m=1_253)
    assert beside.prompt == 130_213
    assert round(100 * (beside.cache_share or 0), 1) == 99.0
    assert catalog.price("anthropic", CLAUDE, beside).micros == round(5 * 2 + 128_955 * 0.1 + 1_253 * 2.5)
    inside = Usage(input=86, output=0, cache_read=17_817)
    own = Catalog({"qwen3": {"input": 1, "output": 2, "cache_read": 0.1}})
    assert own.price("openai-compatible", "Qwen/Qwen3", inside).micros == round(86 + 1781.7)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-nonesuch-9"),
        ("openai-compatible", "Qwen/Qwen3-Coder"),
        ("openai-compatible", "gpt-4o"),
        ("nonesuch", "gpt-4o"),
    ],
)
def test_a_model_without_a_price_has_none_and_says_so(catalog: Catalog, provider: str, model: str) -> None:
    priced = catalog.price(provider, model, usage(input=10_000, output=2_000))
    assert priced.micros is None
    assert model in priced.note
    assert not catalog.known(provider, model)
    assert catalog.worst_case(provider, model, 10_000, 2_000) is None
    assert catalog.saved(provider, model, usage(input=1)) is None


def test_an_unknown_count_has_no_price(catalog: Catalog) -> None:
    for counts in (Usage(), Usage(input=5), Usage(output=5)):
        priced = catalog.price("anthropic", CLAUDE, counts)
        assert (priced.micros, priced.note) == (None, "the server did not report its usage")


def test_cache_reads_that_are_not_reported_are_told(catalog: Catalog) -> None:
    assert "priced as fresh" in catalog.price("openai", "gpt-4o", Usage(input=100, output=1)).note
    assert catalog.price("openai", "gpt-4o", Usage(input=100, output=1, cache_read=0)).note == ""


def test_the_embedded_model_is_free(catalog: Catalog) -> None:
    assert catalog.price("local", "local", Usage()).micros == 0


def test_a_model_may_be_paid_by_the_hour() -> None:
    own = Catalog({"qwen3-coder": {"gpu_hour": 3.60}})
    assert own.price("openai-compatible", "Qwen/Qwen3-Coder", Usage(), seconds=2.5).micros == 2500
    assert own.price("openai-compatible", "Qwen/Qwen3-Coder", Usage(), seconds=2.5, in_flight=4).micros == 625
    assert own.price("openai-compatible", "Qwen/Qwen3-Coder", usage(input=5)).micros is None
    assert own.known("openai-compatible", "Qwen/Qwen3-Coder")


def test_the_worst_case_is_never_below_what_a_call_costs(catalog: Catalog) -> None:
    for ttl, rate in (("5m", 2.5), ("1h", 4)):
        assert catalog.worst_case("anthropic", CLAUDE, 10_000, 1_000, ttl) == 10_000 * rate + 10_000
    for counts in (usage(input=10_000), usage(cache_write_5m=10_000), usage(cache_write_1h=10_000)):
        full = counts.model_copy(update={"output": 1000})
        worst = catalog.worst_case("anthropic", CLAUDE, 10_000, 1_000) or 0
        assert worst >= (catalog.price("anthropic", CLAUDE, full).micros or 0)


def test_what_caching_saved(catalog: Catalog) -> None:
    assert catalog.saved("anthropic", CLAUDE, usage(cache_read=10_000)) == 19_000
    assert catalog.saved("anthropic", CLAUDE, usage(cache_write_1h=10_000)) == -20_000
    assert catalog.saved("anthropic", CLAUDE, Usage(input=5, output=5)) is None


def current() -> list[str]:
    return [name for name in models.known_models() if name.startswith("claude-") and not name.startswith("claude-3")]


def test_the_tables_rates_follow_the_pattern_of_their_family(catalog: Catalog) -> None:
    priced = {name: catalog.rates("anthropic", name) for name in current()}
    assert len([rates for rates in priced.values() if rates]) >= 12
    assert {name: odd_rates(rates) for name, rates in priced.items() if rates and odd_rates(rates)} == {}


def test_rates_off_the_pattern_are_flagged(catalog: Catalog) -> None:
    assert catalog.doubts("anthropic", "claude-3-haiku") == [
        "5-minute writes at 0.3, not 0.3125",
        "reads at 0.03, not 0.025",
    ]
    wrong = Catalog({"claude-x": {**OWN, "cache_read": 3.0}})
    assert wrong.doubts("anthropic", "claude-x") == ["reads at 3, not 0.3"]
    assert Catalog({"claude-x": OWN}).doubts("anthropic", "claude-x") == []


@pytest.mark.parametrize(
    "table",
    [
        {"input": -1, "output": 1},
        {"input": math.nan, "output": 1},
        {"input": math.inf, "output": 1},
        {"input": "3", "output": 1},
        {"input": True, "output": 1},
        {"input": 1},
        {},
        {"input": 1, "output": 1, "inptu": 1},
        {"gpu_hour": 1, "input": 1},
        {"gpu_hour": -1},
        3,
    ],
)
def test_a_nonsense_rate_is_refused_in_one_sentence(table: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Catalog({"qwen3": table})
    assert "prices.qwen3" in str(caught.value)


def test_rates_keep_their_kind() -> None:
    assert isinstance(rates_from({"gpu_hour": 2}, "x"), HourRate)
    rates = rates_from({"input": 1, "output": 2}, "x")
    assert isinstance(rates, Rates)
    assert rates.cache_read == rates.write_1h == 1


@pytest.mark.parametrize(
    "broken",
    [lambda *_, **__: SimpleNamespace(total_price=-1), lambda *_, **__: SimpleNamespace(total_price=math.nan)],
)
def test_a_price_table_gone_wrong_leaves_the_price_unknown(broken: Callable[..., Any]) -> None:
    own = Catalog()
    own.__dict__["_table"] = SimpleNamespace(Usage=lambda **_: None, calc_price=broken)
    priced = own.price("anthropic", CLAUDE, usage(input=1))
    assert priced.micros is None
    assert "nonsense" in priced.note


def test_it_is_what_the_engine_needs() -> None:
    prices: Prices = Catalog()
    assert prices.worst_case("local", "local", 5, 5) == 0


@pytest.mark.parametrize(
    "model", ["claude-sonnet-5-5", "claude-opus-4-6", "claude-haiku-5-5", "claude-sonnet-4-5", "claude-fable-5-2"]
)
def test_the_quick_way_to_a_price_is_the_tables_own_to_the_micro_dollar(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flat rates where the table has nothing else; tiers and prices by date are left to the table."""
    quick, slow = Catalog(), Catalog()
    monkeypatch.setattr(slow, "_flat_rates", lambda provider, model: None)
    rng = random.Random(model)
    for _ in range(100):
        counts = [rng.choice([0, 1, rng.randrange(300_000)]) for _ in range(5)]
        counted = Usage(**dict(zip(KINDS, counts, strict=True)))
        assert quick.price("anthropic", model, counted) == slow.price("anthropic", model, counted)


KINDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
