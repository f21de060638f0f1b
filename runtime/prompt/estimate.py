"""Token estimates of a request before it is sent: 4 bytes a token, the rule of thumb that errs on the high side for code."""

from __future__ import annotations

import json
from functools import lru_cache

from runtime.models.base import Message, Request, Text, Thinking, ToolCall, ToolSpec

BYTES_PER_TOKEN = 4
MESSAGE_OVERHEAD = 16
"""Bytes that roles and separators add to a message."""


@lru_cache(maxsize=4096)
def _message_bytes(message: Message) -> int:
    total = MESSAGE_OVERHEAD
    for block in message.blocks:
        if isinstance(block, Text):
            total += len(block.text.encode())
        elif isinstance(block, Thinking):
            total += len(json.dumps(block.data)) if block.data else len(block.text.encode())
        elif isinstance(block, ToolCall):
            total += len(block.name) + len(json.dumps(block.arguments, ensure_ascii=False).encode()) + MESSAGE_OVERHEAD
        else:
            total += len(block.content.encode()) + MESSAGE_OVERHEAD
    return total


@lru_cache(maxsize=16)
def _tools_bytes(tools: tuple[str, ...]) -> int:
    return sum(len(tool) for tool in tools)


def _tool_text(tool: ToolSpec) -> str:
    return tool.model_dump_json()


def estimate_tokens(request: Request) -> int:
    """Prompt tokens of a request, estimated."""
    constant = sum(len(text.encode()) for text in request.system)
    constant += _tools_bytes(tuple(_tool_text(tool) for tool in request.tools))
    return -(-(constant + sum(map(_message_bytes, request.messages))) // BYTES_PER_TOKEN)
