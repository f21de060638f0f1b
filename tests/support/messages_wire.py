"""Streams an answer as the Messages API does, with every way in which it may break."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from support.cache_model import Counted
from support.http_loopback import Connection
from support.scripted_turn import Turn

TEXT_PIECE, JSON_PIECE = 12, 40


@dataclass(frozen=True)
class Answer:
    """One answer with its ids; `blocks` with their signatures."""

    turn: Turn
    blocks: list[dict[str, Any]]
    message_id: str
    request_id: str


def signed(blocks: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """The blocks, reasoning with a signature of its own where the script gives none."""
    return [
        {**block, "signature": f"sig{number}x{index}"}
        if block["type"] == "thinking" and "signature" not in block
        else block
        for index, block in enumerate(blocks)
    ]


async def play(
    connection: Connection,
    answer: Answer,
    model: str,
    counted: Counted,
    diagnosis: dict[str, Any] | None,
    begun: Callable[[], None],
) -> bool:
    """Send the answer; whether it came to its end."""
    turn = answer.turn
    usages = turn.usage or [_start_usage(counted), {"output_tokens": turn.output_tokens}]
    message: dict[str, Any] = {
        **{"id": answer.message_id, "type": "message", "role": "assistant", "model": model, "content": []},
        **{"stop_reason": None, "stop_sequence": None, "usage": usages[0]},
    }
    if diagnosis is not None:
        message["diagnostics"] = diagnosis
    await connection.begin_stream({"request-id": answer.request_id, **turn.headers})
    begun()
    await connection.event({"type": "message_start", "message": message}, "message_start")
    await connection.event({"type": "ping"}, "ping")
    for index, block in enumerate(answer.blocks):
        if not await _block(turn, index, block, connection):
            return False
    if turn.gate is not None:
        await turn.gate.wait()
    if turn.fault == "silent":
        await connection.event({"type": "ping"}, "ping")
        await asyncio.Event().wait()
    if turn.fault == "not json":
        await connection.event("{half", "content_block_delta")
    if turn.fault == "error":
        error = {"type": turn.error, "message": turn.words or f"{turn.error} in the middle"}
        await connection.event({"type": "error", "error": error}, "error")
        connection.cut()
        return False
    if turn.fault == "no end":
        await connection.end_stream()
        return False
    for usage in usages[1:]:
        delta = {"stop_reason": turn.stop, "stop_sequence": None}
        await connection.event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
    await connection.event({"type": "message_stop"}, "message_stop")
    await connection.end_stream()
    return True


def _start_usage(counted: Counted) -> dict[str, Any]:
    return {
        "input_tokens": counted.fresh,
        "cache_creation_input_tokens": counted.written_5m + counted.written_1h,
        "cache_read_input_tokens": counted.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counted.written_5m,
            "ephemeral_1h_input_tokens": counted.written_1h,
        },
        "output_tokens": 1,
    }


async def _block(turn: Turn, index: int, block: dict[str, Any], connection: Connection) -> bool:
    opening, pieces = _parts(block)
    start = {"type": "content_block_start", "index": index, "content_block": opening}
    await connection.event(start, "content_block_start")
    for piece in pieces:
        delta = {"type": "content_block_delta", "index": index, "delta": piece}
        await connection.event(delta, "content_block_delta")
    if turn.fault == "cut":
        connection.cut()
        return False
    if turn.fault != "block not closed":
        await connection.event({"type": "content_block_stop", "index": index}, "content_block_stop")
    return True


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a block's start event carries, and its deltas."""
    kind = block["type"]
    if kind == "tool_use":
        raw = block.get("raw", json.dumps(block["input"]))
        opening = {"type": kind, "id": block["id"], "name": block["name"], "input": {}}
        cuts = range(0, len(raw), JSON_PIECE)
        return opening, [{"type": "input_json_delta", "partial_json": raw[n : n + JSON_PIECE]} for n in cuts]
    if kind == "text":
        words = block["text"]
        cuts = range(0, len(words), TEXT_PIECE)
        return {"type": kind, "text": ""}, [{"type": "text_delta", "text": words[n : n + TEXT_PIECE]} for n in cuts]
    if kind == "thinking":
        return {"type": kind, "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    return block, []
