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

LOOKS = (HARBOR, PAPER)
DEFAULT = HARBOR.name
