"""Checks a Messages request as strictly as the real API does; a broken rule is the sentence of a 400."""

from __future__ import annotations

import re
from typing import Any

FIELDS = {
    "model", "max_tokens", "system", "tools", "messages", "stream", "thinking", "output_config", "tool_choice", "metadata",
    "stop_sequences", "cache_control", "diagnostics", "service_tier",
}  # fmt: skip
BLOCKS = {"text", "tool_use", "tool_result", "thinking", "redacted_thinking"}
MAX_MARKS = 4


class Rule(Exception):
    """A rule that a request breaks."""


def check_request(body: Any) -> None:
    """Raise Rule for the first thing that the API would refuse."""
    if not isinstance(body, dict):
        raise Rule("the body is no object")
    unknown = set(body) - FIELDS
    if unknown:
        raise Rule(f"{min(unknown)}: Extra inputs are not permitted")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        raise Rule("max_tokens: must be at least 1")
    marks = []
    for tool in body.get("tools", []):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]) or tool["input_schema"].get("type") != "object":
            raise Rule(f"tools: {tool['name']} is not valid")
        marks += [tool["cache_control"]] if "cache_control" in tool else []
    for block in body.get("system", []):
        if block["type"] != "text" or not block["text"]:
            raise Rule("system: text content blocks must be non-empty")
        marks += [block["cache_control"]] if "cache_control" in block else []
    marks += _check_messages(body["messages"])
    if len(marks) > MAX_MARKS:
        raise Rule(f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {len(marks)}.")
    lifetimes = [mark.get("ttl", "5m") for mark in marks]
    if lifetimes != sorted(lifetimes, key=("1h", "5m").index):
        raise Rule("cache_control: a longer ttl must come before a shorter one")


def _check_messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not messages or messages[0]["role"] != "user":
        raise Rule("messages: first message must use the user role")
    marks = []
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        content = message["content"]
        if message["role"] not in ("user", "assistant"):
            raise Rule(f"messages.{number}: Unexpected role")
        if number and messages[number - 1]["role"] == message["role"]:
            raise Rule(f"messages.{number}: roles must alternate here, so that nothing hides in a merge")
        if not isinstance(content, list) or not content:
            raise Rule(f"messages.{number}: content must be non-empty")
        for block in content:
            _check_block(block, number)
            marks += [block["cache_control"]] if "cache_control" in block else []
        open_calls = _check_pairs(message, open_calls, number)
    if open_calls or messages[-1]["role"] != "user":
        raise Rule("messages: the last message must be the user's, with a result for every call")
    return marks


def _check_block(block: dict[str, Any], number: int) -> None:
    kind = block.get("type")
    if kind not in BLOCKS:
        raise Rule(f"messages.{number}: block type {kind!r}")
    if kind == "text" and not block["text"].strip():
        raise Rule(f"messages.{number}: text content blocks must contain non-whitespace text")
    if kind == "tool_result" and (not isinstance(block["content"], str) or not block["content"]):
        raise Rule(f"messages.{number}: tool_result content is empty")
    if kind in ("thinking", "redacted_thinking") and "cache_control" in block:
        raise Rule(f"messages.{number}: thinking blocks can't have cache_control")
    if kind == "tool_use" and (
        not isinstance(block["input"], dict) or not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
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


def without_marks(value: Any) -> Any:
    """The same data without cache_control, for comparing prefixes."""
    if isinstance(value, dict):
        return {name: without_marks(item) for name, item in value.items() if name != "cache_control"}
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    return value
