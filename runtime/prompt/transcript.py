"""The append-only transcript of a leg: what was sent once is sent again byte for byte, and every call has its one result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.models.base import Block, Message, Text, Thinking, ToolCall, ToolResult
from runtime.text import storable

NO_OUTPUT = "(no output)"
INTERRUPTED = "Interrupted before it answered; it may have had effects."


class Transcript:
    """Messages in order. User-side text that follows tool results joins their message, as the API wants it."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = list(messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the next request sends."""
        return tuple(self._messages)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last message that have no result yet."""
        if not self._messages or self._messages[-1].role != "assistant":
            return ()
        return tuple(block for block in self._messages[-1].blocks if isinstance(block, ToolCall))

    def add_user(self, text: str) -> None:
        """Add user-side text; calls that are still open are answered as interrupted first. Raises ValueError for empty text."""
        if not text.strip():
            raise ValueError("empty text is never sent")
        self.close_calls()
        self._append_user((Text(text=storable(text)),))

    def add_reply(self, blocks: Sequence[Block]) -> None:
        """Add the model's reply, without its empty text blocks. A reply with nothing else in it is left out."""
        kept = tuple(block for block in blocks if not (isinstance(block, Text) and not block.text.strip()))
        if not any(not isinstance(block, Thinking) for block in kept):
            return
        self._messages.append(Message(role="assistant", blocks=kept))

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Answer the open calls, in their order. A call without a result is answered as interrupted."""
        given = list(results)
        blocks: list[Block] = []
        for call in self.open_calls:
            index = next((i for i, result in enumerate(given) if result.call_id == call.id), None)
            if index is None:
                blocks.append(ToolResult(call_id=call.id, content=INTERRUPTED, is_error=True))
                continue
            result = given.pop(index)
            content = storable(result.content) if result.content.strip() else NO_OUTPUT
            blocks.append(result.model_copy(update={"content": content}))
        if blocks:
            self._append_user(tuple(blocks))

    def close_calls(self) -> None:
        """Answer every open call as interrupted."""
        if self.open_calls:
            self.add_results(())

    def _append_user(self, blocks: tuple[Block, ...]) -> None:
        if self._messages and self._messages[-1].role == "user":
            last = self._messages[-1]
            self._messages[-1] = Message(role="user", blocks=last.blocks + blocks)
        else:
            self._messages.append(Message(role="user", blocks=blocks))
