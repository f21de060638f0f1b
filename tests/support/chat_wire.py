"""Streams an answer as chat-completions servers do, with every way in which it may break."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from support.http_loopback import Connection
from support.scripted_turn import Turn

STOPS = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}
TEXT_PIECE, JSON_PIECE = 12, 40


def usage_of(turn: Turn, reports: str, prompt: int, cached: int) -> dict[str, Any]:
    """What the last chunk carries: `usage`, llama.cpp's `timings`, or nothing."""
    if turn.usage:
        return {"usage": turn.usage[-1]}
    if reports == "none":
        return {}
    if reports == "timings":
        return {"timings": {"cache_n": cached, "prompt_n": prompt - cached, "predicted_n": turn.output_tokens}}
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": turn.output_tokens}
    if reports == "cached":
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return {"usage": usage}


async def play(connection: Connection, turn: Turn, model: str, number: str, usage: dict[str, Any]) -> bool:
    """Send the answer; whether it came to its end."""
    base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": model}
    if turn.fault == "whole":
        await connection.answer(200, {**base, **usage, "choices": [_whole(turn)]})
        return True
    await connection.begin_stream({"x-request-id": f"chat_{number}", **turn.headers})

    async def chunk(delta: dict[str, Any], finish: str | None = None) -> None:
        await connection.event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    for delta in _deltas(turn):
        await chunk(delta)
    if turn.gate is not None:
        await turn.gate.wait()
    if turn.fault == "cut":
        connection.cut()
        return False
    if turn.fault == "silent":
        await asyncio.Event().wait()
    if turn.fault == "not json":
        await connection.event("{half")
    if turn.fault == "error":
        await connection.event({"error": {"type": turn.error, "message": turn.words or f"{turn.error} in the middle"}})
    if turn.fault in ("error", "no end"):
        await connection.end_stream()
        return False
    if turn.stop is not None:
        await chunk({}, STOPS.get(turn.stop, turn.stop))
    if usage:
        await connection.event({**base, "choices": [], **usage})
    await connection.event("[DONE]")
    await connection.end_stream()
    return True


def _deltas(turn: Turn) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    number = 0
    for block in turn.blocks:
        if block["type"] == "text":
            deltas += [{"content": piece} for piece in _cut(block["text"], TEXT_PIECE)]
        elif block["type"] == "thinking":
            deltas.append({"reasoning_content": block["thinking"]})
        else:
            head = {"index": number, "id": block["id"], "type": "function"}
            deltas.append({"tool_calls": [{**head, "function": {"name": block["name"], "arguments": ""}}]})
            deltas += [
                {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}
                for piece in _cut(block.get("raw", json.dumps(block["input"])), JSON_PIECE)
            ]
            number += 1
    return deltas


def _whole(turn: Turn) -> dict[str, Any]:
    words = "".join(block["text"] for block in turn.blocks if block["type"] == "text")
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": block.get("raw", json.dumps(block["input"]))},
        }
        for block in turn.blocks
        if block["type"] == "tool_use"
    ]
    message: dict[str, Any] = {"role": "assistant", "content": words or None}
    if calls:
        message["tool_calls"] = calls
    return {"index": 0, "message": message, "finish_reason": STOPS.get(str(turn.stop), turn.stop)}


def _cut(value: str, size: int) -> list[str]:
    return [value[at : at + size] for at in range(0, len(value), size)]
