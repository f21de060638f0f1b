"""A repository and a home outside of the temporary folders: where commands would find them if nothing hid them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that is below none of the temporary ones; a sandbox replaces those whole."""
    for parent in (Path("/srv"), Path("/opt"), Path(__file__).resolve().parents[4] / "build"):
        try:
            parent.mkdir(exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="looptop-test-", dir=parent))
        except OSError:
            continue
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
        return
    pytest.skip("no folder outside of the temporary ones can be written")
