"""From a model's name to its adapter; what is missing is said in one sentence before anything is spent."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from runtime.catalog.providers import provider_of
from runtime.errors import UsageError
from runtime.models.base import Model

LOCAL = "local"
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Which provider serves a model, under which bare name, and where."""

    provider: str
    name: str
    base_url: str | None = None


def endpoint_for(model: str, env: Mapping[str, str], base_url: str | None = None) -> Endpoint:
    """Resolve a model's name. Raises UsageError where the key or the address that it needs is missing.

    `base_url` is where an OpenAI-compatible server answers. It never moves Claude, so that a run on one's own server can
    escalate to Claude; that has ANTHROPIC_BASE_URL.
    """
    model = model.strip()
    if not model:
        raise UsageError("The model's name is empty.", "Give one with --model.")
    wire = wire_of(model)
    if wire == LOCAL:
        return Endpoint(LOCAL, LOCAL)
    if wire == "anthropic":
        return _claude(model, env)
    where = (base_url or env.get("OPENAI_BASE_URL") or "").strip()
    name = model
    if model.lower().startswith("openai/"):
        name = _bare(model)
        if not where and not _key(env, "OPENAI_API_KEY"):
            raise UsageError(
                f"{model} needs an API key.",
                "Set OPENAI_API_KEY, or say where else it is served with --base-url or OPENAI_BASE_URL.",
            )
        where = where or OPENAI_URL
    if not where:
        raise UsageError(
            f"The model {model!r} is not known.",
            "Use local or claude-*, or say where it is served with --base-url or OPENAI_BASE_URL.",
        )
    _key(env, "OPENAI_API_KEY")
    return Endpoint(provider_of(_checked(where)), name, where)


def wire_of(model: str) -> str:
    """The kind of server that a model's name stands for: local, anthropic, or openai for every compatible one."""
    lowered = model.strip().lower()
    if lowered == LOCAL:
        return LOCAL
    return "anthropic" if lowered.startswith(("anthropic/", "claude")) else "openai"


def preload(model: str) -> None:
    """Begin to load what a model's adapter needs, which takes a second, while the workspace and the baseline are made.

    Whoever needs it then waits for what is left of it. What can't be loaded is told where it is needed.
    """
    if wire_of(model) == "anthropic":
        threading.Thread(
            target=_load, args=("runtime.models.anthropic", "anthropic"), name="preload", daemon=True
        ).start()


def _load(*modules: str) -> None:
    with contextlib.suppress(ImportError):
        for module in modules:
            importlib.import_module(module)


def _claude(model: str, env: Mapping[str, str]) -> Endpoint:
    name = _bare(model) if model.lower().startswith("anthropic/") else model
    if not _key(env, "ANTHROPIC_API_KEY"):
        raise UsageError(f"{model} needs an API key.", "Set ANTHROPIC_API_KEY, or use --model local.")
    where = (env.get("ANTHROPIC_BASE_URL") or "").strip()
    return Endpoint("anthropic", name, _checked(where, "ANTHROPIC_BASE_URL") if where else None)


def _bare(model: str) -> str:
    name = model.partition("/")[2].strip()
    if not name:
        raise UsageError(f"The model {model!r} has no name after its provider.", "Give one, like openai/gpt-5.")
    return name


def _key(env: Mapping[str, str], variable: str) -> str:
    """A key without the line end that a file or a paste leaves. Raises UsageError for one that no header can carry."""
    key = (env.get(variable) or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{variable} holds characters that no key has.", "Set it again, without spaces and line ends.")
    return key


def _checked(url: str, what: str = "The base URL") -> str:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine or any(char.isspace() for char in url):
        raise UsageError(f"{what} {url!r} is not an address.", "It looks like http://localhost:8000/v1.")
    return url


def make_model(
    model: str,
    env: Mapping[str, str],
    base_url: str | None = None,
    *,
    silence_s: float = 120.0,
    make_local: Callable[[], Model] | None = None,
) -> Model:
    """The adapter for a model's name, loaded only now. Raises UsageError as `endpoint_for` does."""
    endpoint = endpoint_for(model, env, base_url)
    if endpoint.provider == LOCAL:
        if make_local is None:
            raise UsageError("The embedded model can't be used here.")
        return make_local()
    if endpoint.provider == "anthropic":
        from runtime.models.anthropic import AnthropicModel

        return AnthropicModel(endpoint.name, _key(env, "ANTHROPIC_API_KEY"), endpoint.base_url, silence_s)
    from runtime.models.openai import OpenAIModel

    assert endpoint.base_url is not None
    return OpenAIModel(endpoint.name, endpoint.base_url, _key(env, "OPENAI_API_KEY") or None, silence_s)
