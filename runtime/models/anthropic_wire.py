"""The Messages API's wire form: our transcript out, its stream in. Pure; the SDK is in `anthropic`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from runtime.models.base import Block, Message, Request, Stop, Text, Thinking, ToolCall, Ttl
from runtime.models.wire import arguments_of, clean, count
from runtime.text import storable
from runtime.usage import Usage

STOPS = {
    "end_turn": Stop.END_TURN,
    "stop_sequence": Stop.END_TURN,
    "tool_use": Stop.TOOL_USE,
    "max_tokens": Stop.MAX_TOKENS,
    "pause_turn": Stop.PAUSE,
    "refusal": Stop.REFUSAL,
    "model_context_window_exceeded": Stop.CONTEXT_FULL,
}


def cache_control(ttl: Ttl) -> dict[str, str]:
    """A breakpoint; five minutes is the API's default and not spelled out."""
    return {"type": "ephemeral"} if ttl is Ttl.MINUTES_5 else {"type": "ephemeral", "ttl": ttl.value}


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Thinking):
        return dict(block.data or {})
    if isinstance(block, ToolCall):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments or {}}
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.call_id, "content": block.content}
    if block.is_error:
        result["is_error"] = True
    return result


def _message(message: Message) -> dict[str, Any]:
    # Reasoning without the provider's own block came from another kind of server and means nothing here.
    blocks = [_block(block) for block in message.blocks if not (isinstance(block, Thinking) and not block.data)]
    return {"role": message.role, "content": blocks}


def request_body(request: Request, adaptive_thinking: bool) -> dict[str, Any]:
    """The request as the API takes it, at most four breakpoints: last tool, last system block, and the rolling marks."""
    mark = cache_control(request.ttl)
    tools: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in request.tools
    ]
    if tools:
        tools[-1] = {**tools[-1], "cache_control": mark}
    system: list[dict[str, Any]] = [{"type": "text", "text": text} for text in request.system]
    if system:
        system[-1] = {**system[-1], "cache_control": mark}
    messages = [_message(message) for message in request.messages]
    for place in request.marks[-2:]:
        content = messages[place.message]["content"]
        if content[place.block]["type"] not in ("thinking", "redacted_thinking"):
            content[place.block] = {**content[place.block], "cache_control": mark}
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "system": system,
        "tools": tools,
        "messages": messages,
    }
    if adaptive_thinking:
        body["thinking"] = {"type": "adaptive"}
    if request.effort:
        body["output_config"] = {"effort": request.effort}
    return body


@dataclass
class UsageMeter:
    """Running totals of a stream: per field the last value wins, a field left out keeps its earlier value."""

    ttl: Ttl
    usage: Usage = field(default_factory=Usage)

    def update(self, raw: dict[str, Any]) -> Usage:
        """Take a usage object of the stream; fields that are nonsense are taken as left out."""
        changes: dict[str, Any] = {}
        for ours, theirs in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("cache_read", "cache_read_input_tokens"),
        ):
            if (value := count(raw.get(theirs))) is not None:
                changes[ours] = value
        changes |= self._writes(raw)
        self.usage = self.usage.model_copy(update=changes)
        return self.usage

    def _writes(self, raw: dict[str, Any]) -> dict[str, Any]:
        split = raw.get("cache_creation")
        if isinstance(split, dict):
            five, hour = count(split.get("ephemeral_5m_input_tokens")), count(split.get("ephemeral_1h_input_tokens"))
            if five is not None or hour is not None:
                return {"cache_write_5m": five or 0, "cache_write_1h": hour or 0}
        flat = count(raw.get("cache_creation_input_tokens"))
        if flat is None:
            return {}
        known = self.usage.cache_write
        if known is not None and flat == known:
            return {}
        # Only the sum is told: it is taken to have the lifetime that the request asked for.
        five_minutes = self.ttl is Ttl.MINUTES_5
        assumed = ("cache_write_5m" if five_minutes else "cache_write_1h",) if flat else ()
        return {
            "cache_write_5m": flat if five_minutes else 0,
            "cache_write_1h": 0 if five_minutes else flat,
            "estimated": tuple(sorted({*self.usage.estimated, *assumed})),
        }


@dataclass
class StreamedBlock:
    """A content block while it streams in; `closed` once its end was seen."""

    start: dict[str, Any]
    text: list[str] = field(default_factory=list)
    signature: str = ""
    closed: bool = False

    def delta(self, raw: dict[str, Any]) -> str:
        """Take a delta; returns text to show."""
        kind = raw.get("type")
        if kind == "text_delta":
            self.text.append(str(raw.get("text", "")))
            return str(raw.get("text", ""))
        if kind == "thinking_delta":
            self.text.append(str(raw.get("thinking", "")))
            return str(raw.get("thinking", ""))
        if kind == "input_json_delta":
            self.text.append(str(raw.get("partial_json", "")))
        elif kind == "signature_delta":
            self.signature += str(raw.get("signature", ""))
        return ""

    @property
    def thinking(self) -> bool:
        """Whether it is reasoning."""
        return self.start.get("type") in ("thinking", "redacted_thinking")

    def finish(self, stop: str) -> Block | None:
        """The block as it goes into the transcript; None for kinds that we neither asked for nor know."""
        kind, joined = self.start.get("type"), "".join(self.text)
        if kind == "text":
            return Text(text=storable(str(self.start.get("text") or "") + joined))
        if kind == "thinking":
            data = {"type": "thinking", "thinking": str(self.start.get("thinking") or "") + joined}
            data["signature"] = self.signature or str(self.start.get("signature") or "")
            return Thinking(text=storable(data["thinking"]), data=clean(data))
        if kind == "redacted_thinking":
            return Thinking(data=clean(self.start))
        if kind != "tool_use":
            return None
        raw = joined or json.dumps(self.start.get("input") or {})
        # A call whose end never came, or that ran into the output limit at its end, may look whole and not be it.
        whole = self.closed and not (stop == "max_tokens" and not joined)
        arguments = arguments_of(raw) if whole else None
        return ToolCall(
            id=str(self.start.get("id")), name=str(self.start.get("name")), arguments=arguments, raw=storable(raw)
        )
