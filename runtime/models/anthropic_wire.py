"""The Messages API's wire form: our transcript out, its stream in. Pure; the SDK is in `anthropic`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from runtime.models.base import Block, Message, Request, Stop, Text, Thinking, ToolCall, Ttl
from runtime.models.wire import MOST_TOKENS, arguments_of, clean, count
from runtime.text import one_line, storable
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


def request_body(request: Request, thinking: dict[str, str] | None) -> dict[str, Any]:
    """The request as the API takes it, at most four breakpoints: last tool, last system block, and the rolling marks.

    `thinking` is the model's constant of that name; None leaves it out.
    """
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
    if thinking:
        body["thinking"] = thinking
    if request.effort:
        body["output_config"] = {"effort": request.effort}
    return body


def an_object(raw: Any) -> dict[str, Any]:
    """A JSON object as it came; an empty one in place of anything else."""
    return raw if isinstance(raw, dict) else {}


_FIELDS = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cache_read", "cache_read_input_tokens"),
)


@dataclass
class UsageMeter:
    """Running totals of a stream: per field the last value wins, a field left out keeps its earlier value.

    A value that is nonsense (negative, no whole number, more than the model's context of `most` tokens) makes its field unknown.
    """

    ttl: Ttl
    most: int = MOST_TOKENS
    usage: Usage = field(default_factory=Usage)
    counted_output: bool = False
    """Whether any event after the first one has counted the output."""
    _nonsense: dict[str, str] = field(default_factory=dict)

    def update(self, raw: Any, *, first: bool = False) -> Usage:
        """Take a usage object of the stream; `first` is the start event's, whose output count is only a beginning."""
        fields = an_object(raw)
        changes: dict[str, Any] = {}
        for ours, theirs in _FIELDS:
            if fields.get(theirs) is not None:
                changes[ours] = self._count(fields, theirs)
        self.counted_output |= not first and "output" in changes
        changes |= self._writes(fields)
        self.usage = self.usage.model_copy(update=changes)
        return self.usage

    def final(self) -> tuple[Usage, tuple[str, ...]]:
        """Usage of a whole reply, and why any figure of it is unknown."""
        notes = list(self._nonsense.values())
        if not self.counted_output:
            self.usage = self.usage.model_copy(update={"output": None})
        for ours, _ in _FIELDS:
            if getattr(self.usage, ours) is None and ours not in self._nonsense:
                notes.append(f"the server did not report {ours.replace('_', ' ')} tokens")
        return self.usage, tuple(notes)

    def _count(self, fields: dict[str, Any], name: str) -> int | None:
        ours = next((ours for ours, theirs in _FIELDS if theirs == name), "cache_write")
        value = count(fields[name], self.most)
        if value is None:
            self._nonsense[ours] = f"the server reported {name} as {one_line(repr(fields[name]), 40)}"
        else:
            self._nonsense.pop(ours, None)
        return value

    def _writes(self, fields: dict[str, Any]) -> dict[str, Any]:
        split = fields.get("cache_creation")
        flat = fields.get("cache_creation_input_tokens")
        if isinstance(split, dict):
            five = count(split.get("ephemeral_5m_input_tokens"), self.most)
            hour = count(split.get("ephemeral_1h_input_tokens"), self.most)
            if five is not None or hour is not None:
                return {"cache_write_5m": five or 0, "cache_write_1h": hour or 0}
        if flat is None:
            return {}
        total = self._count(fields, "cache_creation_input_tokens")
        if total is None:
            return {"cache_write_5m": None, "cache_write_1h": None}
        if total == self.usage.cache_write:
            return {}
        # Only the sum is told: it is taken to have the lifetime that the request asked for.
        five_minutes = self.ttl is Ttl.MINUTES_5
        assumed = ("cache_write_5m" if five_minutes else "cache_write_1h",) if total else ()
        return {
            "cache_write_5m": total if five_minutes else 0,
            "cache_write_1h": 0 if five_minutes else total,
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
            return self._grow(raw.get("text"))
        if kind == "thinking_delta":
            return self._grow(raw.get("thinking"))
        if kind == "input_json_delta":
            self._grow(raw.get("partial_json"))
        elif kind == "signature_delta" and isinstance(raw.get("signature"), str):
            self.signature += raw["signature"]
        return ""

    def _grow(self, piece: Any) -> str:
        if not isinstance(piece, str):
            return ""
        self.text.append(piece)
        return storable(piece)

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
            return self._reasoning(joined)
        if kind == "redacted_thinking":
            return Thinking(data=clean(self.start))
        if kind != "tool_use":
            return None
        raw = joined or json.dumps(an_object(self.start.get("input")))
        # A call whose end never came, or that ran into the output limit before its first byte, may look whole and not be it.
        whole = self.closed and not (stop == "max_tokens" and not joined)
        return ToolCall(
            id=storable(str(self.start.get("id") or "")),
            name=storable(str(self.start.get("name") or "")),
            arguments=arguments_of(raw) if whole else None,
            raw=storable(raw),
        )

    def _reasoning(self, joined: str) -> Thinking:
        """Reasoning as it came, every field of its start kept, since it must go back unchanged."""
        data = dict(self.start)
        data["thinking"] = str(self.start.get("thinking") or "") + joined
        signature = self.signature or self.start.get("signature")
        if signature is not None:
            data["signature"] = signature
        return Thinking(text=storable(data["thinking"]), data=clean(data))
