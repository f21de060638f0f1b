"""From names to adapters, and every sentence for what is missing."""

from __future__ import annotations

import pytest

from runtime.errors import UsageError
from runtime.models.anthropic import AnthropicModel
from runtime.models.factory import Endpoint, endpoint_for, make_model
from runtime.models.openai import OpenAIModel

KEYED = {"ANTHROPIC_API_KEY": "test-key", "OPENAI_API_KEY": "other-key"}
HERE = "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("model", "base_url", "endpoint"),
    [
        ("local", None, Endpoint("local", "local")),
        ("claude-sonnet-5-5", None, Endpoint("anthropic", "claude-sonnet-5-5")),
        ("anthropic/claude-sonnet-5-5", None, Endpoint("anthropic", "claude-sonnet-5-5")),
        ("claude-sonnet-5-5", HERE, Endpoint("anthropic", "claude-sonnet-5-5")),
        ("openai/gpt-5", None, Endpoint("openai", "gpt-5", "https://api.openai.com/v1")),
        ("openai/gpt-oss-20b", HERE, Endpoint("openai-compatible", "gpt-oss-20b", HERE)),
        ("Qwen/Qwen3-Coder", HERE, Endpoint("openai-compatible", "Qwen/Qwen3-Coder", HERE)),
        ("qwen/qwen3", "https://openrouter.ai/api/v1", Endpoint("openrouter", "qwen/qwen3", "https://openrouter.ai/api/v1")),
    ],
)  # fmt: skip
def test_a_name_leads_to_its_endpoint(model: str, base_url: str | None, endpoint: Endpoint) -> None:
    assert endpoint_for(model, KEYED, base_url) == endpoint


def test_claude_follows_its_own_variable_only() -> None:
    env = {**KEYED, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "OPENAI_BASE_URL": HERE}
    assert endpoint_for("claude-x", env, HERE).base_url == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("model", "env", "base_url", "words"),
    [
        ("  ", {}, None, "name is empty"),
        ("claude-x", {}, None, "needs an API key"),
        ("claude-x", {"ANTHROPIC_API_KEY": " \n"}, None, "needs an API key"),
        ("claude-x", {"ANTHROPIC_API_KEY": "a b"}, None, "ANTHROPIC_API_KEY holds characters"),
        ("claude-x", {"ANTHROPIC_API_KEY": "k\u00e9y"}, None, "ANTHROPIC_API_KEY holds characters"),
        ("claude-x", {**KEYED, "ANTHROPIC_BASE_URL": "localhost:1"}, None, "ANTHROPIC_BASE_URL 'localhost:1'"),
        ("anthropic/", KEYED, None, "no name after its provider"),
        ("openai/", KEYED, HERE, "no name after its provider"),
        ("openai/gpt-5", {}, None, "needs an API key"),
        ("mistral", KEYED, None, "'mistral' is not known"),
        ("mistral", KEYED, "localhost:8000", "is not an address"),
        ("mistral", KEYED, "http://", "is not an address"),
        ("mistral", KEYED, "http://host:port/", "is not an address"),
        ("mistral", KEYED, "http://host/a b", "is not an address"),
    ],
)
def test_what_is_missing_is_said(model: str, env: dict[str, str], base_url: str | None, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_model(model, env, base_url)
    assert words in str(caught.value)
    assert caught.value.hint


def test_adapters_are_made() -> None:
    assert isinstance(make_model("claude-x", KEYED), AnthropicModel)
    served = make_model("Qwen/Qwen3", {}, HERE)
    assert isinstance(served, OpenAIModel)
    assert served.provider == "openai-compatible"
