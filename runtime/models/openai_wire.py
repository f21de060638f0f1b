"""The chat-completions wire form: our transcript out, usage and tool calls in. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from runtime.models.base import Message, Request, Stop, Text, ToolCall, ToolResult
from runtime.models.wire import arguments_of, count
from runtime.text import storable
from runtime.usage import Usage

STOPS = {
    "stop": Stop.END_TURN,
    "tool_calls": Stop.TOOL_USE,
    "function_call": Stop.TOOL_USE,
    "length": Stop.MAX_TOKENS,
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


def request_body(request: Request) -> dict[str, Any]:
    """The request as chat-completions servers take it. Cache marks have no place in it: these servers match prefixes themselves."""
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
        "max_tokens": request.max_output_tokens,
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    return body


def usage_of(chunk: dict[str, Any]) -> Usage | None:
    """Usage of a chunk: `usage` in the usual shape, or llama.cpp's `timings`; None where it has neither.

    The prompt count includes what was read from cache; how much that is, is known only where the server reports it.
    """
    raw = chunk.get("usage")
    if isinstance(raw, dict):
        prompt, output = count(raw.get("prompt_tokens")), count(raw.get("completion_tokens"))
        details = raw.get("prompt_tokens_details")
        cached = count(details.get("cached_tokens")) if isinstance(details, dict) else None
        if cached is not None and prompt is not None and cached > prompt:
            cached = None
        fresh = None if prompt is None else prompt - (cached or 0)
        return Usage(input=fresh, output=output, cache_read=cached)
    timings = chunk.get("timings")
    if isinstance(timings, dict):
        fresh, output = count(timings.get("prompt_n")), count(timings.get("predicted_n"))
        return Usage(input=fresh, output=output, cache_read=count(timings.get("cache_n")))
    return None


@dataclass
class CallParts:
    """A tool call as its fragments come in."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def add(self, fragment: dict[str, Any]) -> int:
        """Take a fragment; returns how many bytes of arguments it brought."""
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        self.id = self.id or str(fragment.get("id") or "")
        self.name = self.name or str(function.get("name") or "")
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
        if finish == "length" and not raw:
            arguments = None
        elif not raw:
            arguments = {}
        return ToolCall(id=self.id or f"call_{number}", name=self.name, arguments=arguments, raw=storable(raw))
