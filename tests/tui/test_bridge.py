"""The bridge: one message per frame, nothing missing, nothing twice, and only the run on screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.events.base import Event
from runtime.view import fold_all
from support.fake_backend import FakeBackend
from support.sample_runs import fleet, main_run
from tui import bridge as module
from tui.bridge import Bridge, Frame


async def drained(bridge: Bridge, done: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    for _ in range(10_000):
        if done():
            return
        await asyncio.sleep(0)
    raise AssertionError("the bridge never got there")


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 9), min_size=8, max_size=20), st.integers(0, 30))
def test_any_chunking_gives_every_event_once_and_the_replays_view(sizes: list[int], start: int) -> None:
    async def scenario() -> None:
        events = main_run("r1").events
        backend = FakeBackend({"r1": events[:start] or events[:1]})
        frames: list[Frame] = []
        bridge = Bridge(backend, frames.append, 0.0)
        bridge.start()
        view = await bridge.watch("r1")
        at, turn = max(start, 1), 0
        while at < len(events):
            size = sizes[turn % len(sizes)]
            backend.push(*events[at : at + size])
            at, turn = at + size, turn + 1
            if turn % 3 == 0:
                await asyncio.sleep(0)

        def shown() -> list[int]:
            return [event.seq for frame in frames for event in frame.events]

        await drained(bridge, lambda: len(shown()) == len(events) - view.seq)
        assert shown() == list(range(view.seq + 1, len(events) + 1))
        assert [frame.view for frame in frames if frame.view][-1] == fold_all(events)
        bridge.close()

    asyncio.run(scenario())


async def test_a_burst_comes_in_one_message() -> None:
    backend = FakeBackend({"r1": main_run("r1").events[:1]})
    frames: list[Frame] = []
    bridge = Bridge(backend, frames.append, 0.0)
    bridge.start()
    await bridge.watch("r1")
    await drained(bridge, lambda: bool(frames))
    frames.clear()
    backend.push(*main_run("r1").events[1:])
    await drained(bridge, lambda: bool(frames))
    assert len(frames) == 1
    assert len(frames[0].events) == len(main_run("r1").events) - 1
    assert [summary.run for summary in frames[0].summaries] == ["r1"]
    bridge.close()


async def test_a_flood_is_taken_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 10)
    events = main_run("r1").events
    backend = FakeBackend({"r1": events[:1]})
    frames: list[Frame] = []
    bridge = Bridge(backend, frames.append, 0.0)
    await bridge.watch("r1")
    backend.push(*events[1:])
    await drained(bridge, lambda: sum(len(frame.events) for frame in frames) == len(events) - 1)
    assert max(len(frame.events) for frame in frames) == 10
    assert frames[-1].late == 0
    bridge.close()


async def test_other_runs_come_as_summaries_only_and_unwatching_closes_the_feed() -> None:
    backend = FakeBackend(fleet())
    frames: list[Frame] = []
    bridge = Bridge(backend, frames.append, 0.0)
    bridge.start()
    await bridge.watch("r7f3a")
    other: Event = backend.log["c4b02"][-1]
    backend.push(other.model_copy(update={"seq": other.seq + 1}))
    await drained(bridge, lambda: bool(frames))
    assert all(not frame.events for frame in frames)
    assert len(backend.feeds["r7f3a"]) == 1
    await bridge.watch("b9d11")
    assert backend.feeds["r7f3a"] == []
    bridge.close()
    assert backend.feeds["b9d11"] == []
    assert all(feed.closed for feed in backend.fleet)


async def test_frames_keep_their_distance() -> None:
    backend = FakeBackend({"r1": main_run("r1").events[:1]})
    frames: list[Frame] = []
    bridge = Bridge(backend, frames.append, 3_600.0)
    await bridge.watch("r1")
    for event in main_run("r1").events[1:4]:
        backend.push(event)
        await asyncio.sleep(0)
    assert len(frames) <= 1, "a second frame has to wait for its time"
    bridge.close()
