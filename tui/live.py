"""Two small calls to a model, to see for real that a second prompt is read from cache: `looptop doctor --live`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.catalog.models import facts_of
from runtime.loop.conversation import Conversation
from runtime.loop.services import ModelContext
from runtime.loop.side_calls import SideCall, SideCaller
from runtime.models.base import Model, Request
from runtime.models.factory import endpoint_for
from runtime.prompt.estimate import BYTES_PER_TOKEN, estimate_tokens
from runtime.prompt.prediction import REPORT_FLAGS
from tui.compose import Cockpit, HostSettings, open_cockpit
from tui.words import duration, money, share, tokens

PURPOSE = "doctor"
MAX_OUTPUT_TOKENS = 64
QUESTION = "This is a check of the connection. Use no tool; answer with the one word ready."
FILLER = "This sentence makes the prompt long enough to be kept in the prompt cache. "
USUAL_MINIMUM, SURPLUS = 1_024, 1.5
"""Tokens from which self-hosted servers surely cache; and how far beyond the minimum the prompt goes, since tokens are estimated."""
Line = tuple[bool | None, str]


async def probe(home: Path, host: HostSettings, env: Mapping[str, str], name: str) -> list[Line]:
    """Call a model twice with one prompt, as a run would; a line for each call and one for the cache. Raises LooptopError.

    Both calls are in the ledger and count against the budgets of the day.
    """
    if endpoint_for(name, env, host.base_url).provider == "local":
        return [(None, "the embedded model makes no call: there is no cache to show")]
    async with open_cockpit(home, host, env) as cockpit:
        services = cockpit.services()
        model = await services.make_model(name, ModelContext(home, (), home, env, PURPOSE))
        try:
            return await _twice(cockpit, model)
        finally:
            await model.close()


async def _twice(cockpit: Cockpit, model: Model) -> list[Line]:
    services = cockpit.services()
    limits = [limit for limit in services.limits if limit.of == "day"]
    caller = SideCaller(services, limits, services.ledger.record)
    request, lines = _request(model.name), list[Line]()
    calls = [SideCall(), SideCall()]
    for number, done in enumerate(calls, 1):
        await caller.call(model, request, PURPOSE, done)
        if not done.answered:
            return [*lines, (False, f"call {number} to {model.name} failed: {done.failed}")]
        lines.append((True, _used(number, done)))
    return [*lines, _verdict(calls[1])]


def _request(model: str) -> Request:
    """A run's first request, made long enough to be cached."""
    conversation = Conversation(model, MAX_OUTPUT_TOKENS)
    bare = Conversation(model, MAX_OUTPUT_TOKENS)
    bare.add_user(QUESTION)
    wanted = (facts_of(model).cache_minimum or USUAL_MINIMUM) * SURPLUS
    missing = max(0, round(wanted) - estimate_tokens(bare.request())) * BYTES_PER_TOKEN
    conversation.add_user(FILLER * -(-missing // len(FILLER)) + QUESTION)
    return conversation.request()


def _used(number: int, done: SideCall) -> str:
    u = done.usage
    counts = (
        f"fresh {tokens(u.input)}, written {tokens(u.cache_write)}, read {tokens(u.cache_read)}, out {tokens(u.output)}"
    )
    return f"call {number} to {done.model}: {counts}; {money(done.micros)}; {duration(done.latency_ms)}"


def _verdict(second: SideCall) -> Line:
    read = second.usage.cache_read
    if read is None:
        return None, f"the second call was answered, but the server does not report what it read; {REPORT_FLAGS}"
    if not read:
        return False, "the second call read nothing from cache, though the first had sent the same prompt just before"
    return (
        True,
        f"the second call read {tokens(read)} tokens from cache, {share(second.usage.cache_share)} of its prompt",
    )
