"""A scripted model server on the loopback that speaks both wire forms and is as strict about requests as the real ones.

A script is a list of turns, played in order, the last one again for ever; a turn may be a function of the request. Run as a
program it serves a JSON script: `python -m support.scripted_server SCRIPT.json` prints its address.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.cache_model import CacheModel, Counted
from support.http_loopback import Connection, Loopback, Received
from support.messages_rules import Rule, check_request


@dataclass
class Turn:
    """One answer. `blocks` as the Messages API has them. `fault` breaks it: see `SPOILED`."""

    blocks: list[dict[str, Any]] = field(default_factory=list)
    stop: str = "end_turn"
    usage: list[dict[str, Any]] | None = None
    """Usage objects instead of the simulated ones: the first for the start event, the others for deltas."""
    status: int = 200
    error: str = "overloaded_error"
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    gate: asyncio.Event | None = None
    """Waited for in the middle of the stream."""
    output_tokens: int = 20


def text(words: str, stop: str = "end_turn", **more: Any) -> Turn:
    """A turn of text."""
    return Turn([{"type": "text", "text": words}], stop, **more)


def call(name: str, call_id: str = "toolu_1", /, **arguments: Any) -> Turn:
    """A turn with one tool call."""
    return Turn([{"type": "tool_use", "id": call_id, "name": name, "input": arguments}], "tool_use")


def refuse(status: int, error: str = "overloaded_error", **headers: str) -> Turn:
    """A turn that is refused with a status."""
    return Turn(status=status, error=error, headers={name.replace("_", "-"): value for name, value in headers.items()})


Scripted = Turn | Callable[[dict[str, Any]], Turn]


@dataclass
class ScriptedServer:
    """Plays a script; keeps every request and what each cost."""

    script: Sequence[Scripted]
    clock: Callable[[], float] = time.monotonic
    chat_usage: str = "cached"
    """What a chat-completions stream reports: `cached`, `plain` (no cache detail), `none`."""

    def __post_init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.counted: list[Counted] = []
        self.rules: list[str] = []
        self.cache = CacheModel(self.clock)
        self.outputs: list[int] = []
        self._loopback = Loopback(self._handle)

    async def __aenter__(self) -> ScriptedServer:
        await self._loopback.__aenter__()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._loopback.__aexit__(*failure)

    @property
    def url(self) -> str:
        return self._loopback.url

    @property
    def received(self) -> list[Received]:
        """Every request, refused ones too, with its exact bytes."""
        return self._loopback.received

    def _turn(self, body: dict[str, Any]) -> Turn:
        step = self.script[min(len(self.received), len(self.script)) - 1]
        return step if isinstance(step, Turn) else step(body)

    async def _handle(self, request: Received, connection: Connection) -> None:
        messages = request.path.endswith("/messages")
        if not messages and not request.path.endswith("/chat/completions"):
            await connection.answer(
                404, {"type": "error", "error": {"type": "not_found_error", "message": "not found"}}
            )
            return
        body = request.json()
        turn = self._turn(body)
        if turn.status != 200:
            error = {"type": "error", "error": {"type": turn.error, "message": f"{turn.error} on purpose"}}
            await connection.answer(turn.status, error, turn.headers)
            return
        try:
            check_request(body) if messages else check_chat(body)
        except Rule as rule:
            self.rules.append(str(rule))
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": str(rule)}}
            await connection.answer(400, error)
            return
        self.bodies.append(body)
        await (self._messages if messages else self._chat)(turn, body, connection)

    async def _messages(self, turn: Turn, body: dict[str, Any], connection: Connection) -> None:
        counted = self.cache.count(body)
        number = len(self.received)
        start = {
            "input_tokens": counted.fresh,
            "cache_creation_input_tokens": counted.written_5m + counted.written_1h,
            "cache_read_input_tokens": counted.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": counted.written_5m,
                "ephemeral_1h_input_tokens": counted.written_1h,
            },
            "output_tokens": 1,
        }
        usages = turn.usage or [start, {"output_tokens": turn.output_tokens}]
        message = {
            **{"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"], "content": []},
            **{"stop_reason": None, "stop_sequence": None, "usage": usages[0]},
        }
        await connection.begin_stream({"request-id": f"req_{id(self)}_{number}", **turn.headers})
        await connection.event({"type": "message_start", "message": message}, "message_start")
        await connection.event({"type": "ping"}, "ping")
        for index, block in enumerate(turn.blocks):
            if not await self._block(turn, index, block, connection):
                return
        if turn.gate is not None:
            await turn.gate.wait()
        if turn.fault == "error":
            error = {"type": turn.error, "message": f"{turn.error} in the middle"}
            await connection.event({"type": "error", "error": error}, "error")
            connection.cut()
            return
        if turn.fault == "no end":
            await connection.end_stream()
            return
        for usage in usages[1:]:
            delta = {"stop_reason": turn.stop, "stop_sequence": None}
            await connection.event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
        await connection.event({"type": "message_stop"}, "message_stop")
        await connection.end_stream()
        self.counted.append(counted)
        self.outputs.append(turn.output_tokens)

    async def _block(self, turn: Turn, index: int, block: dict[str, Any], connection: Connection) -> bool:
        kind = block["type"]
        empty: dict[str, Any] = {"text": {"type": "text", "text": ""}, "tool_use": {**block, "input": {}}}.get(
            kind
        ) or {**{"type": "thinking", "thinking": "", "signature": ""}}
        await connection.event(
            {"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start"
        )
        if kind == "tool_use":
            raw = block.get("raw", json.dumps(block["input"]))
            pieces = [{"type": "input_json_delta", "partial_json": raw[n : n + 40]} for n in range(0, len(raw), 40)]
        elif kind == "text":
            words = block["text"]
            pieces = [{"type": "text_delta", "text": words[n : n + 12]} for n in range(0, len(words), 12)]
        else:
            pieces = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        for piece in pieces:
            await connection.event(
                {"type": "content_block_delta", "index": index, "delta": piece}, "content_block_delta"
            )
        if turn.fault == "cut":
            connection.cut()
            return False
        if turn.fault != "block not closed":
            await connection.event({"type": "content_block_stop", "index": index}, "content_block_stop")
        return True

    async def _chat(self, turn: Turn, body: dict[str, Any], connection: Connection) -> None:
        await connection.begin_stream({"x-request-id": f"chat_{id(self)}_{len(self.received)}"})
        base = {"id": f"chatcmpl-{len(self.received)}", "object": "chat.completion.chunk", "model": body["model"]}

        async def chunk(delta: dict[str, Any], finish: str | None = None) -> None:
            await connection.event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        number = 0
        for block in turn.blocks:
            if block["type"] == "text":
                for at in range(0, len(block["text"]), 12):
                    await chunk({"content": block["text"][at : at + 12]})
            elif block["type"] == "thinking":
                await chunk({"reasoning_content": block["thinking"]})
            else:
                raw = block.get("raw", json.dumps(block["input"]))
                head = {"index": number, "id": block["id"], "type": "function"}
                await chunk({"tool_calls": [{**head, "function": {"name": block["name"], "arguments": ""}}]})
                for at in range(0, len(raw), 40):
                    await chunk({"tool_calls": [{"index": number, "function": {"arguments": raw[at : at + 40]}}]})
                number += 1
            if turn.fault == "cut":
                connection.cut()
                return
        if turn.gate is not None:
            await turn.gate.wait()
        if turn.fault == "no end":
            await connection.end_stream()
            return
        words = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}
        await chunk({}, words.get(turn.stop, turn.stop))
        if self.chat_usage != "none":
            usage: dict[str, Any] = (turn.usage or [{"prompt_tokens": 1000, "completion_tokens": turn.output_tokens}])[
                -1
            ]
            if self.chat_usage == "cached" and turn.usage is None:
                usage = {**usage, "prompt_tokens_details": {"cached_tokens": 600}}
            await connection.event({**base, "choices": [], "usage": usage})
        await connection.event("[DONE]")
        await connection.end_stream()
        self.outputs.append(turn.output_tokens)


def check_chat(body: dict[str, Any]) -> None:
    """Raise Rule for what a chat-completions server refuses: roles, and a result after every call."""
    if not body.get("stream_options", {}).get("include_usage"):
        raise Rule("stream_options.include_usage was not asked for")
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
            waiting = [one["id"] for one in message.get("tool_calls", [])]
            if not waiting and not message.get("content"):
                raise Rule(f"messages.{number}: nothing in it")
        elif not message["content"].strip():
            raise Rule(f"messages.{number}: empty text")


async def _main(path: str) -> None:
    script = [Turn(**turn) for turn in json.loads(Path(path).read_text())]
    async with ScriptedServer(script) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
