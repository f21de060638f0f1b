"""A scripted model server on the loopback that speaks both wire forms and is as strict about requests as the real ones.

A script is a list of turns, played in order, the last one again for ever; a turn may be a function of the request. Run as a
program it serves a JSON script: `python -m support.scripted_server --script FILE [--port N]` prints its address.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from support import chat_wire, messages_wire
from support.cache_model import CacheModel, Counted
from support.chat_rules import PrefixCache, check_chat
from support.http_loopback import Connection, Loopback, Received
from support.messages_memory import Memory
from support.messages_rules import Rule, check_request
from support.scripted_turn import Turn, call, refuse, text

__all__ = ["ScriptedServer", "Turn", "call", "refuse", "text"]

API_VERSIONS = ("2023-06-01", "2026-10-21")
Scripted = Turn | Callable[[dict[str, Any]], Turn]


@dataclass
class ScriptedServer:
    """Plays a script; keeps every request and what each cost."""

    script: Sequence[Scripted]
    clock: Callable[[], float] = time.monotonic
    chat_usage: str = "cached"
    """What a chat-completions stream reports: `cached`, `plain` (no cache detail), `none`, `timings` (llama.cpp)."""
    models: Sequence[str] = ()
    """Names that are known; empty: every name."""
    diagnostics: bool = True
    """Whether the Messages side knows cache diagnostics; else it refuses the field as unknown."""
    port: int = 0

    def __post_init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.counted: list[Counted] = []
        """What each whole answer cost."""
        self.broken: list[Counted] = []
        """What answers cost that broke off after they had begun."""
        self.rules: list[str] = []
        """Every refusal for a broken rule."""
        self.outputs: list[int] = []
        self.cache = CacheModel(self.clock)
        self.prompts = PrefixCache()
        self.chat_counted: list[tuple[int, int]] = []
        """Prompt tokens, and how many of them were cached, of every chat request."""
        self.memory = Memory()
        self._loopback = Loopback(self._handle, self.port)

    async def __aenter__(self) -> Self:
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
        messages = request.path.endswith("/v1/messages")
        if not messages and not request.path.endswith("/chat/completions"):
            await connection.answer(404, _error("not_found_error", f"no such path: {request.path}"))
            return
        body = request.json()
        turn = self._turn(body)
        if turn.fault == "no answer":
            connection.cut()
            return
        if turn.status != 200:
            words = turn.words or f"{turn.error} on purpose"
            await connection.answer(turn.status, _error(turn.error, words), turn.headers)
            return
        try:
            self._check(request, body, messages)
        except Rule as rule:
            self.rules.append(str(rule))
            await connection.answer(400, _error("invalid_request_error", str(rule)))
            return
        if self.models and body["model"] not in self.models:
            await connection.answer(404, _error("not_found_error", f"model: {body['model']}"))
            return
        self.bodies.append(body)
        await (self._messages if messages else self._chat)(turn, body, connection)

    def _check(self, request: Received, body: dict[str, Any], messages: bool) -> None:
        if not messages:
            check_chat(body)
            return
        keyed = "x-api-key" in request.headers or "authorization" in request.headers
        if not keyed or request.headers.get("anthropic-version") not in API_VERSIONS:
            raise Rule("a key and anthropic-version are required")
        if not self.diagnostics and "diagnostics" in body:
            raise Rule("diagnostics: Extra inputs are not permitted")
        check_request(body)
        self.memory.check(body)

    async def _messages(self, turn: Turn, body: dict[str, Any], connection: Connection) -> None:
        counted = self.cache.count(body)
        if turn.begin is not None:
            await turn.begin.wait()
        number = len(self.received)
        blocks = messages_wire.signed(turn.blocks, number)
        self.broken.append(counted)
        answer = messages_wire.Answer(turn, blocks, f"msg_{number}", f"req_{id(self)}_{number}")
        self.memory.remember(body, blocks, answer.message_id)
        diagnosis = self.memory.diagnose(body)
        begun = lambda: self.cache.commit(counted)  # noqa: E731 - a name for the callback where it is handed over
        if await messages_wire.play(connection, answer, body["model"], counted, diagnosis, begun):
            self.broken.remove(counted)
            self.counted.append(counted)
            self.outputs.append(turn.output_tokens)

    async def _chat(self, turn: Turn, body: dict[str, Any], connection: Connection) -> None:
        prompt, cached = self.prompts.count(body)
        self.chat_counted.append((prompt, cached))
        number = len(self.received)
        usage = chat_wire.usage_of(turn, self.chat_usage, prompt, cached)
        if await chat_wire.play(connection, turn, body["model"], f"{id(self)}_{number}", usage):
            self.outputs.append(turn.output_tokens)


def _error(kind: str, words: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": words}}


async def _main(script: Path, port: int, log: Path | None) -> None:
    turns = [Turn(**turn) for turn in json.loads(script.read_text())]
    async with ScriptedServer(turns, port=port) as server:
        print(server.url, flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            if log is not None:
                log.write_bytes(b"".join(request.body + b"\n" for request in server.received))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="a JSON list of turns")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", type=Path, help="where the requests are written at the end, one a line")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(options.script, options.port, options.log))
