"""Where the cache marks go: two rolling ones in the messages, beside those on the last tool and the last system block.

The newer mark stands on the newest user block. The older one stands exactly where the newest stood in the round before, so that
the server finds that entry at the mark itself and no look-back is needed, however many parallel results lie between.
"""

from __future__ import annotations

from runtime.models.base import Mark, Message


def newest_user_block(messages: tuple[Message, ...]) -> Mark | None:
    """The place of the last block of the last user message."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            return Mark(message=index, block=len(messages[index].blocks) - 1)
    return None


def marks_for(messages: tuple[Message, ...], before: Mark | None) -> tuple[Mark, ...]:
    """The rolling marks of a request, oldest first; `before` is the newest mark of the request before."""
    newest = newest_user_block(messages)
    if newest is None:
        return ()
    if before is None or before == newest:
        return (newest,)
    return (before, newest)
