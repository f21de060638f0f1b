"""Every theme can be read: contrast of each role against every ground that text stands on."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from themes.looks import LOOKS
from tui.widgets.palette import ANSI, BASES, CONTRAST, DECORATION, Palette, contrast

OPAQUE = [theme for theme in (*LOOKS, *BUILTIN_THEMES.values()) if not theme.ansi and not theme.name.endswith("ansi")]


def palette(theme: Theme) -> Palette:
    return Palette({**theme.to_color_system().generate(), **theme.variables})


@pytest.mark.parametrize("theme", OPAQUE, ids=lambda theme: theme.name)
def test_text_of_every_role_can_be_read_on_ground_cursor_and_surface(theme: Theme) -> None:
    made = palette(theme)
    variables = theme.to_color_system().generate()
    grounds = [made.background, Color.from_rich_color(made.cursor.bgcolor), Color.parse(variables["surface"])]
    if contrast(made.foreground, made.background) < CONTRAST:
        pytest.skip(f"{theme.name}'s own foreground has less")
    for role in BASES:
        color = Color.from_rich_color(made[role].color)
        for ground in grounds:
            best = contrast(made.foreground, ground)
            assert contrast(color, ground) >= min(CONTRAST, best) - 0.05, (role, ground)


@pytest.mark.parametrize("theme", LOOKS, ids=lambda theme: theme.name)
def test_our_own_themes_keep_the_contrast_everywhere(theme: Theme) -> None:
    made = palette(theme)
    variables = theme.to_color_system().generate()
    grounds = [
        made.background,
        Color.from_rich_color(made.cursor.bgcolor),
        *(Color.parse(variables[name]) for name in ("surface", "panel")),
    ]
    for role in BASES:
        for ground in grounds:
            assert contrast(Color.from_rich_color(made[role].color), ground) >= CONTRAST, (role, ground.hex)


def test_contrast_as_the_standard_has_it() -> None:
    assert contrast(Color(0, 0, 0), Color(255, 255, 255)) == pytest.approx(21)
    assert contrast(Color(119, 119, 119), Color(255, 255, 255)) == pytest.approx(4.48, abs=0.01)


def test_themes_that_leave_colours_to_the_terminal_use_its_names() -> None:
    made = palette(BUILTIN_THEMES["ansi-dark"])
    color = made["ok"].color
    assert color is not None
    assert color.name == "green"
    assert set(ANSI) | {"text"} == set(BASES) | set(DECORATION)


def test_there_is_a_theme_for_every_need() -> None:
    assert len({theme.name for theme in LOOKS}) >= 6
    assert {theme.dark for theme in LOOKS} == {True, False}


def test_the_high_contrast_theme_keeps_seven_to_one() -> None:
    beacon = next(theme for theme in LOOKS if theme.name == "beacon")
    made, variables = palette(beacon), beacon.to_color_system().generate()
    for role in BASES:
        for ground in (made.background, *(Color.parse(variables[name]) for name in ("surface", "panel"))):
            assert contrast(Color.from_rich_color(made[role].color), ground) >= 7, role


def test_the_theme_without_colour_has_none() -> None:
    graphite = next(theme for theme in LOOKS if theme.name == "graphite")
    colours = (graphite.background, graphite.foreground, graphite.success, graphite.error, graphite.warning)
    assert all(Color.parse(colour or "").hsl.s == 0 for colour in colours)


@pytest.mark.parametrize("name", ["compass"])
def test_good_and_bad_differ_for_every_kind_of_colour_vision(name: str) -> None:
    theme = next(theme for theme in LOOKS if theme.name == name)
    good, bad = Color.parse(theme.success or ""), Color.parse(theme.error or "")
    # Protanopia and deuteranopia leave the difference between blue and yellow: what is left of red and green is one value.
    assert abs((good.b - (good.r + good.g) / 2) - (bad.b - (bad.r + bad.g) / 2)) > 80
    assert good.b > good.r
    assert bad.r > bad.b
