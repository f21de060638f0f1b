"""OpenAI-compatible servers (vLLM, SGLang, Ollama, llama.cpp, hosted ones) over plain HTTP: streaming, one try per call."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
from collections.abc import AsyncGenerator
from typing import Any

from runtime.catalog.models import facts_of
from runtime.catalog.providers import provider_of
from runtime.models.base import CallFault, ModelCallError, Piece, Request
from runtime.models.openai_stream import ERROR_CHARACTERS, Reading, error_words
from runtime.models.openai_wire import Lines, request_body
from runtime.models.wire import fault_of_status, retry_after_s
from runtime.text import one_line

CONNECT_TIMEOUT_S = 15.0
DRAIN_S = 0.5
"""How long the end of a stream may take once its last event was read; then its connection isn't kept."""
MALFORMED = ("UnsupportedProtocol", "LocalProtocolError", "InvalidURL")
NEVER_SENT = (*MALFORMED, "ConnectError", "ConnectTimeout", "PoolTimeout")


class OpenAIModel:
    """A model behind a chat-completions endpoint. `base_url` may end with /v1 or not."""

    def __init__(self, name: str, base_url: str, api_key: str | None = None, silence_s: float = 120.0) -> None:
        self.name = name
        self.provider = provider_of(base_url)
        self.lane = f"{base_url} {hash(api_key)}"
        self._url = _endpoint(base_url)
        self._api_key = api_key
        self._silence_s = silence_s
        # The newest hosted models refuse the old name of the limit; most other servers know only that.
        self._limit_field = "max_completion_tokens" if self.provider == "openai" else "max_tokens"
        self._context = facts_of(name).context
        self._client: Any = None

    async def _connected(self) -> Any:
        if self._client is None:
            self._client = await asyncio.to_thread(self._connect)
        return self._client

    def _connect(self) -> Any:
        http = importlib.import_module("httpx2")
        headers = {"authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        timeout = http.Timeout(self._silence_s, connect=CONNECT_TIMEOUT_S)
        return http.AsyncClient(headers=headers, timeout=timeout)

    async def close(self) -> None:
        """Close the connection pool."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """One try of a call; see Model."""
        client = await self._connected()
        http = importlib.import_module("httpx2")
        reading = Reading(self.name, request, self._context)
        try:
            body = request_body(request, self._limit_field)
            async with client.stream("POST", self._url, json=body) as response:
                if response.status_code != 200:
                    raise _status_error(response, (await response.aread()).decode("utf-8", "replace"))
                reading.request_id = response.headers.get("x-request-id")
                if "event-stream" not in response.headers.get("content-type", "event-stream"):
                    for piece in reading.take_whole((await response.aread()).decode("utf-8", "replace")):
                        yield piece
                else:
                    async with contextlib.aclosing(_events(response, reading)) as pieces:
                        async for piece in pieces:
                            yield piece
        except (http.HTTPError, http.InvalidURL, http.StreamError) as error:
            raise self._broken(error, reading) from error
        yield reading.reply()

    def _broken(self, error: Exception, reading: Reading) -> ModelCallError:
        kind = type(error).__name__
        silent = "Timeout" in kind and "Connect" not in kind
        if reading.started:
            return ModelCallError(
                CallFault.SILENT if silent else CallFault.CUT,
                f"the connection to {self._url} broke while the reply streamed in",
                usage=reading.usage_so_far(),
            )
        if silent:
            return ModelCallError(CallFault.SILENT, f"{self._url} did not answer in time", sent=kind not in NEVER_SENT)
        fault = CallFault.INVALID if kind in MALFORMED else CallFault.CONNECTION
        words = one_line(str(error), 200) or kind
        return ModelCallError(fault, f"{self._url} can't be reached: {words}", sent=kind not in NEVER_SENT)


async def _events(response: Any, reading: Reading) -> AsyncGenerator[Piece, None]:
    """Pieces of a stream of events, to its end; the connection is kept where that comes at once."""
    lines, chunks = Lines(), response.aiter_bytes()
    async for data in chunks:
        for line in lines.feed(data):
            for piece in reading.take_line(line):
                yield piece
        if reading.done:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    async for _ in chunks:
                        pass
            return
    for piece in reading.take_line(lines.close()):
        yield piece


def _endpoint(base_url: str) -> str:
    base = base_url.rstrip("/")
    if base.endswith("/chat/completions"):
        return base
    last = base.rsplit("/", 1)[-1]
    versioned = last[:1] == "v" and last[1:2].isdigit()
    return f"{base}/chat/completions" if versioned else f"{base}/v1/chat/completions"


def _status_error(response: Any, body: str) -> ModelCallError:
    try:
        kind, text = error_words(json.loads(body))
    except (ValueError, RecursionError):
        kind, text = "", body
    status = int(response.status_code)
    return ModelCallError(
        fault_of_status(status, kind, text),
        one_line(f"{status}: {text}", ERROR_CHARACTERS),
        status=status,
        retry_after_s=retry_after_s(response.headers),
        sent=False,
    )
