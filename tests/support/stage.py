"""A cockpit with a scripted model on a small repository: what tests of the loop act on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from runtime.events.base import Event
from runtime.events.loop import RunFinished
from runtime.events.values import RunSettings, VerifySpec
from runtime.loop.services import ModelContext
from runtime.models.base import Model
from support.repositories import CHECK, CHECKED, make_repository
from support.scripted_model import ScriptedModel, Step
from tui.compose import Cockpit, HostSettings, RunHandle, RunRequest, open_cockpit

E = TypeVar("E", bound=Event)


@dataclass
class Stage:
    """One cockpit, one repository, one model; every event of every run in order."""

    cockpit: Cockpit
    repo: Path
    model: ScriptedModel
    events: list[Event] = field(default_factory=list)

    async def start(self, task: str = "", *, verify: Sequence[str] = (CHECK,), **settings: Any) -> RunHandle:
        """Start a run."""
        request = RunRequest(
            self.repo,
            task,
            RunSettings(**{"model": self.model.name, **settings}),
            tuple(VerifySpec(command=command) for command in verify),
        )
        return await self.cockpit.start(request)

    async def run(self, task: str = "", *, verify: Sequence[str] = (CHECK,), **settings: Any) -> RunFinished:
        """Start a run and wait for its end."""
        return await (await self.start(task, verify=verify, **settings)).done

    async def until(self, kind: type[E]) -> E:
        """Wait for the first event of a type, however long ago it came."""
        seen: asyncio.Future[E] = asyncio.get_running_loop().create_future()

        def look(event: Event) -> None:
            if isinstance(event, kind) and not seen.done():
                seen.set_result(event)

        unsubscribe = self.cockpit.bus.subscribe(look)
        for event in self.events:
            look(event)
        try:
            async with asyncio.timeout(30):
                return await seen
        finally:
            unsubscribe()

    def of(self, kind: type[E]) -> list[E]:
        """The events of a type."""
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def stage(
    folder: Path, steps: Sequence[Step], files: dict[str, str] | None = None, settings: HostSettings | None = None
) -> AsyncIterator[Stage]:
    """Set a stage up in a folder."""
    repo = folder / "repo"
    if not repo.exists():
        make_repository(repo, CHECKED if files is None else files)
    model = ScriptedModel(steps)

    async def make(name: str, context: ModelContext) -> Model:
        return model

    env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use"}
    async with open_cockpit(folder / "home", settings, env) as cockpit:
        cockpit._make_model = make  # type: ignore[method-assign]
        played = Stage(cockpit, repo, model)
        cockpit.bus.subscribe(played.events.append)
        yield played
