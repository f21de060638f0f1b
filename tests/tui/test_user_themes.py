"""Themes of the user's own: checked with one sentence, taken up while the dashboard runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.errors import UsageError
from support.fake_backend import FakeBackend
from support.sample_runs import fleet
from tui.app import LooptopApp
from tui.backend import Backend
from tui.user_themes import UserThemes, theme_of

MINE = """
name: mine
dark: true
primary: "#5cc0c7"
background: "#101010"
foreground: "#e0e0e0"
variables:
  looptop-thinking: "#a0a0ff"
"""


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def test_a_theme_is_read(tmp_path: Path) -> None:
    theme = theme_of(written(tmp_path, MINE))
    assert (theme.name, theme.primary, theme.variables) == ("mine", "#5CC0C7", {"looptop-thinking": "#A0A0FF"})
    assert theme_of(written(tmp_path, "primary: red", "plain.yml")).name == "plain"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("primary: [", "is not YAML"),
        ("- a\n- b", "no table of keys"),
        ("", "no table of keys"),
        ("name: mine", "has no primary colour"),
        ("primary: reddish", "primary is 'reddish'"),
        ("primary: 5", "primary is 5"),
        ("primary: red\ndark: perhaps", "dark is 'perhaps'"),
        ("primary: red\nprimry: blue", "has the key 'primry'"),
        ("primary: red\nname: 'A B'", "is called 'A B'"),
        ("primary: red\nvariables: {looptop-thinkin: blue}", "Did you mean 'looptop-thinking'"),
        ("primary: red\nvariables: {looptop-ok: bluish}", "variables.looptop-ok is 'bluish'"),
        ("primary: !!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        theme_of(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_told_of_once_until_it_changes(tmp_path: Path) -> None:
    themes = UserThemes(tmp_path)
    assert themes.read() == ([], [])
    path = written(tmp_path, "primary: reddish")
    assert len(themes.read()[1]) == 1
    assert themes.read() == ([], [])
    path.write_text("primary: blue # now")
    assert [theme.name for theme in themes.read()[0]] == ["mine"]
    path.unlink()
    assert themes.read() == ([], [])
    assert themes.themes == {}


async def test_a_theme_in_use_is_drawn_anew_when_its_file_changes(tmp_path: Path) -> None:
    backend = FakeBackend(fleet())

    async def connect() -> Backend:
        return backend

    path = written(tmp_path, MINE)
    app = LooptopApp(connect, theme_folder=tmp_path)
    async with app.run_test() as pilot:
        await pilot.pause()
        app.theme = "mine"
        await pilot.pause()
        before = app.palette.background
        path.write_text(MINE.replace("#101010", "#202838"))
        os.utime(path, ns=(1, 1))
        app.look_for_themes()
        await pilot.pause()
        assert app.palette.background != before
        assert app.palette.background.hex == "#202838"
        written(tmp_path, "primary: reddish", "broken.yaml")
        app.look_for_themes()
        await pilot.pause()
        assert app.theme == "mine"
