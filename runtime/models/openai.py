"""OpenAI-compatible servers (vLLM, SGLang, Ollama, llama.cpp, hosted ones) over plain HTTP: streaming, one try per call."""

from __future__ import annotations

import asyncio
import importlib
import json
import time
from collections.abc import AsyncGenerator
from typing import Any

from runtime.models.base import (
    ArgumentsPiece,
    CallFault,
    Message,
    ModelCallError,
    Piece,
    Reply,
    Request,
    Stop,
    Text,
    TextPiece,
    Thinking,
    UsageSoFar,
)
from runtime.models.openai_wire import STOPS, CallParts, request_body, usage_of
from runtime.models.wire import fault_of_status, retry_after_s
from runtime.prompt.estimate import BYTES_PER_TOKEN, estimate_tokens
from runtime.prompt.system import gave_up
from runtime.text import one_line, storable
from runtime.usage import Usage

CONNECT_TIMEOUT_S = 15.0
ERROR_CHARACTERS = 400


class OpenAIModel:
    """A model behind a chat-completions endpoint. `base_url` may end with /v1 or not."""

    provider = "openai-compatible"

    def __init__(self, name: str, base_url: str, api_key: str | None = None, silence_s: float = 120.0) -> None:
        self.name = name
        self._url = _endpoint(base_url)
        self._api_key = api_key
        self._silence_s = silence_s
        self._client: Any = None

    async def _connected(self) -> Any:
        if self._client is None:
            http = await asyncio.to_thread(importlib.import_module, "httpx2")
            headers = {"authorization": f"Bearer {self._api_key}"} if self._api_key else {}
            timeout = http.Timeout(self._silence_s, connect=CONNECT_TIMEOUT_S)
            self._client = http.AsyncClient(headers=headers, timeout=timeout)
        return self._client

    async def close(self) -> None:
        """Close the connection pool."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """One try of a call; see Model."""
        client = await self._connected()
        http = importlib.import_module("httpx2")
        reading = _Reading(self.name, request)
        try:
            async with client.stream("POST", self._url, json=request_body(request)) as response:
                if response.status_code != 200:
                    raise _status_error(response, (await response.aread()).decode("utf-8", "replace"))
                reading.request_id = response.headers.get("x-request-id")
                async for line in response.aiter_lines():
                    for piece in reading.take(line):
                        yield piece
                    if reading.done:
                        break
        except (http.HTTPError, http.InvalidURL, http.StreamError) as error:
            raise self._broken(error, reading) from error
        yield reading.reply()

    def _broken(self, error: Exception, reading: _Reading) -> ModelCallError:
        silent = "Timeout" in type(error).__name__ and "Connect" not in type(error).__name__
        if reading.started:
            return ModelCallError(
                CallFault.SILENT if silent else CallFault.CUT,
                f"the connection to {self._url} broke while the reply streamed in",
                usage=reading.usage_so_far(),
            )
        if silent:
            return ModelCallError(CallFault.SILENT, f"{self._url} did not answer in time", sent=True)
        fault = CallFault.CONNECTION if "URL" not in type(error).__name__ else CallFault.INVALID
        words = one_line(str(error), 200) or type(error).__name__
        return ModelCallError(fault, f"{self._url} can't be reached: {words}", sent=False)


def _endpoint(base_url: str) -> str:
    base = base_url.rstrip("/")
    if base.endswith("/chat/completions"):
        return base
    return f"{base}/chat/completions" if base.rsplit("/", 1)[-1].startswith("v") else f"{base}/v1/chat/completions"


def _status_error(response: Any, body: str) -> ModelCallError:
    kind, text = "", body
    try:
        data = json.loads(body)
        error = data.get("error", data) if isinstance(data, dict) else {}
        if isinstance(error, str):
            text = error
        elif isinstance(error, dict):
            text = str(error.get("message") or body)
            kind = str(error.get("code") or error.get("type") or "")
    except ValueError:
        pass
    status = int(response.status_code)
    return ModelCallError(
        fault_of_status(status, kind, text),
        one_line(f"{status}: {text}", ERROR_CHARACTERS),
        status=status,
        retry_after_s=retry_after_s(response.headers),
        sent=False,
    )


class _Reading:
    """Reads one stream of chunks."""

    def __init__(self, model: str, request: Request) -> None:
        self._request = request
        self._answering = model
        self._began = time.monotonic()
        self._first: float | None = None
        self._id: str | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[int, CallParts] = {}
        self._finish = ""
        self._usage: Usage | None = None
        self._bytes = 0
        self.request_id: str | None = None
        self.started = False
        self.done = False

    def take(self, line: str) -> list[Piece]:
        """Pieces that a line of the stream brings."""
        if not line.startswith("data:"):
            return []
        payload = line[5:].strip()
        if payload == "[DONE]":
            self.done = True
            return []
        try:
            chunk = json.loads(payload)
        except ValueError:
            raise ModelCallError(
                CallFault.CUT, "the server sent a chunk that is not JSON", usage=self.usage_so_far()
            ) from None
        if not isinstance(chunk, dict):
            return []
        if chunk.get("error"):
            error = chunk["error"]
            text = error.get("message") if isinstance(error, dict) else error
            raise ModelCallError(CallFault.SERVER, one_line(str(text), ERROR_CHARACTERS), usage=self.usage_so_far())
        self.started = True
        self._id = chunk.get("id") or self._id
        self._answering = chunk.get("model") or self._answering
        return self._choices(chunk) + self._counted(chunk)

    def _counted(self, chunk: dict[str, Any]) -> list[Piece]:
        usage = usage_of(chunk)
        if usage is None:
            return []
        self._usage = usage
        return [UsageSoFar(usage=usage)]

    def _choices(self, chunk: dict[str, Any]) -> list[Piece]:
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return []
        choice = choices[0]
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta")
        return self._delta(delta) if isinstance(delta, dict) else []

    def _delta(self, delta: dict[str, Any]) -> list[Piece]:
        pieces: list[Piece] = []
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        for text, kept, is_thinking in ((thinking, self._thinking, True), (delta.get("content"), self._text, False)):
            if isinstance(text, str) and text:
                kept.append(text)
                self._bytes += len(text.encode("utf-8", "replace"))
                pieces.append(TextPiece(text=storable(text), thinking=is_thinking))
        for call in delta.get("tool_calls") or []:
            if isinstance(call, dict):
                index = call.get("index")
                parts = self._calls.setdefault(index if isinstance(index, int) else len(self._calls), CallParts())
                size = parts.add(call)
                self._bytes += size
                pieces.append(ArgumentsPiece(size=size))
        if pieces and self._first is None:
            self._first = time.monotonic()
        return pieces

    def usage_so_far(self) -> Usage:
        """What the server reported; else our own estimates, marked as such."""
        if self._usage is not None:
            return self._usage
        output = -(-self._bytes // BYTES_PER_TOKEN)
        return Usage(input=estimate_tokens(self._request), output=output, estimated=("input", "output"))

    def reply(self) -> Reply:
        """The whole reply. Raises ModelCallError where the stream ended without its end."""
        if not self._finish:
            raise ModelCallError(
                CallFault.CUT,
                "the stream ended before the reply did",
                usage=self.usage_so_far() if self.started else None,
            )
        blocks: list[Any] = []
        if self._thinking:
            blocks.append(Thinking(text=storable("".join(self._thinking))))
        text = storable("".join(self._text))
        if text:
            blocks.append(Text(text=text))
        blocks += [parts.call(number, self._finish) for number, parts in sorted(self._calls.items())]
        stop = STOPS.get(self._finish, Stop.UNKNOWN)
        return Reply(
            message=Message(role="assistant", blocks=tuple(blocks)),
            stop=stop,
            stop_detail=one_line(self._finish, 100),
            gave_up=gave_up(text) if stop is Stop.END_TURN and not self._calls else "",
            usage=self.usage_so_far(),
            model=self._answering,
            request_id=self.request_id or self._id,
            message_id=self._id,
            latency_ms=int((time.monotonic() - self._began) * 1000),
            ttft_ms=int((self._first - self._began) * 1000) if self._first is not None else None,
        )
