"""From a key press to the run's answer, with fifty real runs streaming into the dashboard and the store.

Run: `.venv/bin/python tests/benchmarks/command_latency.py [RUNS] [PRESSES]`. Each press pauses the run on screen or lets it go on; the
time ends with the run's own event (limits: 100 ms at the median, 250 ms at the 99th percentile). Beside it: the same presses with
one run, as the floor.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from textual import events as keys  # noqa: E402

from runtime.events.base import Event  # noqa: E402
from runtime.events.supervision import CommandAccepted  # noqa: E402
from runtime.events.values import RunSettings, VerifySpec  # noqa: E402
from runtime.loop.services import ModelContext  # noqa: E402
from runtime.models.base import Model, Piece, Request, TextPiece, UsageSoFar  # noqa: E402
from runtime.usage import Usage  # noqa: E402
from support.repositories import CHECK, CHECKED, make_repository  # noqa: E402
from tui.app import LooptopApp  # noqa: E402
from tui.backend import Backend  # noqa: E402
from tui.compose import HostSettings, RunRequest, open_cockpit  # noqa: E402
from tui.desk import Desk  # noqa: E402
from tui.project import ProjectSettings  # noqa: E402

PIECE_S = 0.02
MEDIAN_MS, P99_MS = 100.0, 250.0


class Streaming:
    """A model that streams words without end."""

    provider = "anthropic"

    def __init__(self, name: str) -> None:
        self.name = name

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Fifty pieces a second."""
        yield UsageSoFar(usage=Usage(input=900, output=1, cache_read=0, cache_write_5m=0, cache_write_1h=0))
        number = 0
        while True:
            number += 1
            yield TextPiece(text=f"word {number} of a reply that goes on and on\n")
            await asyncio.sleep(PIECE_S)

    async def close(self) -> None:
        """Nothing to let go of."""


async def measure(folder: Path, runs: int, presses: int) -> list[float]:
    """Milliseconds of each press."""
    repo = make_repository(folder / "repo", CHECKED)
    env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use"}
    exits = AsyncExitStack()
    cockpit = await exits.enter_async_context(open_cockpit(folder / "home", HostSettings(), env))

    async def make(name: str, context: ModelContext) -> Model:
        return Streaming(name)

    cockpit._make_model = make  # type: ignore[method-assign]
    desk = Desk(cockpit, ProjectSettings(env, supervised=True))
    desk.keep(exits)
    settings = RunSettings(model="claude-sonnet-5-5", budget_tokens=None)
    request = RunRequest(repo, "", settings, (VerifySpec(command=CHECK),))
    handles = [await cockpit.start(request) for _ in range(runs)]
    watched = handles[0].run

    async def connect() -> Backend:
        return desk

    async def then(_: Backend) -> str | None:
        return watched

    app = LooptopApp(connect, then)
    found: list[float] = []
    answered = asyncio.Event()

    def look(event: Event) -> None:
        if isinstance(event, CommandAccepted) and event.run == watched:
            answered.set()

    cockpit.bus.subscribe(look)
    async with app.run_test(size=(120, 40)) as pilot:
        while sum(bool(view.rounds) for view in desk.views.values()) < runs:
            await pilot.pause(0.1)
        await pilot.pause(1.0)
        for _ in range(presses):
            answered.clear()
            before = time.perf_counter()
            app.post_message(keys.Key("p", "p"))
            await answered.wait()
            found.append((time.perf_counter() - before) * 1_000)
            await asyncio.sleep(0.07)
        await desk.close(True)
    return found


def told(name: str, found: list[float]) -> tuple[float, float]:
    """Print and return median and 99th percentile."""
    ordered = sorted(found)
    median, last = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(f"{name:<22} p50 {median:6.1f} ms   p99 {last:6.1f} ms   max {ordered[-1]:6.1f} ms   ({len(found)} presses)")
    return median, last


def main() -> int:
    """Measure floor and load, one after the other."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    presses = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as folder:
        told("one run", asyncio.run(measure(Path(folder) / "one", 1, presses)))
        median, last = told(f"{runs} runs streaming", asyncio.run(measure(Path(folder) / "many", runs, presses)))
    print(f"limits                 p50 {MEDIAN_MS:6.1f} ms   p99 {P99_MS:6.1f} ms")
    return int(median > MEDIAN_MS or last > P99_MS)


if __name__ == "__main__":
    sys.exit(main())
