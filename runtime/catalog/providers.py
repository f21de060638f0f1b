"""Which provider stands behind an address: by its host, as the price table calls it; any other host is somebody's own server."""

from __future__ import annotations

from urllib.parse import urlsplit

SELF_HOSTED = "openai-compatible"
HOSTED = {
    "api.openai.com": "openai",
    "api.groq.com": "groq",
    "api.together.xyz": "together",
    "api.fireworks.ai": "fireworks",
    "api.mistral.ai": "mistral",
    "api.deepseek.com": "deepseek",
    "api.cerebras.ai": "cerebras",
    "openrouter.ai": "openrouter",
    "api.x.ai": "x-ai",
}


def provider_of(base_url: str) -> str:
    """The provider's name in the price table; SELF_HOSTED for hosts without prices of their own."""
    return HOSTED.get((urlsplit(base_url).hostname or "").lower(), SELF_HOSTED)
