"""A store in a folder of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from store.database import Database
from store.home import FILE_NAME
from store.store import Store, open_store


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def store(home: Path) -> AsyncIterator[Store]:
    async with open_store(home) as opened:
        yield opened


@pytest.fixture
async def database(home: Path) -> AsyncIterator[Database]:
    opened = Database(home / FILE_NAME)
    await opened.open()
    try:
        yield opened
    finally:
        await opened.close()
