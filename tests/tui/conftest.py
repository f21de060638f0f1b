"""The dashboard under a pilot, on sample runs and a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from support.fake_backend import FakeBackend
from support.sample_runs import NOW, fleet
from support.screens import Opener, settle
from tui.app import LooptopApp
from tui.backend import Backend


@pytest.fixture
def backend() -> FakeBackend:
    """A backend with a handful of runs."""
    return FakeBackend(fleet())


@pytest.fixture
def opened(backend: FakeBackend) -> Opener:
    """Open the dashboard, at a run if one is named."""

    @asynccontextmanager
    async def opener(
        run: str | None = None, size: tuple[int, int] = (120, 40), **options: Any
    ) -> AsyncIterator[Pilot[int]]:
        async def connect() -> Backend:
            return backend

        async def then(_: Backend) -> str | None:
            return run

        app = LooptopApp(connect, then, now=lambda: NOW, frame_s=0.0, **options)
        async with app.run_test(size=size, notifications=True) as pilot:
            await settle(pilot)
            yield pilot

    return opener
