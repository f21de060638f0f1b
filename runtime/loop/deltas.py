"""Batches what streams in, so that a model's tokens become a few events a second and not one each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

BATCH_SECONDS = 0.05
BATCH_CHARACTERS = 8_000


class DeltaBatch:
    """Collects pieces of one stream and hands them on every 50 ms, or sooner when much has come."""

    def __init__(self, flush: Callable[[str], None]) -> None:
        self._flush = flush
        self._parts: list[str] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        """Take a piece; must be called from the event loop."""
        if not text:
            return
        self._parts.append(text)
        self._size += len(text)
        if self._size >= BATCH_CHARACTERS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self.flush)

    def flush(self) -> None:
        """Hand on what there is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._parts:
            text = "".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._flush(text)
