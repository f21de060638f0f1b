"""A category of tasks maps to a model and the one to escalate to; an option beats it, and it beats the settings' model."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import UsageError
from runtime.events.values import RunSettings
from tui.project import ProjectSettings

CONFIGURED = (
    '{ syntax = { model = "local", escalate_to = "claude-haiku-5-5" }, refactor = { model = "claude-opus-5-5" } }'
)


def settings(folder: Path, category: str | None, table: str = CONFIGURED, **options: object) -> RunSettings:
    env = {"HOME": str(folder), "LOOPTOP_CONFIG": str(folder / "none.toml"), "LOOPTOP_MODEL": "claude-sonnet-5-5"}
    env |= {"LOOPTOP_CATEGORIES": table, "LOOPTOP_HOME": str(folder)}
    return ProjectSettings(env, supervised=False).of(folder, options, category).run


@pytest.mark.parametrize(
    ("category", "model", "stronger"),
    [
        ("syntax", "local", "claude-haiku-5-5"),
        ("refactor", "claude-opus-5-5", None),
        ("unheard of", "claude-sonnet-5-5", None),
        (None, "claude-sonnet-5-5", None),
    ],
)
def test_a_category_chooses_the_model(tmp_path: Path, category: str | None, model: str, stronger: str | None) -> None:
    run = settings(tmp_path, category)
    assert (run.model, run.escalate_to, run.category) == (model, stronger, category)


def test_an_option_beats_it(tmp_path: Path) -> None:
    run = settings(tmp_path, "syntax", model="qwen3-coder")
    assert (run.model, run.escalate_to) == ("qwen3-coder", "claude-haiku-5-5")


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("{ syntax = 3 }", "must be a table"),
        ("{ syntax = {} }", "must be a table"),
        ('{ syntax = { modell = "local" } }', "'modell', which is not known"),
        ('{ syntax = { model = "" } }', "a text that isn't empty"),
        ("{ syntax = { model = 5 } }", "a text that isn't empty"),
    ],
)
def test_nonsense_is_one_sentence(tmp_path: Path, table: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        settings(tmp_path, "syntax", table)
