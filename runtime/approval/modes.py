"""The approval modes, from the loosest to the strictest. Apart, because settings are read before anything else is."""

from __future__ import annotations

MODES = ("auto", "ask", "read-only")
"""`auto`: every call runs; `ask`: what isn't provably read-only waits for the supervisor; `read-only`: it is refused."""
