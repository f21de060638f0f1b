"""The chat-completions wire form: our transcript out, usage and tool calls in. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from runtime.models.base import Message, Request, Stop, Text, ToolCall, ToolResult
from runtime.models.wire import MOST_TOKENS, arguments_of, count
from runtime.text import one_line, storable
from runtime.usage import Usage

STOPS = {
    "stop": Stop.END_TURN,
    "eos": Stop.END_TURN,
    "end_turn": Stop.END_TURN,
    "tool_calls": Stop.TOOL_USE,
    "tool_use": Stop.TOOL_USE,
    "function_call": Stop.TOOL_USE,
    "length": Stop.MAX_TOKENS,
    "max_tokens": Stop.MAX_TOKENS,
    "content_filter": Stop.REFUSAL,
}


def _assistant(message: Message) -> dict[str, Any]:
    text = "\n".join(block.text for block in message.blocks if isinstance(block, Text))
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": json.dumps(block.arguments or {}, ensure_ascii=False)},
        }
        for block in message.blocks
        if isinstance(block, ToolCall)
    ]
    out: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        out["tool_calls"] = calls
    return out


def _user(message: Message) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, ToolResult):
            out.append({"role": "tool", "tool_call_id": block.call_id, "content": block.content})
        elif isinstance(block, Text):
            # Text blocks of one message came one after the other and stay messages of their own: the prefix is append-only.
            out.append({"role": "user", "content": block.text})
    return out


def request_body(request: Request, limit_field: str = "max_tokens") -> dict[str, Any]:
    """The request as chat-completions servers take it. Cache marks have no place in it: these servers match prefixes themselves.

    `limit_field` is the name of the output limit, which the newest hosted models call `max_completion_tokens`.
    """
    messages: list[dict[str, Any]] = (
        [{"role": "system", "content": "\n\n".join(request.system)}] if request.system else []
    )
    for message in request.messages:
        messages += [_assistant(message)] if message.role == "assistant" else _user(message)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        limit_field: request.max_output_tokens,
    }
    if request.effort:
        body["reasoning_effort"] = request.effort
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    return body


@dataclass
class ChatMeter:
    """Usage of a stream, in the usual shape or as llama.cpp's `timings`; per field the last value wins.

    The prompt count includes what was read from cache; how much that is, is known only where the server reports it. A count that
    is nonsense (negative, no whole number, more than `most`; a prompt of nothing) is unknown.
    """

    most: int = MOST_TOKENS
    prompt: int | None = None
    output: int | None = None
    cached: int | None = None
    reported: bool = False
    notes: dict[str, str] = field(default_factory=dict)

    def take(self, chunk: dict[str, Any]) -> bool:
        """Take a chunk; whether it counted anything."""
        usage, timings = chunk.get("usage"), chunk.get("timings")
        if isinstance(usage, dict):
            self._usage(usage)
        if isinstance(timings, dict):
            self._timings(timings)
        return isinstance(usage, dict) or isinstance(timings, dict)

    def _usage(self, usage: dict[str, Any]) -> None:
        self.reported = True
        if usage.get("prompt_tokens") is not None:
            self.prompt = self._count("prompt_tokens", usage["prompt_tokens"], least=1)
        if usage.get("completion_tokens") is not None:
            self.output = self._count("completion_tokens", usage["completion_tokens"])
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict) and details.get("cached_tokens") is not None:
            self.cached = self._count("cached_tokens", details["cached_tokens"])

    def _timings(self, timings: dict[str, Any]) -> None:
        fresh, cached = count(timings.get("prompt_n"), self.most), count(timings.get("cache_n"), self.most)
        if cached is not None and self.cached is None:
            self.cached = cached
        if not self.reported and fresh is not None:
            self.prompt = fresh + (cached or 0)
        if self.output is None:
            self.output = count(timings.get("predicted_n"), self.most)

    def _count(self, name: str, value: Any, least: int = 0) -> int | None:
        number = count(value, self.most)
        if number is None or number < least:
            self.notes[name] = f"the server reported {name} as {one_line(repr(value), 40)}"
            return None
        self.notes.pop(name, None)
        return number

    @property
    def usage(self) -> Usage:
        """The counts in our sense: input is what was neither read from cache nor written to it."""
        cached = self.cached
        if cached is not None and self.prompt is not None and cached > self.prompt:
            self.notes["cached_tokens"] = f"the server reported {cached:,} cached of {self.prompt:,} prompt tokens"
            cached = None
        fresh = None if self.prompt is None else self.prompt - (cached or 0)
        return Usage(input=fresh, output=self.output, cache_read=cached)


@dataclass
class CallParts:
    """A tool call as its fragments come in."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def add(self, fragment: dict[str, Any]) -> int:
        """Take a fragment; returns how many characters of arguments it brought."""
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        self.id = self.id or storable(str(fragment.get("id") or ""))
        self.name = self.name or storable(str(function.get("name") or ""))
        text = function.get("arguments")
        if isinstance(text, dict):
            text = json.dumps(text)
        if isinstance(text, str):
            self.arguments.append(text)
            return len(text)
        return 0

    def call(self, number: int, finish: str) -> ToolCall:
        """The call as it goes into the transcript; its arguments are None unless they are a whole JSON object."""
        raw = "".join(self.arguments)
        arguments = arguments_of(raw)
        if not raw.strip():
            # A tool without parameters may be called with nothing at all; at the output limit nothing means cut.
            arguments = None if STOPS.get(finish) is Stop.MAX_TOKENS else {}
        return ToolCall(id=self.id or f"call_{number}", name=self.name, arguments=arguments, raw=storable(raw))


class CallCollector:
    """Sorts the fragments of parallel calls: by index; where servers leave it out or use it twice, by id."""

    def __init__(self) -> None:
        self._calls: list[CallParts] = []
        self._by_index: dict[int, CallParts] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, fragment: dict[str, Any]) -> int:
        """Take a fragment; returns how many characters of arguments it brought."""
        return self._parts(fragment).add(fragment)

    def _parts(self, fragment: dict[str, Any]) -> CallParts:
        index, call_id = fragment.get("index"), fragment.get("id")
        known = self._by_index.get(index) if isinstance(index, int) else (self._calls[-1] if self._calls else None)
        if known is not None and not (call_id and known.id and str(call_id) != known.id):
            return known
        parts = CallParts()
        self._calls.append(parts)
        if isinstance(index, int):
            self._by_index[index] = parts
        return parts

    def calls(self, finish: str) -> list[ToolCall]:
        """All calls in the order in which they began."""
        return [parts.call(number, finish) for number, parts in enumerate(self._calls)]


class Lines:
    """Cuts a byte stream into lines at line feeds only: other line ends of Unicode may stand inside a chunk's JSON."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Whole lines, as text."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.rstrip(b"\r").decode("utf-8", "replace") for line in lines]

    def close(self) -> str:
        """What stands behind the last line feed."""
        return self._rest.rstrip(b"\r").decode("utf-8", "replace")
