"""The one way that the dashboard starts work in the background: every task says its group and purpose.

An error that a task doesn't handle ends the app with its words.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode


def start(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, Any]], group: str, purpose: str, exclusive: bool = True
) -> None:
    """Run work on behalf of a node; it ends with the node. An exclusive task cancels what its group still does."""
    task: Any = work
    node.run_worker(task, name=purpose, group=group, description=purpose, exclusive=exclusive)
