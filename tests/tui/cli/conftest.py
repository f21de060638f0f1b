"""The command line with a home of its own, and a small repository to point it at."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import CommandLine, clean_environment
from support.repositories import CHECKED, make_repository


@pytest.fixture
def looptop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[CommandLine]:
    """The command line, far from the user's own keys, settings and home."""
    env = clean_environment(tmp_path)
    for name in set(os.environ) - set(env):
        monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    handlers = list(logging.getLogger().handlers)
    yield CommandLine(tmp_path, capsys)
    logging.getLogger().handlers[:] = handlers


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository whose check fails until value.txt says fixed."""
    return make_repository(tmp_path / "repo", CHECKED)
