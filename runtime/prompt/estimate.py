"""Token estimates of a request before it is sent: 4 bytes a token, the rule of thumb that errs on the high side for code."""

from __future__ import annotations

from runtime.models.base import Request

BYTES_PER_TOKEN = 4


def estimate_tokens(request: Request) -> int:
    """Prompt tokens of a request, estimated."""
    constant = sum(len(text.encode()) for text in request.system)
    constant += sum(len(tool.model_dump_json()) for tool in request.tools)
    return -(-(constant + sum(message.wire_bytes for message in request.messages)) // BYTES_PER_TOKEN)
