"""A place where verify steps run, and the tools of this environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.verify_bench import Bench, Output


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty bench."""
    return Bench(tmp_path)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    """Run a module of this environment in the test's folder and return all that it printed."""

    def run(*args: str, **env: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *args],
            cwd=tmp_path,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    return run
