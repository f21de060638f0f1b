"""Layers of settings: later ones win, each value knows its origin, what is wrong is told with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import UsageError
from runtime.settings import Settings, load_settings, parse_settings
from runtime.settings_check import checked, value_from_text
from runtime.settings_keys import SETTINGS


def load(
    folder: Path, user: str = "", project: str = "", env: dict[str, str] | None = None, **options: Any
) -> Settings:
    """Settings from texts."""
    (folder / "user.toml").write_text(user)
    (folder / "looptop.toml").write_text(project)
    return load_settings(folder / "user.toml", folder, env or {}, options)


def origin(settings: Settings, key: str) -> str:
    """Where a value came from."""
    return dict(settings.items())[key].origin


def test_later_layers_win_and_say_so(tmp_path: Path) -> None:
    low = load(tmp_path)
    assert (low["max_rounds"], origin(low, "max_rounds")) == (40, "default")
    user = load(tmp_path, "max_rounds = 11")
    assert (user["max_rounds"], origin(user, "max_rounds")) == (11, str(tmp_path / "user.toml"))
    project = load(tmp_path, "max_rounds = 11", "max_rounds = 12")
    assert (project["max_rounds"], origin(project, "max_rounds")) == (12, str(tmp_path / "looptop.toml"))
    env = load(tmp_path, "max_rounds = 11", "max_rounds = 12", {"LOOPTOP_MAX_ROUNDS": "13"})
    assert (env["max_rounds"], origin(env, "max_rounds")) == (13, "LOOPTOP_MAX_ROUNDS")
    option = load(tmp_path, "max_rounds = 11", "max_rounds = 12", {"LOOPTOP_MAX_ROUNDS": "13"}, max_rounds=14)
    assert (option["max_rounds"], origin(option, "max_rounds")) == (14, "--max-rounds")


def test_an_option_that_was_not_given_changes_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, "max_rounds = 11", max_rounds=None)["max_rounds"] == 11


def test_no_files_at_all(tmp_path: Path) -> None:
    settings = load_settings(tmp_path / "none" / "config.toml", tmp_path, {})
    assert {key: value.value for key, value in settings.items()} == {k: s.default for k, s in SETTINGS.items()}


def test_every_default_passes_its_own_check() -> None:
    for setting in SETTINGS.values():
        if setting.default is not None:
            assert checked(setting, setting.default, setting.key) == setting.default


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("yes", True), ("ON", True), ("true", True), ("0", False), ("off", False)]
)
def test_a_flag_from_the_environment(tmp_path: Path, text: str, value: bool) -> None:
    assert load(tmp_path, env={"LOOPTOP_INCLUDE_DIRTY": text})["include_dirty"] is value


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, "model = 'local'", env={"LOOPTOP_MODEL": ""})["model"] == "local"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("LOOPTOP_MAX_ROUNDS", "x", "LOOPTOP_MAX_ROUNDS is 'x'. It must be a whole number."),
        ("LOOPTOP_MAX_ROUNDS", "1.5", "LOOPTOP_MAX_ROUNDS is 1.5."),
        ("LOOPTOP_BUDGET_USD", "-1", "LOOPTOP_BUDGET_USD is -1."),
        ("LOOPTOP_BUDGET_USD", "true", "LOOPTOP_BUDGET_USD is True."),
        ("LOOPTOP_INCLUDE_DIRTY", "maybe", "true or false"),
        ("LOOPTOP_WORKSPACE_SHARE", ".venv", "a list like"),
        ("LOOPTOP_TTL", "2h", "one of 5m, 1h"),
        ("LOOPTOP_BUDGET_TOKEN", "5", "Did you mean LOOPTOP_BUDGET_TOKENS?"),
        ("LOOPTOP_HOMES", "/x", "Did you mean LOOPTOP_HOME?"),
    ],
)
def test_variables_that_are_wrong(tmp_path: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        load(tmp_path, env={name: text})
    assert told in str(raised.value)


def test_variables_of_others_are_left_alone(tmp_path: Path) -> None:
    load(tmp_path, env={"LOOPTOP_RUN": "r1", "LOOPTOP_HOME": "/x", "LOOPTOP_SOMETHING_ELSE_ENTIRELY": "1"})


def test_a_project_may_not_say_where_keys_are_sent(tmp_path: Path) -> None:
    assert load(tmp_path, "base_url = 'http://mine/v1'")["base_url"] == "http://mine/v1"
    with pytest.raises(UsageError, match="a project's file can't"):
        load(tmp_path, "", "base_url = 'http://theirs/v1'")


def test_the_longest_forms(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "[caps.defaults]\nqwen = 8\n[prices.'a.b/c']\ninput = 1\noutput = 2\n",
        "verify = 'pytest -q'\n[workspace]\ncopy = ['.env.test']\n",
    )
    assert settings["caps.defaults"] == {"qwen": 8}
    assert settings["prices"] == {"a.b/c": {"input": 1, "output": 2}}
    assert settings["verify"] == [{"command": "pytest -q"}]
    assert settings["workspace.copy"] == [".env.test"]


def test_a_byte_order_mark_is_no_error() -> None:
    assert parse_settings("\ufeffmax_rounds = 3", "x") == {"max_rounds": 3}


def told(act: Callable[[], object]) -> str:
    """What a call refuses with; empty where it goes through."""
    try:
        act()
    except UsageError as error:
        return str(error)
    return ""


@given(st.text(max_size=200))
def test_any_text_is_settings_or_told(text: str) -> None:
    words = told(lambda: parse_settings(text, "some.toml"))
    assert not words or "some.toml" in words


@given(
    st.sampled_from(sorted(SETTINGS)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
)
def test_any_value_is_one_within_bounds_or_told(key: str, value: Any) -> None:
    setting = SETTINGS[key]
    words = told(lambda: checked(setting, value, "here"))
    assert not words or words.startswith("here")
    if not words and setting.low is not None and setting.high is not None:
        assert setting.low <= checked(setting, value, "here") <= setting.high


@given(st.sampled_from(sorted(SETTINGS)), st.text(max_size=30))
def test_any_argument_is_a_value_or_told(key: str, text: str) -> None:
    words = told(lambda: checked(SETTINGS[key], value_from_text(SETTINGS[key], text, "here"), "here"))
    assert not words or words.startswith("here")


def test_every_number_has_both_bounds() -> None:
    numbers = [setting for setting in SETTINGS.values() if setting.kind in ("count", "number")]
    assert all(setting.low is not None and setting.high is not None for setting in numbers)


@pytest.mark.parametrize(
    ("user", "project", "holds"),
    [
        ("", 'approval = "ask"', "ask"),
        ('approval = "ask"', 'approval = "read-only"', "read-only"),
        ('approval = "ask"', 'approval = "auto"', "ask"),
        ('approval = "read-only"', 'approval = "ask"', "read-only"),
    ],
)
def test_a_project_may_make_approval_stricter_and_never_looser(
    tmp_path: Path, user: str, project: str, holds: str
) -> None:
    settings = load(tmp_path, user, project)
    assert settings["approval"] == holds
    name = "looptop.toml" if holds in project else "user.toml"
    assert settings.origin("approval") == origin(settings, "approval") == str(tmp_path / name)


def test_your_own_variable_or_option_decides_over_a_projects_approval(tmp_path: Path) -> None:
    assert load(tmp_path, "", 'approval = "read-only"', {"LOOPTOP_APPROVAL": "ask"})["approval"] == "ask"
    assert load(tmp_path, "", 'approval = "read-only"', approval="auto")["approval"] == "auto"
    with pytest.raises(UsageError, match="auto, ask, read-only"):
        load(tmp_path, 'approval = "maybe"')
