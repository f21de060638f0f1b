"""What a run looks like at a moment: a frozen picture, and the one pure fold that events drive it by.

Live view, replay of a finished run, remote view and headless report all use `fold`; if a screen shows something, an event said it.
"""

from __future__ import annotations

from runtime.view.fold import fold, fold_all
from runtime.view.model import RunView

__all__ = ["RunView", "fold", "fold_all"]
