"""Limits of requests, tokens and parallel calls come from the settings, and never hold the embedded model back."""

from __future__ import annotations

from pathlib import Path

from runtime.models.limiter import Limiter, Limits
from runtime.settings import load_settings
from support.scripted_model import ScriptedModel
from tui.project import host_settings


def rates(folder: Path, **env: str) -> Limits:
    return host_settings(load_settings(folder / "none.toml", None, env)).rates


def test_without_a_setting_only_parallel_calls_are_bounded(tmp_path: Path) -> None:
    assert rates(tmp_path) == Limits(16, None, None)


def test_limits_are_taken_from_the_settings(tmp_path: Path) -> None:
    env = {"PARALLEL": "3", "REQUESTS_PER_MINUTE": "50", "TOKENS_PER_MINUTE": "40000"}
    assert rates(tmp_path, **{f"LOOPTOP_TRANSPORT_{name}": text for name, text in env.items()}) == Limits(3, 50, 40_000)


def test_the_embedded_model_has_no_minute_to_wait_for() -> None:
    limiter = Limiter(Limits(4, requests=1, tokens=10), clock=lambda: 100.0)
    embedded, claude = ScriptedModel([], "local"), ScriptedModel([])
    embedded.provider = "local"
    lane = limiter.lane(embedded)
    assert [limiter.reserve(lane, 1_000) for _ in range(3)] == [0.0, 0.0, 0.0]
    lane = limiter.lane(claude)
    assert [limiter.reserve(lane, 5) for _ in range(2)] == [0.0, 60.0]
