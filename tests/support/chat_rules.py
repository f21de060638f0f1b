"""What a chat-completions server refuses, and its prefix cache: by blocks of tokens, without marks."""

from __future__ import annotations

import json
from typing import Any

from support.messages_rules import Rule

FIELDS = {
    "model", "messages", "tools", "stream", "stream_options", "max_tokens", "max_completion_tokens", "reasoning_effort",
    "tool_choice", "parallel_tool_calls",
}  # fmt: skip
BLOCK_TOKENS = 16
BYTES_PER_TOKEN = 4


def check_chat(body: Any) -> None:
    """Raise Rule for fields, roles, and calls without results."""
    if not isinstance(body, dict) or set(body) - FIELDS:
        raise Rule(f"unknown fields: {sorted(set(body) - FIELDS)}")
    try:
        _check(body)
    except (KeyError, TypeError, AttributeError) as error:
        raise Rule(f"a field is missing or of the wrong type: {error!r}") from error


def _check(body: dict[str, Any]) -> None:
    if not body.get("stream_options", {}).get("include_usage"):
        raise Rule("stream_options.include_usage was not asked for")
    if not isinstance(body.get("max_tokens", body.get("max_completion_tokens")), int):
        raise Rule("max_tokens: missing")
    waiting: list[str] = []
    for number, message in enumerate(body["messages"]):
        role = message["role"]
        if role not in ("system", "user", "assistant", "tool") or (role == "system" and number):
            raise Rule(f"messages.{number}: unexpected role {role}")
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                raise Rule(f"messages.{number}: a result without its call")
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise Rule(f"messages.{number}: calls without results: {waiting}")
        if role == "assistant":
            waiting = _calls(message, number)
        elif not message["content"].strip():
            raise Rule(f"messages.{number}: empty text")
    if waiting or body["messages"][-1]["role"] == "assistant":
        raise Rule("messages: the last message must be the user's or a tool's, with a result for every call")


def _calls(message: dict[str, Any], number: int) -> list[str]:
    calls = message.get("tool_calls", [])
    ids = [one["id"] for one in calls]
    if not ids and not message.get("content"):
        raise Rule(f"messages.{number}: nothing in it")
    if len(set(ids)) != len(ids) or not all(ids):
        raise Rule(f"messages.{number}: ids of calls must be there and differ")
    for one in calls:
        try:
            json.loads(one["function"]["arguments"])
        except ValueError:
            raise Rule(f"messages.{number}: arguments are not JSON") from None
    return ids


class PrefixCache:
    """Counts a prompt's tokens, and how many stood in an earlier prompt's beginning."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def count(self, body: dict[str, Any]) -> tuple[int, int]:
        """Tokens of the prompt, and how many of them are cached."""
        rendered = json.dumps(body.get("tools", [])) + "".join(json.dumps(message) for message in body["messages"])
        shared = max((_common(rendered, seen) for seen in self._seen), default=0)
        self._seen.append(rendered)
        prompt = -(-len(rendered) // BYTES_PER_TOKEN)
        return prompt, shared // BYTES_PER_TOKEN // BLOCK_TOKENS * BLOCK_TOKENS


def _common(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a.startswith(b[:middle]) else (low, middle - 1)
    return low
