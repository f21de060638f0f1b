"""Where the cache marks go: two rolling ones in the messages, beside those on the last tool and the last system block.

The newer mark stands on the newest user block. The older one stands exactly where the newest stood in the round before, so that
the server finds that entry at the mark itself and no look-back is needed, however many parallel results lie between.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.models.base import Mark, Message


def newest_user_block(messages: Sequence[Message]) -> Mark | None:
    """The place of the last block of the last user message."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            return Mark(message=index, block=len(messages[index].blocks) - 1)
    return None


def mark_of_last_request(messages: Sequence[Message]) -> Mark | None:
    """Where the newest mark of the last answered request stood: for a transcript that was rebuilt. None before any answer."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "assistant":
            return newest_user_block(messages[:index])
    return None


def marks_for(messages: Sequence[Message], before: Mark | None) -> tuple[Mark, ...]:
    """The rolling marks of a request, oldest first; `before` is the newest mark of the request before, None if there was none.

    A place that no longer exists, because the transcript was compacted, is left out.
    """
    newest = newest_user_block(messages)
    if newest is None:
        return ()
    if before is None or before == newest or not _stands(messages, before):
        return (newest,)
    return (before, newest)


def _stands(messages: Sequence[Message], mark: Mark) -> bool:
    return mark.message < len(messages) and mark.block < len(messages[mark.message].blocks)
