"""How long the cached prefix lives, and what waiting beyond that costs: shown only where it is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from runtime.catalog.prices import Catalog
from runtime.events.values import RunSettings
from runtime.usage import Usage
from runtime.view.model import RoundRow, RunView
from tui.paint.gauges import cold, pause_cost
from tui.paint.run import banner

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
CACHED = Usage(input=10, output=20, cache_read=60_000, cache_write_5m=40_000, cache_write_1h=0)


def view_of(usage: Usage = CACHED, ttl: str = "5m", rewarm: int | None = 240_000) -> RunView:
    row = RoundRow(1, 1, 1, "claude-sonnet-5-5", 0, START, 100, finished_ms=90_000, usage=usage, rewarm_micros=rewarm)
    return RunView(run="r1", settings=RunSettings(model="claude-sonnet-5-5", ttl=ttl), rounds=(row,), usage=usage)


def shown(view: RunView, seconds: float) -> str | None:
    span = cold(view, START + timedelta(seconds=seconds))
    return None if span is None else span[0]


def test_a_lifetime_counts_from_the_start_of_the_call() -> None:
    assert shown(view_of(), 90) == "3m30s until cold"
    assert shown(view_of(ttl="1h"), 600) == "50m00s until cold"
    assert shown(view_of(), 301) == "cold: the next call writes anew"


@pytest.mark.parametrize(
    "usage",
    [
        Usage(input=100, output=20, cache_read=60_000),
        Usage(input=100, output=20, cache_read=0, cache_write_5m=0, cache_write_1h=0),
        Usage(input=100, output=20),
    ],
)
def test_nothing_is_said_where_no_entry_or_no_lifetime_is_known(usage: Usage) -> None:
    assert shown(view_of(usage), 10) is None
    assert pause_cost(view_of(usage), START) == ""


def test_a_finished_run_has_nothing_to_keep_warm() -> None:
    from runtime.events.values import StopReason

    assert shown(replace(view_of(), reason=StopReason.PASSED), 10) is None


def test_a_paused_run_says_what_its_pause_costs() -> None:
    paused = replace(view_of(), paused=True, pause_text="by me")
    words = ["".join(text for text, _ in line) for line in banner(paused, 78, START + timedelta(seconds=240))]
    assert words[1].strip() == "cache: 1m00s until cold, cold costs $0.240 more"
    assert pause_cost(view_of(rewarm=None), START).endswith("cold costs ? more")


@pytest.mark.parametrize(("ttl", "micros"), [("5m", 240_000), ("1h", 390_000)])
def test_the_price_of_a_cold_cache_is_writing_less_reading(ttl: str, micros: int) -> None:
    # Sonnet 5.5: 2.50 (5m) and 4.00 (1h) dollars to write a million tokens, 0.10 to read them.
    assert Catalog().rewarm("anthropic", "claude-sonnet-5-5", CACHED, ttl) == micros


def test_it_is_not_known_without_a_price_or_a_report() -> None:
    assert Catalog().rewarm("openai-compatible", "qwen3-coder", CACHED, "5m") is None
    assert Catalog().rewarm("anthropic", "claude-sonnet-5-5", Usage(input=9, output=1), "5m") is None
