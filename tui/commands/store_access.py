"""Opens the store for commands that only look, or that act on finished runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from store.store import Store, open_store
from tui.places import home_of

T = TypeVar("T")


def with_store(work: Callable[[Store, Path], Awaitable[T]]) -> T:
    """Open the store, do the work, close it. Raises LooptopError."""

    async def main() -> T:
        home = home_of(os.environ)
        async with open_store(home) as store:
            return await work(store, home)

    return asyncio.run(main())
