"""One large step when a transcript nears the context limit: one cache miss, then hits again, instead of a little each round.

The oldest tool results go first, then the oldest long arguments, each replaced by a one-line stub; what supervisor and model said
stays. Reasoning that is bound to the history before it goes along where that history changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.models.base import Block, Message, Text, Thinking, ToolCall, ToolResult
from runtime.prompt.estimate import BYTES_PER_TOKEN
from runtime.text import one_line

TRIGGER = 0.85
"""Share of the context at which it is time."""
TARGET = 0.45
"""Share that is left at most: far enough below that the next step is many rounds away."""
KEEP_MESSAGES = 4
"""The newest messages, which are never touched: the last two rounds."""
LONG_ARGUMENT = 400
"""Characters from which an argument is worth a stub."""
LEAST_SAVED = 200
"""Characters that a stub must save to be worth a changed prefix."""
_HINT_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compacted transcript. `first_changed` is the message from which on nothing can be read from cache."""

    messages: tuple[Message, ...]
    stubs: int
    thinking_dropped: int
    bytes_before: int
    bytes_after: int
    first_changed: int

    @property
    def tokens_freed(self) -> int:
        """By the rule of thumb."""
        return (self.bytes_before - self.bytes_after) // BYTES_PER_TOKEN


def is_time(prompt_tokens: int, max_output_tokens: int, context: int | None) -> bool:
    """Whether the next call would come too near to the context limit; never where that isn't known."""
    return context is not None and prompt_tokens + max_output_tokens > context * TRIGGER


def compact(messages: Sequence[Message], free_bytes: int, *, binds_thinking: bool = True) -> Compacted | None:
    """Free at least so many bytes, oldest first; None where nothing can be freed. It may free less: see `tokens_freed`."""
    work = list(messages)
    before = sum(message.wire_bytes for message in work)
    calls = _calls(work)
    stubs = freed = 0
    for stub in (lambda block: _stub_result(block, calls), _stub_arguments):
        for index in range(max(0, len(work) - KEEP_MESSAGES)):
            if freed >= free_bytes:
                break
            old = work[index]
            blocks = tuple(stub(block) for block in old.blocks)
            changed = sum(new is not was for new, was in zip(blocks, old.blocks, strict=True))
            if changed:
                stubs += changed
                work[index] = Message(role=old.role, blocks=blocks)
                freed += old.wire_bytes - work[index].wire_bytes
    if not stubs:
        return None
    first = next(i for i, (new, was) in enumerate(zip(work, messages, strict=True)) if new is not was)
    dropped = _drop_thinking(work, first) if binds_thinking else 0
    after = sum(message.wire_bytes for message in work)
    return Compacted(tuple(work), stubs, dropped, before, after, first)


def bytes_to_free(prompt_tokens: int, context: int) -> int:
    """How much must go for a prompt of so many tokens to come down to the target."""
    return max(0, prompt_tokens - int(context * TARGET)) * BYTES_PER_TOKEN


def _calls(messages: Sequence[Message]) -> dict[str, ToolCall]:
    return {block.id: block for message in messages for block in message.blocks if isinstance(block, ToolCall)}


def _stub_result(block: Block, calls: dict[str, ToolCall]) -> Block:
    if not isinstance(block, ToolResult):
        return block
    call = calls.get(block.call_id)
    stub = f"(left out: {len(block.content):,} characters{_of(call)})"
    return block.model_copy(update={"content": stub}) if len(block.content) - len(stub) >= LEAST_SAVED else block


def _of(call: ToolCall | None) -> str:
    if call is None:
        return ""
    hint = next((value for value in (call.arguments or {}).values() if isinstance(value, str)), "")
    return f", {call.name} {one_line(hint, _HINT_CHARACTERS)}".rstrip()


def _stub_arguments(block: Block) -> Block:
    if not isinstance(block, ToolCall) or not block.arguments:
        return block
    arguments: dict[str, Any] = {
        name: f"(left out: {len(value):,} characters)"
        if isinstance(value, str) and len(value) > LONG_ARGUMENT
        else value
        for name, value in block.arguments.items()
    }
    return block if arguments == block.arguments else block.model_copy(update={"arguments": arguments, "raw": ""})


def _drop_thinking(messages: list[Message], first: int) -> int:
    """Drop reasoning behind the first change; returns how many blocks. A message never loses its last block."""
    dropped = 0
    for index in range(first, len(messages)):
        kept = tuple(block for block in messages[index].blocks if not isinstance(block, Thinking))
        if len(kept) < len(messages[index].blocks):
            dropped += len(messages[index].blocks) - len(kept)
            messages[index] = Message(role=messages[index].role, blocks=kept or (Text(text="(reasoning left out)"),))
    return dropped
