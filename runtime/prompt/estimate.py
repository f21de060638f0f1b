"""Token estimates of a request before it is sent: 4 bytes a token, until the server has counted a prompt of this leg."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.models.base import Request
from runtime.usage import Usage

BYTES_PER_TOKEN = 4
"""A rule of thumb that errs on the high side for code."""
FEWEST_BYTES, MOST_BYTES = 1.5, 8.0
"""Bounds of bytes a token; a count outside them is no measure of the text that we sent."""


def prompt_bytes(request: Request) -> int:
    """About how many bytes of a request the model reads."""
    constant = sum(len(text.encode("utf-8", "replace")) for text in request.system)
    constant += sum(tool.wire_bytes for tool in request.tools)
    return constant + sum(message.wire_bytes for message in request.messages)


def estimate_tokens(request: Request) -> int:
    """Prompt tokens of a request, estimated by the rule of thumb."""
    return -(-prompt_bytes(request) // BYTES_PER_TOKEN)


@dataclass
class Estimator:
    """Estimates of one leg's requests, better once a reply has told how many tokens its prompt had."""

    _bytes: int = 0
    _tokens: int = 0

    def learn(self, request: Request, usage: Usage) -> None:
        """Take the count of a request that was answered; one that is unknown, estimated or absurd teaches nothing."""
        size, tokens = prompt_bytes(request), usage.prompt
        if tokens and "input" not in usage.estimated and FEWEST_BYTES <= size / tokens <= MOST_BYTES:
            self._bytes, self._tokens = size, tokens

    def estimate(self, request: Request) -> int:
        """Prompt tokens of a request: what was counted last, and what came since at the rate measured there."""
        size = prompt_bytes(request)
        if not self._tokens:
            return -(-size // BYTES_PER_TOKEN)
        if size < self._bytes:
            return -(-size * self._tokens // self._bytes)
        # What is new may be denser than what was measured: no less than the rule of thumb.
        rate = min(BYTES_PER_TOKEN, self._bytes / self._tokens)
        return self._tokens + round((size - self._bytes) / rate)
