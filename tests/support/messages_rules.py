"""Checks a Messages request as strictly as the real API does; a broken rule is the sentence of a 400."""

from __future__ import annotations

import re
from typing import Any

from support.cache_model import without_marks

__all__ = ["Rule", "check_request", "without_marks"]

FIELDS = {
    "model", "max_tokens", "system", "tools", "messages", "stream", "thinking", "output_config", "tool_choice", "metadata",
    "stop_sequences", "cache_control", "diagnostics", "service_tier",
}  # fmt: skip
BLOCKS = {
    "text": {"type", "text"},
    "tool_use": {"type", "id", "name", "input"},
    "tool_result": {"type", "tool_use_id", "content", "is_error"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
MAX_MARKS = 4
LIFETIMES = ("1h", "5m")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


class Rule(Exception):
    """A rule that a request breaks."""


def check_request(body: Any) -> None:
    """Raise Rule for the first thing that the API would refuse."""
    if not isinstance(body, dict):
        raise Rule("the body is no object")
    unknown = set(body) - FIELDS
    if unknown:
        raise Rule(f"{min(unknown)}: Extra inputs are not permitted")
    try:
        _check_body(body)
    except (KeyError, TypeError, AttributeError) as error:
        raise Rule(f"a field is missing or of the wrong type: {error!r}") from error


def _check_body(body: dict[str, Any]) -> None:
    if type(body.get("max_tokens")) is not int or body["max_tokens"] < 1:
        raise Rule("max_tokens: must be at least 1")
    if not isinstance(body["model"], str) or not body["model"]:
        raise Rule("model: must be a name")
    marks = _check_tools(body.get("tools", []))
    for block in body.get("system", []):
        if block["type"] != "text" or not block["text"].strip():
            raise Rule("system: text content blocks must be non-empty")
        marks += _mark(block, "system")
    marks += _check_messages(body["messages"])
    if not body.get("tools") and any(b["type"] == "tool_use" for m in body["messages"] for b in m["content"]):
        raise Rule("tools: must be given where the messages have tool_use blocks")
    if len(marks) > MAX_MARKS:
        raise Rule(f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {len(marks)}.")
    if marks != sorted(marks, key=LIFETIMES.index):
        raise Rule("cache_control: a longer ttl must come before a shorter one")


def _mark(block: dict[str, Any], where: str) -> list[str]:
    if "cache_control" not in block:
        return []
    mark = block["cache_control"]
    if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in LIFETIMES or set(mark) - {"type", "ttl"}:
        raise Rule(f"{where}: cache_control is not valid")
    return [mark.get("ttl", "5m")]


def _check_tools(tools: list[dict[str, Any]]) -> list[str]:
    marks: list[str] = []
    names = [tool["name"] for tool in tools]
    if len(set(names)) != len(names):
        raise Rule("tools: Tool names must be unique.")
    for tool in tools:
        if not NAME.fullmatch(tool["name"]) or tool["input_schema"].get("type") != "object":
            raise Rule(f"tools: {tool['name']} is not valid")
        if set(tool) - {"name", "description", "input_schema", "cache_control", "type", "strict"}:
            raise Rule(f"tools: {tool['name']}: Extra inputs are not permitted")
        marks += _mark(tool, "tools")
    return marks


def _check_messages(messages: list[dict[str, Any]]) -> list[str]:
    if not messages or messages[0]["role"] != "user":
        raise Rule("messages: first message must use the user role")
    marks: list[str] = []
    open_calls: list[str] = []
    ids: set[str] = set()
    for number, message in enumerate(messages):
        content = message["content"]
        if message["role"] not in ("user", "assistant") or set(message) != {"role", "content"}:
            raise Rule(f"messages.{number}: Unexpected role or field")
        if number and messages[number - 1]["role"] == message["role"]:
            raise Rule(f"messages.{number}: roles must alternate here, so that nothing hides in a merge")
        if not isinstance(content, list) or not content:
            raise Rule(f"messages.{number}: content must be non-empty")
        for block in content:
            _check_block(block, message["role"], number)
            marks += _mark(block, f"messages.{number}")
            if block["type"] == "tool_use":
                if block["id"] in ids:
                    raise Rule(f"messages.{number}: `tool_use` ids must be unique")
                ids.add(block["id"])
        open_calls = _check_pairs(message, open_calls, number)
    if open_calls or messages[-1]["role"] != "user":
        raise Rule("messages: the last message must be the user's, with a result for every call")
    return marks


def _check_block(block: dict[str, Any], role: str, number: int) -> None:
    kind = block.get("type")
    if kind not in BLOCKS:
        raise Rule(f"messages.{number}: block type {kind!r}")
    extra = set(block) - BLOCKS[kind] - {"cache_control"}
    if extra:
        raise Rule(f"messages.{number}.{kind}.{min(extra)}: Extra inputs are not permitted")
    if (kind == "tool_result") != (role == "user") and kind != "text":
        raise Rule(f"messages.{number}: {kind} is not allowed in a message of the {role}")
    if kind == "text" and not block["text"].strip():
        raise Rule(f"messages.{number}: text content blocks must contain non-whitespace text")
    if kind == "tool_result" and (not isinstance(block["content"], str) or not block["content"]):
        raise Rule(f"messages.{number}: tool_result content is empty")
    if kind in ("thinking", "redacted_thinking") and "cache_control" in block:
        raise Rule(f"messages.{number}: thinking blocks can't have cache_control")
    if kind == "tool_use" and (
        not isinstance(block["input"], dict)
        or not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
        or not NAME.fullmatch(block["name"])
    ):
        raise Rule(f"messages.{number}: tool_use is not valid")


def _check_pairs(message: dict[str, Any], open_calls: list[str], number: int) -> list[str]:
    content = message["content"]
    if message["role"] == "assistant":
        return [block["id"] for block in content if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    if sorted(results) != sorted(open_calls):
        raise Rule(f"messages.{number}: tool_use ids without exactly one tool_result each: {open_calls} and {results}")
    kinds = [block["type"] for block in content]
    if kinds[: len(results)] != ["tool_result"] * len(results):
        raise Rule(f"messages.{number}: tool_result blocks must come first")
    return []
