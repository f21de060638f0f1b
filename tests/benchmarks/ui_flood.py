"""The dashboard under a flood: eight runs stream 500 deltas a second each, the one on screen also prints tool output.

Run: `.venv/bin/python tests/benchmarks/ui_flood.py [SECONDS] [OUTPUT_LINES_PER_SECOND]`. Prints the loop's lag, the time from a key to
its handling, frames, memory and CPU, and checks that the final view misses nothing (limits: key and lag p99 100 ms and 50 ms).
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import psutil  # noqa: E402
from textual import events  # noqa: E402

from runtime.events.base import Event  # noqa: E402
from runtime.events.loop import OutputDelta, TextDelta  # noqa: E402
from runtime.view import fold_all  # noqa: E402
from support.event_streams import Script  # noqa: E402
from support.fake_backend import FakeBackend  # noqa: E402
from tui.app import LooptopApp  # noqa: E402
from tui.backend import Backend  # noqa: E402
from tui.memory import settle  # noqa: E402
from tui.screens.run import RunScreen  # noqa: E402

RUNS, DELTAS = 8, 500
BEAT = 0.02


def opened(run: str) -> Script:
    """A run in its first round, with a tool running."""
    script = Script(run).open("flood").prepared(()).leg_begins("claude-sonnet-5-5").attempt_begins(1, "go")
    script.think("streaming\n")
    return script.tool("shell", {"command": "yes"}, "", finish=False)


class Forgetful(FakeBackend):
    """Keeps the events of the run on screen only: a store would have the others on disk, and memory full of them slows collections."""

    def push(self, *happened: Event) -> None:
        """Something happened."""
        super().push(*happened)
        for event in happened:
            if event.run != "flood0":
                self.log[event.run].clear()
                self.count += 1

    count = 0


async def flood(backend: FakeBackend, scripts: list[Script], seconds: float, lines: int) -> None:
    """Push events at the stated rates, in small bursts."""
    end, beat = time.perf_counter() + seconds, 0
    due = time.perf_counter()
    while time.perf_counter() < end:
        for script in scripts:
            for _ in range(int(DELTAS * BEAT)):
                backend.push(script.add(TextDelta(round=1, text=f"delta {beat} of a text that streams "), 2))
        if lines:
            text = "".join(f"output line {beat} {n}: the quick brown fox\n" for n in range(int(lines * BEAT)))
            backend.push(scripts[0].add(OutputDelta(step=1, text=text), 1))
        beat += 1
        due += BEAT
        await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def lags(found: list[float]) -> None:
    """How late the loop comes back."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.01)
        found.append((time.perf_counter() - before - 0.01) * 1_000)


async def keys(app: LooptopApp, found: list[float]) -> None:
    """Press a key five times a second and see when the stream has acted and everything posted before was drawn."""
    while True:
        await asyncio.sleep(0.2)
        screen = app.screen
        stream = screen.panes.stream if isinstance(screen, RunScreen) else None
        if stream is None:
            continue
        wrapped, before = stream.wrapped, time.perf_counter()
        app.post_message(events.Key("w", "w"))
        while stream.wrapped == wrapped:  # noqa: ASYNC110 - the wait is what is measured
            await asyncio.sleep(0)
        done = asyncio.Event()
        stream.call_after_refresh(done.set)
        await done.wait()
        found.append((time.perf_counter() - before) * 1_000)


def worst(values: list[float], part: float) -> float:
    """A quantile."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


async def main() -> None:
    """Measure."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    scripts = [opened(f"flood{n}") for n in range(RUNS)]
    backend = Forgetful({script.run: script.events for script in scripts})

    async def connect() -> Backend:
        return backend

    async def then(_: Backend) -> str | None:
        return scripts[0].run

    app = LooptopApp(connect, then)
    process = psutil.Process()
    lag: list[float] = []
    key: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(1.0)
        settle()
        watchers = [asyncio.create_task(lags(lag)), asyncio.create_task(keys(app, key))]
        memory, cpu, start = process.memory_info().rss, process.cpu_times(), time.perf_counter()
        await flood(backend, scripts, seconds, lines)
        took, after = time.perf_counter() - start, process.cpu_times()
        for watcher in watchers:
            watcher.cancel()
        bridge, screen = app.bridge, app.screen
        assert bridge is not None
        assert isinstance(screen, RunScreen)
        whole = len(backend.log[scripts[0].run])
        while screen.view.seq < whole:
            await pilot.pause(0.05)
        assert screen.view == fold_all(backend.log[scripts[0].run]), "the final view misses something"
        total = whole + backend.count
        held = (process.memory_info().rss - memory) / 2**20
        used = after.user - cpu.user + after.system - cpu.system
        print(
            f"{total:,} events of {RUNS} runs in {took:.1f} s, {lines:,} output lines/s on screen; {bridge.frames} frames"
        )
        print(
            f"loop lag   p50 {worst(lag, 0.5):6.1f} ms   p99 {worst(lag, 0.99):6.1f} ms   max {max(lag):6.1f} ms   (limit p99 50)"
        )
        print(
            f"key        p50 {worst(key, 0.5):6.1f} ms   p99 {worst(key, 0.99):6.1f} ms   max {max(key):6.1f} ms   (limit p99 100)"
        )
        print(
            f"memory +{held:.0f} MiB    CPU {used / took:.0%} of a core; the fake's log of every event and the flood's own work are in both"
        )


if __name__ == "__main__":
    asyncio.run(main())
