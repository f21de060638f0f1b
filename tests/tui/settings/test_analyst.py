"""Which model sums up a bad end: the cheap one by default, a top one only where somebody says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import UsageError
from tui.compose import HostSettings, RunRequest, check_request
from tui.project import ProjectSettings

KEY = {"ANTHROPIC_API_KEY": "test-key-of-no-use"}


def analyst(folder: Path, model: str = "claude-opus-5-5", *, named: str = "", **settings: str) -> str:
    if named:
        settings["model"] = named
    env = {**KEY, "LOOPTOP_HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "none"), "HOME": str(folder)}
    env |= {f"LOOPTOP_FAILURE_ANALYSIS_{key.upper()}": value for key, value in settings.items()}
    return ProjectSettings(env, supervised=False).of(folder, {"model": model}).run.failure_analysis


def test_the_default_is_the_cheap_model_and_never_the_runs_own_top_model(tmp_path: Path) -> None:
    assert analyst(tmp_path) == "anthropic/claude-haiku-5-5"
    assert analyst(tmp_path, model="anthropic/claude-opus-5-5") == "anthropic/claude-haiku-5-5"


@pytest.mark.parametrize("name", ["claude-opus-5-5", "anthropic/claude-opus-5-5"])
def test_a_top_model_can_be_set_back(tmp_path: Path, name: str) -> None:
    assert analyst(tmp_path, "claude-haiku-5-5", named=name) == "anthropic/claude-opus-5-5"


@pytest.mark.parametrize("model", ["local", "Qwen/Qwen3-Coder-30B", "openai/gpt-5"])
def test_by_itself_it_takes_nothing_to_another_provider(tmp_path: Path, model: str) -> None:
    assert analyst(tmp_path, model) == ""
    assert analyst(tmp_path, model, when="always") == "anthropic/claude-haiku-5-5"


def test_never_is_never(tmp_path: Path) -> None:
    assert analyst(tmp_path, when="never") == ""


def test_a_server_of_ones_own_needs_a_name(tmp_path: Path) -> None:
    assert analyst(tmp_path, "Qwen/Qwen3", provider="openai", named="qwen-small") == "openai/qwen-small"
    with pytest.raises(UsageError, match="model is not set"):
        analyst(tmp_path, "Qwen/Qwen3", provider="openai")


async def test_a_key_that_it_needs_is_missed_before_anything_is_made(tmp_path: Path) -> None:
    from runtime.events.values import RunSettings, VerifySpec
    from support.repositories import CHECK, CHECKED, make_repository

    repo = make_repository(tmp_path / "repo", CHECKED)
    settings = RunSettings(model="local", failure_analysis="anthropic/claude-haiku-5-5")
    request = RunRequest(repo, "", settings, (VerifySpec(command=CHECK),))
    with pytest.raises(UsageError, match="needs an API key"):
        await check_request(request, HostSettings(), {})
