"""looptop's own themes. Colours only; every role keeps at least 4.5:1 against the background (a test computes it)."""

from __future__ import annotations

from textual.theme import Theme

HARBOR = Theme(
    name="harbor",
    dark=True,
    background="#11161b",
    surface="#161c23",
    panel="#1e262f",
    foreground="#d4dce4",
    primary="#5cc0c7",
    secondary="#8fa9ea",
    accent="#5cc0c7",
    success="#86c48a",
    warning="#e2b363",
    error="#f08a80",
    variables={"looptop-thinking": "#a99fc9", "looptop-cursor": "#24313c"},
)

PAPER = Theme(
    name="paper",
    dark=False,
    background="#faf9f5",
    surface="#f3f1ea",
    panel="#e9e6dc",
    foreground="#23292f",
    primary="#0c6a77",
    secondary="#3c53ad",
    accent="#0c6a77",
    success="#2b7138",
    warning="#855500",
    error="#b0302a",
    variables={"looptop-thinking": "#665597", "looptop-cursor": "#dde7e6"},
)

EMBER = Theme(
    name="ember",
    dark=True,
    background="#191411",
    surface="#201a16",
    panel="#2a221c",
    foreground="#e8dccb",
    primary="#e8a15c",
    secondary="#c9a0b6",
    accent="#e8a15c",
    success="#a9b665",
    warning="#e3b95a",
    error="#ef8a72",
    variables={"looptop-thinking": "#b9a08c", "looptop-cursor": "#382b21"},
)
"""Warm, for evenings."""

BEACON = Theme(
    name="beacon",
    dark=True,
    background="#000000",
    surface="#0a0a0a",
    panel="#141414",
    foreground="#ffffff",
    primary="#ffd400",
    secondary="#8fd3ff",
    accent="#ffd400",
    success="#5cff8f",
    warning="#ffb000",
    error="#ff9090",
    variables={"looptop-thinking": "#d8d8ff", "looptop-cursor": "#262626"},
)
"""High contrast: every role at least 7:1 on every ground."""

COMPASS = Theme(
    name="compass",
    dark=True,
    background="#14171c",
    surface="#1a1e24",
    panel="#22272f",
    foreground="#dde1e7",
    primary="#56b4e9",
    secondary="#b7a6f0",
    accent="#56b4e9",
    success="#57b8ee",
    warning="#f0e442",
    error="#ef8f52",
    variables={"looptop-thinking": "#a8adb8", "looptop-cursor": "#2a313b"},
)
"""For every kind of colour vision: good is blue and bad is orange (the Okabe-Ito hues, lightened where text needs it)."""

GRAPHITE = Theme(
    name="graphite",
    dark=True,
    background="#161616",
    surface="#1c1c1c",
    panel="#242424",
    foreground="#d6d6d6",
    primary="#ffffff",
    secondary="#c4c4c4",
    accent="#ffffff",
    success="#e4e4e4",
    warning="#cccccc",
    error="#ffffff",
    variables={"looptop-thinking": "#a6a6a6", "looptop-cursor": "#333333"},
)
"""Without colour; words and weight tell what colours do elsewhere."""

LOOKS = (HARBOR, PAPER, EMBER, BEACON, COMPASS, GRAPHITE)
DEFAULT = HARBOR.name
