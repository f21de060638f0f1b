"""From a model's name to its adapter; what is missing is said in one sentence before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runtime.errors import UsageError
from runtime.models.base import Model

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Which provider serves a model, under which bare name, and where."""

    provider: str
    name: str
    base_url: str | None = None


def endpoint_for(model: str, env: Mapping[str, str], base_url: str | None = None) -> Endpoint:
    """Resolve a model's name. Raises UsageError where the key or the address that it needs is missing."""
    model = model.strip()
    if not model:
        raise UsageError("The model's name is empty.", "Give one with --model.")
    if model == LOCAL:
        return Endpoint("local", LOCAL)
    lowered = model.lower()
    if lowered.startswith("anthropic/") or (lowered.startswith("claude") and base_url is None):
        name = model.partition("/")[2] if lowered.startswith("anthropic/") else model
        if not env.get("ANTHROPIC_API_KEY"):
            raise UsageError(f"{model} needs an API key.", "Set ANTHROPIC_API_KEY, or use --model local.")
        return Endpoint("anthropic", name, base_url or env.get("ANTHROPIC_BASE_URL") or None)
    where = base_url or env.get("OPENAI_BASE_URL")
    if lowered.startswith("openai/"):
        return Endpoint("openai-compatible", model.partition("/")[2], _checked(where or "https://api.openai.com/v1"))
    if not where:
        raise UsageError(
            f"The model {model!r} is not known.",
            "Use local or claude-*, or say where it is served with --base-url or OPENAI_BASE_URL.",
        )
    return Endpoint("openai-compatible", model, _checked(where))


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"The base URL {url!r} is not an address.", "It begins with http:// or https://.")
    return url


def make_model(
    model: str,
    env: Mapping[str, str],
    base_url: str | None = None,
    *,
    silence_s: float = 120.0,
    make_local: Callable[[], Model] | None = None,
) -> Model:
    """The adapter for a model's name. Raises UsageError as `endpoint_for` does."""
    endpoint = endpoint_for(model, env, base_url)
    if endpoint.provider == "local":
        if make_local is None:
            raise UsageError("The embedded model can't be used here.")
        return make_local()
    if endpoint.provider == "anthropic":
        from runtime.models.anthropic import AnthropicModel

        return AnthropicModel(endpoint.name, env["ANTHROPIC_API_KEY"], endpoint.base_url, silence_s)
    from runtime.models.openai import OpenAIModel

    assert endpoint.base_url is not None
    return OpenAIModel(endpoint.name, endpoint.base_url, env.get("OPENAI_API_KEY"), silence_s)
