"""Retry caps by model, and what overrides them."""

from __future__ import annotations

from datetime import date

import pytest

from runtime.catalog.caps import default_fix_verify_cap, effective_cap
from runtime.catalog.models import DEFAULT_MODEL, UNKNOWN, end_of_life_warning, facts_of, known_models
from runtime.errors import UsageError


@pytest.mark.parametrize(
    ("model", "value", "on_trial"),
    [
        ("claude-sonnet-5-5", 3, False),
        ("Claude-Opus", 3, False),
        ("anthropic/claude-haiku-5-5", 3, False),
        ("openrouter/anthropic/claude-x", 3, False),
        ("Qwen/Qwen3-Coder-30B", 6, False),
        ("qwen-max", 6, False),
        ("QWEN2.5", 6, False),
        ("gpt-5", 5, True),
        ("my-claude", 5, True),
        ("local", 5, True),
    ],
)
def test_the_default_follows_the_name(model: str, value: int, on_trial: bool) -> None:
    cap = default_fix_verify_cap(model)
    assert (cap.value, cap.on_trial) == (value, on_trial)


def test_the_longest_prefix_of_the_settings_wins() -> None:
    defaults = {"claude": 4, "Claude-Haiku": 7, "gpt": 2}
    assert default_fix_verify_cap("claude-haiku-5-5", defaults).value == 7
    assert default_fix_verify_cap("anthropic/claude-opus-5-5", defaults).value == 4
    assert default_fix_verify_cap("gpt-5", defaults).source == "caps.defaults for gpt*"
    assert default_fix_verify_cap("qwen3", defaults).value == 6


def test_an_option_beats_the_project_and_the_project_the_default() -> None:
    assert effective_cap("claude-x", option=9, project=2).value == 9
    assert effective_cap("claude-x", project=2, defaults={"claude": 8}).value == 2
    assert effective_cap("claude-x", project=None, defaults={"claude": 8}).value == 8
    assert effective_cap("claude-x", project=None).value == 3


@pytest.mark.parametrize("value", [0, 21, -1])
def test_a_cap_outside_its_bounds_is_refused(value: int) -> None:
    for which in ("option", "project"):
        with pytest.raises(UsageError, match="must be from 1 to 20"):
            effective_cap("claude-x", **{which: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "minimum", "context"),
    [
        ("claude-sonnet-5-5", 512, 1_000_000),
        ("anthropic/claude-haiku-4-5-20251001", 4096, 200_000),
        ("claude-opus-4-7", 2048, 1_000_000),
        ("claude-sonnet-4-6", 1024, 1_000_000),
    ],
)
def test_facts_by_the_longest_known_name(model: str, minimum: int, context: int) -> None:
    facts = facts_of(model)
    assert (facts.cache_minimum, facts.context) == (minimum, context)


def test_what_is_not_known_is_none() -> None:
    assert facts_of("claude-sonnet-55") == facts_of("mistral") == UNKNOWN
    assert UNKNOWN.context is None
    assert DEFAULT_MODEL in known_models()


def test_an_end_of_life_is_told_in_time() -> None:
    assert "reached its end of life on 2026-11-30" in end_of_life_warning("claude-sonnet-4-5", date(2026, 12, 1))
    assert "reaches its end of life on 2027-01-22" in end_of_life_warning("claude-opus-4-5", date(2026, 12, 1))
    assert end_of_life_warning("claude-opus-4-5", date(2026, 6, 1)) == ""
    assert end_of_life_warning("claude-sonnet-5-5", date(2026, 12, 1)) == ""
