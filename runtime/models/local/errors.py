"""What keeps the engine from helping, in one sentence."""

from __future__ import annotations


class CannotHelp(Exception):
    """Search can't do anything here; the message says why."""
