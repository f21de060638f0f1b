"""The append-only transcript of a leg: what was sent once is sent again byte for byte, and every call has its one result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from runtime.models.base import Block, Message, Text, Thinking, ToolCall, ToolResult
from runtime.models.wire import clean
from runtime.text import storable

NO_OUTPUT = "(no output)"
INTERRUPTED = "Interrupted before it answered; it may have had effects."
GO_ON = "Go on."
_FIT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


class Transcript:
    """Messages in order. User-side text that follows tool results joins their message, as the API wants it.

    Ids that a model uses again, and ids and names that no API takes, are replaced by ones of ours; results find their call all the
    same. The replacement depends on nothing but the transcript, so that a rebuilt one has the same bytes.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = list(messages)
        self._ids = {b.id for m in self._messages for b in m.blocks if isinstance(b, ToolCall)}
        self._asked: list[tuple[str, str]] = [(call.id, call.id) for call in self.open_calls]
        """Of the open calls in order: the model's id, and the one in the transcript."""

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
        self._answer(())
        self._append_user((Text(text=storable(text)),))

    def add_reply(self, blocks: Sequence[Block]) -> None:
        """Add the model's reply, without its empty text blocks. A reply with nothing else in it is left out."""
        kept = [block for block in blocks if not (isinstance(block, Text) and not block.text.strip())]
        if all(isinstance(block, Thinking) for block in kept):
            return
        self.close_calls()
        self._asked = []
        blocks = tuple(self._fitted(block) if isinstance(block, ToolCall) else _sendable(block) for block in kept)
        self._messages.append(Message(role="assistant", blocks=blocks))

    def _fitted(self, call: ToolCall) -> ToolCall:
        wire_id = call.id
        number = len(self._ids)
        while wire_id in self._ids or not _FIT.fullmatch(wire_id):
            number += 1
            wire_id = f"call_{number}"
        self._ids.add(wire_id)
        self._asked.append((call.id, wire_id))
        name = call.name if _FIT.fullmatch(call.name) else _UNFIT.sub("_", call.name)[:64] or "unnamed"
        arguments = clean(call.arguments)
        if (wire_id, name, arguments) == (call.id, call.name, call.arguments):
            return call
        return call.model_copy(update={"id": wire_id, "name": name, "arguments": arguments})

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Answer the open calls, in their order, by the ids that the model gave them. A call without a result is answered as
        interrupted; a result without a call is left out."""
        self._answer(results)

    def close_calls(self) -> None:
        """Make the transcript one that can be sent: every open call answered as interrupted, the last word the user's."""
        self._answer(())
        if self._messages and self._messages[-1].role == "assistant":
            self._append_user((Text(text=GO_ON),))

    def _answer(self, results: Sequence[ToolResult]) -> None:
        if not self.open_calls:
            return
        given = list(results)
        blocks: list[Block] = []
        for model_id, wire_id in self._asked:
            index = next((i for i, result in enumerate(given) if result.call_id == model_id), None)
            if index is None:
                blocks.append(ToolResult(call_id=wire_id, content=INTERRUPTED, is_error=True))
                continue
            result = given.pop(index)
            content = storable(result.content) if result.content.strip() else NO_OUTPUT
            blocks.append(ToolResult(call_id=wire_id, content=content, is_error=result.is_error))
        self._asked = []
        self._append_user(tuple(blocks))

    def _append_user(self, blocks: tuple[Block, ...]) -> None:
        if self._messages and self._messages[-1].role == "user":
            last = self._messages[-1]
            self._messages[-1] = Message(role="user", blocks=last.blocks + blocks)
        else:
            self._messages.append(Message(role="user", blocks=blocks))


def _sendable(block: Block) -> Block:
    if not isinstance(block, Text) or (text := storable(block.text)) == block.text:
        return block
    return Text(text=text)
