"""Opens the store for commands that only look, or that act on finished runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from store.store import Store, open_store
from tui.places import home_of
from tui.recovery import recover_lost

T = TypeVar("T")


def with_store(work: Callable[[Store, Path], Awaitable[T]]) -> T:
    """Open the store, settle runs whose process died, do the work, close the store. Raises LooptopError."""

    async def main() -> T:
        home = home_of(os.environ)
        async with open_store(home) as store:
            await recover_lost(store)
            return await work(store, home)

    return asyncio.run(main())
