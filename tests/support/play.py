"""The dashboard on sample runs, to look at: `python -m support.play [--live] [RUN]`, with `tests` on the path.

With --live the main run's events happen one after the other, in their own time.
"""

from __future__ import annotations

import asyncio
import itertools
import sys

from support.fake_backend import FakeBackend
from support.sample_runs import NOW, fleet, hostile_run, main_run
from tui.app import LooptopApp
from tui.backend import Backend


async def play(backend: FakeBackend) -> None:
    """Let the live run happen."""
    events = main_run("live1").events
    for before, event in itertools.pairwise(events):
        await asyncio.sleep((event.mono_ms - before.mono_ms) / 1_000)
        backend.push(event)


def main() -> None:
    """Run the app."""
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    runs = {**fleet(), "h0571": hostile_run().events}
    if "--live" in sys.argv:
        runs["live1"] = main_run("live1").events[:1]
    backend = FakeBackend(runs, recorded="--recorded" in sys.argv)
    tasks = []

    async def connect() -> Backend:
        return backend

    async def then(_: Backend) -> str | None:
        if "--live" in sys.argv:
            tasks.append(asyncio.create_task(play(backend), name="player"))
        return names[0] if names else None

    LooptopApp(connect, then, now=lambda: NOW).run()


if __name__ == "__main__":
    main()
