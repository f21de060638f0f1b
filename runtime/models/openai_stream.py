"""Reads one answer of a chat-completions server: chunk by chunk, or whole where the server doesn't stream."""

from __future__ import annotations

import json
import time
from typing import Any

from runtime.models.base import (
    ArgumentsPiece,
    CallFault,
    Message,
    ModelCallError,
    Piece,
    Reply,
    Request,
    Stop,
    Text,
    TextPiece,
    Thinking,
    UsageSoFar,
)
from runtime.models.openai_wire import STOPS, CallCollector, ChatMeter
from runtime.models.wire import MOST_TOKENS, fault_of_status, name_or_none
from runtime.prompt.estimate import BYTES_PER_TOKEN, estimate_tokens
from runtime.prompt.system import gave_up
from runtime.text import one_line, storable
from runtime.usage import Usage

ERROR_CHARACTERS = 400


def error_words(data: Any) -> tuple[str, str]:
    """An error body's type or code, and its text."""
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return "", str(error)
    text = error.get("message") or error.get("detail") or json.dumps(error)
    kinds = [error.get("code"), error.get("type")]
    return next((kind for kind in kinds if isinstance(kind, str) and kind), ""), str(text)


class Reading:
    """Reads one answer."""

    def __init__(self, model: str, request: Request, most: int | None = None) -> None:
        self._request = request
        self._answering = model
        self._began = time.monotonic()
        self._first: float | None = None
        self._id: str | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls = CallCollector()
        self._finish = ""
        self._meter = ChatMeter(most or MOST_TOKENS)
        self._bytes = 0
        self.request_id: str | None = None
        self.started = False
        self.done = False

    def take_line(self, line: str) -> list[Piece]:
        """Pieces that a line of the stream brings."""
        if not line.startswith("data:"):
            return []
        payload = line[5:].strip()
        if payload == "[DONE]":
            self.done = True
            return []
        return self.take_json(payload)

    def take_whole(self, body: str) -> list[Piece]:
        """Pieces of an answer that isn't a stream, though one was asked for."""
        pieces = self.take_json(body)
        self.done = self.started
        return pieces

    def take_json(self, payload: str) -> list[Piece]:
        """Pieces that a chunk, or a whole answer, brings. Raises ModelCallError for an error in it, and for what isn't JSON."""
        try:
            chunk = json.loads(payload)
        except (ValueError, RecursionError):
            text = "the server sent a chunk that is not JSON"
            raise ModelCallError(CallFault.CUT, text, usage=self.usage_so_far()) from None
        if not isinstance(chunk, dict):
            return []
        if chunk.get("error"):
            kind, text = error_words(chunk)
            words = one_line(f"{kind}: {text}" if kind else text, ERROR_CHARACTERS)
            raise ModelCallError(fault_of_status(200, kind, text), words, usage=self.usage_so_far())
        self.started = True
        self._id = name_or_none(chunk.get("id")) or self._id
        self._answering = name_or_none(chunk.get("model")) or self._answering
        pieces = self._choice(chunk)
        return [*pieces, UsageSoFar(usage=self._meter.usage)] if self._meter.take(chunk) else pieces

    def _choice(self, chunk: dict[str, Any]) -> list[Piece]:
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return []
        choice = choices[0]
        self._finish = name_or_none(choice.get("finish_reason")) or self._finish
        delta = choice.get("delta", choice.get("message"))
        return self._delta(delta) if isinstance(delta, dict) else []

    def _delta(self, delta: dict[str, Any]) -> list[Piece]:
        pieces: list[Piece] = []
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        for text, kept, is_thinking in ((thinking, self._thinking, True), (delta.get("content"), self._text, False)):
            if isinstance(text, str) and text:
                kept.append(text)
                self._bytes += len(text.encode("utf-8", "replace"))
                pieces.append(TextPiece(text=storable(text), thinking=is_thinking))
        fragments = delta.get("tool_calls")
        for fragment in fragments if isinstance(fragments, list) else []:
            if isinstance(fragment, dict):
                size = self._calls.add(fragment)
                self._bytes += size
                pieces.append(ArgumentsPiece(size=size))
        if pieces and self._first is None:
            self._first = time.monotonic()
        return pieces

    def usage_so_far(self) -> Usage:
        """What the server reported; else our own estimates, marked as such."""
        if self._meter.reported or self._meter.prompt is not None:
            return self._meter.usage
        output = -(-self._bytes // BYTES_PER_TOKEN)
        return Usage(input=estimate_tokens(self._request), output=output, estimated=("input", "output"))

    def reply(self) -> Reply:
        """The whole reply. Raises ModelCallError where the stream ended without its end."""
        if not self._finish and not self.done:
            usage = self.usage_so_far() if self.started else None
            raise ModelCallError(CallFault.CUT, "the stream ended before the reply did", usage=usage)
        text = storable("".join(self._text))
        blocks: list[Any] = [Thinking(text=storable("".join(self._thinking)))] if self._thinking else []
        if text:
            blocks.append(Text(text=text))
        calls = self._calls.calls(self._finish)
        stop = STOPS.get(self._finish, Stop.UNKNOWN)
        if calls and stop is Stop.END_TURN:
            stop = Stop.TOOL_USE
        usage, notes = self.usage_so_far(), tuple(self._meter.notes.values())
        if usage.estimated:
            notes = ("the server does not report usage",)
        elif usage.cache_read is None:
            notes = (*notes, "the server does not report what it read from cache")
        return Reply(
            message=Message(role="assistant", blocks=(*blocks, *calls)),
            stop=stop,
            stop_detail=one_line(self._finish, 100) or "no finish reason",
            gave_up=gave_up(text) if stop is Stop.END_TURN else "",
            usage=usage,
            usage_notes=notes,
            model=self._answering,
            request_id=self.request_id or self._id,
            message_id=self._id,
            latency_ms=int((time.monotonic() - self._began) * 1000),
            ttft_ms=int((self._first - self._began) * 1000) if self._first is not None else None,
        )
