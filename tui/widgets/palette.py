"""From roles to styles: the one place where a theme's colours become looks of text.

A theme may set any `looptop-ROLE` variable; what it leaves out is derived from its ordinary colours and moved towards the
foreground until it can be read (4.5:1, the contrast that WCAG 2.2 asks of text).
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.color import Color

CONTRAST = 4.5
BASES: dict[str, tuple[str, str]] = {
    "text": ("foreground", ""),
    "strong": ("foreground", "bold"),
    "muted": ("foreground 64%", ""),
    "head": ("foreground 64%", ""),
    "title": ("accent", "bold"),
    "tab-on": ("accent", "bold underline"),
    "accent": ("accent", ""),
    "key": ("accent", "bold"),
    "link": ("secondary", ""),
    "model": ("secondary", ""),
    "ok": ("success", ""),
    "bad": ("error", ""),
    "bad-strong": ("error", "bold"),
    "warn": ("warning", ""),
    "warn-strong": ("warning", "bold"),
    "live": ("success", "bold"),
    "stale": ("foreground 64%", "italic"),
    "thinking": ("foreground 64%", "italic"),
    "user": ("accent", ""),
    "tool": ("secondary", ""),
    "fresh": ("warning", ""),
    "written": ("secondary", ""),
    "read": ("success", ""),
    "added": ("success", ""),
    "removed": ("error", ""),
    "hunk": ("secondary", ""),
    "match": ("warning", "reverse"),
}
DECORATION = {"faint": 0.30, "rule": 0.22}
"""Roles of lines and empty parts of bars, which nobody reads: share of the foreground over the background."""


def contrast(a: Color, b: Color) -> float:
    """Contrast ratio of two colours, 1..21, as WCAG 2.2 defines it."""

    def luminance(color: Color) -> float:
        parts = (part / 255 for part in color.rgb)
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def readable(color: Color, background: Color, towards: Color) -> Color:
    """The colour, moved towards another one only as far as it takes to be read on the background."""
    for step in range(21):
        moved = color.blend(towards, step / 20)
        if contrast(moved, background) >= CONTRAST:
            return moved
    return towards


ANSI = {
    "muted": "bright_black",
    "head": "bright_black",
    "faint": "bright_black",
    "rule": "bright_black",
    "stale": "bright_black italic",
    "thinking": "bright_black italic",
    "accent": "cyan",
    "user": "cyan",
    "title": "cyan bold",
    "tab-on": "cyan bold underline",
    "key": "cyan bold",
    "link": "blue",
    "model": "blue",
    "tool": "blue",
    "written": "blue",
    "hunk": "blue",
    "ok": "green",
    "read": "green",
    "added": "green",
    "live": "green bold",
    "bad": "red",
    "removed": "red",
    "bad-strong": "red bold",
    "warn": "yellow",
    "fresh": "yellow",
    "warn-strong": "yellow bold",
    "match": "yellow reverse",
    "strong": "bold",
}
"""Roles in a terminal's own sixteen colours, for the themes that leave colours to the terminal."""


class Palette:
    """Styles by role for one theme; an unknown or empty role is ordinary text."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.styles: dict[str, Style] = {}
        self.selection = Style(reverse=True)
        ground = variables.get("background", "")
        if ground and Color.parse(ground).ansi is not None:
            self.background, self.foreground = Color(0, 0, 0), Color(255, 255, 255)
            self.styles = {"": Style.null(), "text": Style.null()} | {
                role: Style.parse(look) for role, look in ANSI.items()
            }
            self.cursor = Style(reverse=True)
            return
        self._derive(variables)

    def _derive(self, variables: Mapping[str, str]) -> None:
        self.background = self._parse(variables, "background", Color(0, 0, 0))
        foreground = self.foreground = self._parse(variables, "foreground", self.background.inverse)
        cursor = self._parse(variables, "looptop-cursor", self.background.blend(foreground, 0.14))
        hardest = max(
            (self.background, cursor, self._parse(variables, "surface", self.background)),
            key=lambda ground: -contrast(foreground, ground),
        )
        for role, (base, attributes) in BASES.items():
            color = self._base(variables, base, foreground)
            color = self._parse(variables, f"looptop-{role}", color)
            color = readable(color, hardest, foreground)
            self.styles[role] = Style.parse(attributes) + Style(color=color.rich_color)
        for role, part in DECORATION.items():
            self.styles[role] = Style(color=self.background.blend(foreground, part).rich_color)
        self.styles[""] = self.styles["text"]
        self.cursor = Style(bgcolor=cursor.rich_color)

    @staticmethod
    def _parse(variables: Mapping[str, str], name: str, default: Color) -> Color:
        value = variables.get(name)
        if not value or value.startswith("auto"):
            return default
        color = Color.parse(value)
        return default if color.ansi is not None or color.a < 1 else color

    def _base(self, variables: Mapping[str, str], base: str, foreground: Color) -> Color:
        name, _, part = base.partition(" ")
        color = self._parse(variables, name, foreground)
        return self.background.blend(color, int(part.rstrip("%")) / 100) if part else color

    def __getitem__(self, role: str) -> Style:
        return self.styles.get(role) or self.styles[""]
