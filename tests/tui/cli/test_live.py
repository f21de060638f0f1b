"""`doctor --live`: two real calls, the second read from cache, both in the ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from support.cli import CommandLine, Said, one_sentence
from support.scripted_server import Turn, refuse, text
from support.served import served

CLAUDE = ("--model", "claude-sonnet-5-5")


def live(looptop: CommandLine, script: Sequence[Turn], *args: str, chat: bool = False) -> Said:
    with served(looptop.folder, script) as url:
        claude = {"ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": url}
        env = {"OPENAI_BASE_URL": f"{url}/v1"} if chat else claude
        return looptop.process("doctor", "--live", *args, env=env)


def lines(said: Said) -> list[str]:
    return [line for line in said.out.splitlines() if line[5:].startswith("live")]


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-haiku-4-5"])
def test_the_second_call_reads_from_cache_whatever_the_models_minimum(looptop: CommandLine, model: str) -> None:
    first, second, verdict = lines(live(looptop, [text("ready")], "--model", model))
    assert first.startswith("ok")
    assert "read 0," in first
    assert second.startswith("ok")
    assert "written 0," in second
    assert verdict.startswith("ok")
    assert "tokens from cache, 100% of its prompt" in verdict


def test_both_calls_are_in_the_ledger_under_their_own_purpose(looptop: CommandLine) -> None:
    live(looptop, [text("ready")], *CLAUDE)
    (row,) = json.loads(looptop("usage", "--by", "purpose", "--json").out)
    assert (row["key"], row["calls"]) == ("doctor", 2)
    assert row["cost_usd"] > 0
    assert row["cache_read"] > 0


def test_a_self_hosted_server_shows_its_prefix_cache(looptop: CommandLine) -> None:
    *_, verdict = lines(live(looptop, [text("ready")], "--model", "qwen3-coder", chat=True))
    assert verdict.startswith("ok")
    assert "tokens from cache" in verdict


def test_a_refused_key_is_said_and_ends_with_the_environment_code(looptop: CommandLine) -> None:
    said = live(looptop, [refuse(401, "authentication_error")], *CLAUDE)
    assert said.code == 3
    (line,) = lines(said)
    assert line.startswith("bad")
    assert "call 1 to claude-sonnet-5-5 failed" in line
    assert "Traceback" not in said.err


def test_the_embedded_model_has_no_cache_to_show(looptop: CommandLine) -> None:
    (line,) = lines(looptop("doctor", "--live", "--model", "local"))
    assert line.startswith("-")


def test_a_model_without_live_is_a_mistake(looptop: CommandLine) -> None:
    assert "--live" in one_sentence(looptop("doctor", "--model", "local"), 2)
