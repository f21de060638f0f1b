"""The dashboard under a flood of events, beside a plain Textual app under the same flood.

Run: `.venv/bin/python tests/benchmarks/ui_flood.py [--runs N] [--events PER_SECOND] [--lines PER_SECOND] [--seconds S] [--fleet]`.
By default eight runs stream together 4,000 deltas a second and the one on screen prints 20,000 lines of output a second; with
`--fleet` the Fleet screen is shown. Prints the loop's lag, the time from a key to what it changed on screen, frames, bytes to the
terminal, memory and CPU, and checks that the final view misses nothing. Limits: key and lag 100 and 50 ms at the 99th percentile,
memory flat after ten seconds. The flood's own work, which is done in the same loop, is in all figures: the plain app shows how much
it is.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import psutil  # noqa: E402
from textual import events  # noqa: E402
from textual._compositor import CompositorUpdate  # noqa: E402
from textual.app import App, ComposeResult  # noqa: E402
from textual.binding import BindingType  # noqa: E402
from textual.pilot import Pilot  # noqa: E402
from textual.screen import Screen  # noqa: E402
from textual.widgets import Static  # noqa: E402

from runtime.events.base import Event  # noqa: E402
from runtime.events.loop import OutputDelta, TextDelta  # noqa: E402
from support.event_streams import Script  # noqa: E402
from support.fake_backend import FakeBackend  # noqa: E402
from tui.app import LooptopApp  # noqa: E402
from tui.backend import Backend  # noqa: E402
from tui.memory import settle  # noqa: E402
from tui.widgets.grid import Grid  # noqa: E402

BEAT, FLAT_AFTER_S = 0.02, 10.0
KEY_MS, LAG_MS = 100.0, 50.0
SHOWN = "flood0"


@dataclass
class Load:
    """What is poured out."""

    runs: int
    events: int
    lines: int
    seconds: float
    fleet: bool


@dataclass
class Figures:
    """What was measured; times in milliseconds."""

    lag: list[float] = field(default_factory=list)
    key: list[float] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    written: int = 0
    poured: int = 0
    took: float = 0.0
    cpu: float = 0.0

    def tell(self, name: str) -> None:
        """Print a block."""
        print(f"{name}: {self.poured:,} events in {self.took:.1f} s")
        for what, found, limit in (("loop lag", self.lag, LAG_MS), ("key to paint", self.key, KEY_MS)):
            if found:
                p50, p99 = quantile(found, 0.5), quantile(found, 0.99)
                print(
                    f"  {what:<13} p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   max {max(found):6.1f} ms   (limit p99 {limit:.0f})"
                )
        early = [rss for at, rss in self.memory if at >= min(FLAT_AFTER_S, self.took / 2)]
        grown = (early[-1] - early[0]) / 2**20 if early else 0.0
        print(
            f"  terminal {self.written / self.took / 1024:,.0f} KiB/s   memory {early[-1] / 2**20:,.0f} MiB, "
            f"{grown:+.0f} MiB since second {min(FLAT_AFTER_S, self.took / 2):.0f}   CPU {self.cpu / self.took:.0%} of a core"
        )


def quantile(values: list[float], part: float) -> float:
    """A quantile."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


class Forgetful(FakeBackend):
    """Keeps the last events of each run only, as a dashboard's memory does: the rest would be on disk. `whole` is the fold of all."""

    kept = 500
    count = 0

    def push(self, *happened: Event) -> None:
        """Something happened."""
        super().push(*happened)
        self.count += len(happened)
        for event in happened:
            log = self.log[event.run]
            if len(log) > 2 * self.kept:
                del log[: -self.kept]


def opened(run: str) -> Script:
    """A run in its first round, with a tool running."""
    script = Script(run).open("flood").prepared(()).leg_begins("claude-sonnet-5-5").attempt_begins(1, "go")
    script.think("streaming\n")
    return script.tool("shell", {"command": "yes"}, "", finish=False)


class Source:
    """Makes the events; keeps none of them."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.scripts = [opened(f"flood{n}") for n in range(load.runs)]
        self.seq = {script.run: len(script.events) for script in self.scripts}

    def stamped(self, script: Script, event: Event, after_ms: int) -> Event:
        """The run's next event."""
        script.ms += after_ms
        self.seq[script.run] += 1
        last = script.events[-1]
        return event.stamped(script.run, self.seq[script.run], last.at, script.ms)

    def beat(self, number: int, budget: float) -> tuple[list[Event], float]:
        """What happens in one beat; `budget` carries fractions of events over to the next."""
        budget += self.load.events * BEAT
        made: list[Event] = []
        turn = number
        while budget >= 1:
            script = self.scripts[turn % len(self.scripts)]
            made.append(self.stamped(script, TextDelta(round=1, text=f"delta {number} of a text that streams\n"), 2))
            budget, turn = budget - 1, turn + 1
        if self.load.lines:
            text = "".join(
                f"output line {number} {n}: the quick brown fox\n" for n in range(int(self.load.lines * BEAT))
            )
            made.append(self.stamped(self.scripts[0], OutputDelta(step=1, text=text), 1))
        return made, budget


async def pour(source: Source, take: Callable[[list[Event]], None], figures: Figures) -> None:
    """Pour events out at the stated rate, in small bursts."""
    process, start = psutil.Process(), time.perf_counter()
    before, number, carried, due = process.cpu_times(), 0, 0.0, start
    while (now := time.perf_counter() - start) < source.load.seconds:
        made, carried = source.beat(number, carried)
        take(made)
        figures.poured += len(made)
        if number % 25 == 0:
            figures.memory.append((now, process.memory_info().rss))
        number += 1
        due += BEAT
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
    after = process.cpu_times()
    figures.took = time.perf_counter() - start
    figures.cpu = after.user - before.user + after.system - before.system


async def lags(found: list[float]) -> None:
    """How late the loop comes back."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.01)
        found.append((time.perf_counter() - before - 0.01) * 1_000)


async def keys(app: App[Any], key: str, state: Callable[[], object], found: list[float]) -> None:
    """Press a key five times a second: from the press to when it acted and everything posted before was drawn."""
    while True:
        await asyncio.sleep(0.2)
        was, before = state(), time.perf_counter()
        app.post_message(events.Key(key, key if len(key) == 1 else None))
        while state() == was:  # noqa: ASYNC110 - the wait is what is measured
            await asyncio.sleep(0)
        done = asyncio.Event()
        app.screen.call_after_refresh(done.set)
        await done.wait()
        found.append((time.perf_counter() - before) * 1_000)


def count_bytes(app: App[Any], figures: Figures) -> None:
    """Make the bytes that would go to a terminal, and count them: there is none here, so the app itself doesn't."""
    shown = app._display

    def counted(screen: Screen[Any], renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate):
            figures.written += len(renderable.render_segments(app.console).encode("utf-8", "replace"))
        shown(screen, renderable)

    app._display = counted  # type: ignore[method-assign]


async def under(
    pilot: Pilot[Any], source: Source, take: Callable[[list[Event]], None], key: str, state: Callable[[], object]
) -> Figures:
    """Measure an app while the flood runs."""
    figures = Figures()
    count_bytes(pilot.app, figures)
    settle()
    watchers = [
        asyncio.create_task(lags(figures.lag)),
        asyncio.create_task(keys(pilot.app, key, state, figures.key)),
    ]
    await pour(source, take, figures)
    for watcher in watchers:
        watcher.cancel()
    return figures


async def dashboard(load: Load) -> Figures:
    """looptop."""
    source = Source(load)
    backend = Forgetful({script.run: script.events for script in source.scripts})

    async def connect() -> Backend:
        return backend

    async def then(_: Backend) -> str | None:
        return None if load.fleet else SHOWN

    app = LooptopApp(connect, then)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(1.0)
        from tui.screens.run import RunScreen

        screen = app.screen
        if isinstance(screen, RunScreen):
            stream = screen.panes.stream
            assert stream is not None
            figures = await under(pilot, source, lambda made: backend.push(*made), "w", lambda: stream.wrapped)
            while screen.view.seq < source.seq[SHOWN]:
                await pilot.pause(0.05)
            assert screen.view == backend.views[SHOWN], "the final view misses something"
        else:
            grid = app.screen.query_one("#runs", Grid)
            figures = await under(pilot, source, lambda made: backend.push(*made), "down", lambda: grid.cursor_key)
            await pilot.pause(0.3)
            assert {run: app.runs[run] for run in source.seq} == {run: backend.summary(run) for run in source.seq}
    return figures


class Plain(App[None]):
    """A text that is replaced twenty times a second, and a key that counts."""

    BINDINGS: ClassVar[list[BindingType]] = [("w", "press", "Press"), ("down", "press", "Press")]

    def __init__(self) -> None:
        super().__init__()
        self.last = self.pressed = 0

    def compose(self) -> ComposeResult:
        """One widget."""
        yield Static(id="text")

    def on_mount(self) -> None:
        """Begin."""
        self.set_interval(0.05, lambda: self.query_one("#text", Static).update(f"{self.last} events"))

    def action_press(self) -> None:
        """A key."""
        self.pressed += 1


async def plain(load: Load) -> Figures:
    """The floor: the same events are made and counted, and nothing is done with them."""
    source, app = Source(load), Plain()

    def take(made: list[Event]) -> None:
        app.last += len(made)

    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.5)
        return await under(pilot, source, take, "w", lambda: app.pressed)


def main() -> int:
    """Measure both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--events", type=int, default=4_000)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--fleet", action="store_true")
    load = Load(**vars(parser.parse_args()))
    measured: tuple[tuple[str, Callable[[Load], Coroutine[Any, Any, Figures]]], ...] = (
        ("plain app", plain),
        ("looptop", dashboard),
    )
    found: dict[str, Figures] = {}
    for name, measure in measured:
        found[name] = asyncio.run(measure(load))
        found[name].tell(name)
    own = found["looptop"]
    return int(quantile(own.key, 0.99) > KEY_MS or quantile(own.lag, 0.99) > LAG_MS)


if __name__ == "__main__":
    sys.exit(main())
