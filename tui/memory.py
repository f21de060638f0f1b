"""Keeps the garbage collector out of the way of the start, of keys and of frames.

A full collection looks at every object that lives. What was loaded at the start never dies, and is some 20 ms of looking: it is
taken out of all later collections. The young generation is made larger, since a burst of events is let go of as a whole.
"""

from __future__ import annotations

import gc

THRESHOLDS = (20_000, 20, 20)


def relax() -> None:
    """To be called first of all: loading makes many objects that stay, and looking through them again and again is a tenth of it."""
    gc.set_threshold(*THRESHOLDS)


def settle() -> None:
    """To be called once, when everything that stays is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
