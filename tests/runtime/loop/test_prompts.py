"""What a run's rounds say about their cache, a follow-up that remembers, and the one large step of compaction."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.catalog.models import ModelFacts
from runtime.events.base import Event
from runtime.events.checks import Compacted, WindowTaken
from runtime.events.loop import CacheDiagnosed, RoundFinished, RoundStarted
from runtime.events.values import RunSettings, StopReason, VerifySpec
from runtime.loop import legs
from runtime.models.base import ToolResult
from runtime.prompt.estimate import estimate_tokens
from support.repositories import CHECK, CHECKED, make_repository
from support.scripted_model import say, use
from support.scripted_server import Scripted, ScriptedServer, Turn, call, text
from support.stage import stage
from tui.compose import HostSettings, RunRequest, open_cockpit

FIX = call("write_file", "toolu_fix", path="value.txt", content="fixed\n")


async def run_events(server: ScriptedServer, folder: Path, model: str = "claude-sonnet-5-5") -> list[Event]:
    repo = make_repository(folder / "repo", CHECKED)
    env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": server.url}
    events: list[Event] = []
    host = HostSettings(base_url=None if model.startswith("claude") else server.url)
    async with open_cockpit(folder / "home", host, env) as cockpit:
        cockpit.bus.subscribe(events.append)
        handle = await cockpit.start(RunRequest(repo, "", RunSettings(model=model), (VerifySpec(command=CHECK),)))
        await handle.done
    return events


def reads() -> list[Scripted]:
    return [*(call("shell", f"toolu_{n}", command=f"seq {n}000 {n}400") for n in range(1, 6)), FIX, text("Done.")]


async def test_each_round_reads_what_was_foretold(tmp_path: Path) -> None:
    async with ScriptedServer(reads()) as server:
        events = await run_events(server, tmp_path)
    foretold = [e.predicted_read for e in events if isinstance(e, RoundStarted)]
    reported = [e.usage.cache_read for e in events if isinstance(e, RoundFinished)]
    assert foretold[0] is None
    assert foretold[1:] == reported[1:]
    assert not [e for e in events if isinstance(e, CacheDiagnosed)]


async def test_a_miss_is_named(tmp_path: Path) -> None:
    script = reads()
    usages = [
        {"input_tokens": 3000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1},
        {"output_tokens": 5},
    ]
    script[3] = Turn(call("shell", "toolu_x", command="echo hi").blocks, "tool_use", usages)
    async with ScriptedServer(script) as server:
        events = await run_events(server, tmp_path)
    first = next(e for e in events if isinstance(e, CacheDiagnosed))
    assert (first.round, first.reported) == (4, 0)
    assert first.predicted
    assert first.text


async def test_a_server_that_reports_no_cache_is_said_to(tmp_path: Path) -> None:
    async with ScriptedServer([FIX, text("Done.")], chat_usage="plain") as server:
        events = await run_events(server, tmp_path, "Qwen/Qwen3-Coder")
    (told,) = [e for e in events if isinstance(e, CacheDiagnosed)]
    assert (told.cause, told.reported) == ("not_reported", None)
    assert "--enable-prompt-tokens-details" in told.text


async def test_a_follow_up_remembers_what_was_said(tmp_path: Path) -> None:
    steps = [
        use("write_file", path="value.txt", content="fixed\n"),
        say("I set the value to fixed."),
        say("nothing more"),
    ]
    async with stage(tmp_path, steps) as played:
        first = await played.run("Set the value")
        request = RunRequest(
            played.repo,
            "Now explain it",
            RunSettings(model="claude-sonnet-5-5", cap=1),
            (VerifySpec(command=CHECK),),
            continues=first.run[:4],
        )
        await (await played.cockpit.start(request)).done
        opening = played.model.requests[-1].messages[0].blocks[0]
        assert opening.kind == "text"
        assert "Set the value" in opening.text
        assert "I set the value to fixed." in opening.text
        assert opening.text.rstrip().endswith("Now explain it")
        (window,) = played.of(WindowTaken)
        assert (window.turns, window.turns_total) == (3, 3)


async def test_a_full_context_is_compacted_by_a_large_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legs, "facts_of", lambda _: ModelFacts(cache_minimum=512, context=9_000))
    steps = [use("shell", f"call-{n}", command=f"seq {n}0000 {n}0900") for n in range(1, 13)]
    steps += [use("write_file", "w", path="value.txt", content="fixed\n"), say("done")]
    async with stage(tmp_path, steps) as played:
        end = await played.run(max_output_tokens=500)
        assert end.reason is StopReason.PASSED
        compacted = played.of(Compacted)
        assert 1 <= len(compacted) <= 4
        for event in compacted:
            assert event.tokens_after < event.tokens_before
            assert event.stubbed
        sizes = [estimate_tokens(request) for request in played.model.requests]
        assert max(sizes) + 500 <= 9_000
        for request in played.model.requests:
            for message in request.messages:
                assert all(b.content.strip() for b in message.blocks if isinstance(b, ToolResult))
