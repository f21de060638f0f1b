"""The models of the New run form with the prices of ordinary prompts, not those of a dearer tier."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui.compose import HostSettings, open_cockpit
from tui.desk import Desk
from tui.project import ProjectSettings


async def test_prices_are_those_of_the_first_tier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-of-no-use")
    async with open_cockpit(tmp_path / "home", HostSettings(), os.environ) as cockpit:
        desk = Desk(cockpit, ProjectSettings(os.environ, supervised=True))
        prices = {one.name: (one.input_micros, one.output_micros) for one in await desk.models()}
    # Haiku 5.5 costs five times as much once a prompt passes 100,000 tokens.
    assert prices == {
        "claude-sonnet-5-5": (2_000_000, 10_000_000),
        "claude-haiku-5-5": (100_000, 500_000),
        "claude-opus-5-5": (4_000_000, 20_000_000),
        "local": (0, 0),
    }
