"""Claude through the official SDK: streaming, one try per call, loaded only when the first call is made."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import AsyncGenerator
from typing import Any

from runtime.catalog.models import facts_of
from runtime.models.anthropic_wire import STOPS, StreamedBlock, UsageMeter, request_body
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
    UsageSoFar,
)
from runtime.models.wire import fault_of_status, retry_after_s
from runtime.prompt.system import gave_up
from runtime.text import one_line
from runtime.usage import Usage

RATE_HEADERS = "anthropic-ratelimit-"
CONNECT_TIMEOUT_S = 15.0


class AnthropicModel:
    """A Claude model. `silence_s` bounds how long the connection may bring no byte at all."""

    provider = "anthropic"

    def __init__(self, name: str, api_key: str, base_url: str | None = None, silence_s: float = 120.0) -> None:
        self.name = name
        self._api_key = api_key
        self._base_url = base_url
        self._silence_s = silence_s
        self._client: Any = None
        self._facts = facts_of(name)
        self._last_message: dict[tuple[str, ...], str] = {}

    async def _connected(self) -> Any:
        if self._client is None:
            # The import takes seconds; a thread keeps the dashboard alive meanwhile.
            sdk = await asyncio.to_thread(importlib.import_module, "anthropic")
            http = await asyncio.to_thread(importlib.import_module, "httpx2")
            self._client = sdk.AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                max_retries=0,
                timeout=http.Timeout(self._silence_s, connect=CONNECT_TIMEOUT_S),
            )
        return self._client

    async def close(self) -> None:
        """Close the connection pool."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """One try of a call; see Model."""
        client = await self._connected()
        sdk, http = importlib.import_module("anthropic"), importlib.import_module("httpx2")
        reading = _Reading(self, request)
        try:
            body = request_body(request, self._facts.adaptive_thinking)
            stream = await client.messages.create(**body, stream=True)
            try:
                reading.headers(stream.response)
                async for event in stream:
                    for piece in reading.take(event.to_dict(mode="json", warnings=False)):
                        yield piece
            finally:
                await stream.close()
        except sdk.APIStatusError as error:
            raise _status_error(error, reading.meter.usage if reading.started else None) from error
        except (sdk.APIConnectionError, http.HTTPError) as error:
            raise _connection_error(error, reading, self._base_url) from error
        except sdk.AnthropicError as error:
            raise ModelCallError(CallFault.INVALID, one_line(str(error), 300), sent=False) from error
        yield reading.reply()


class _Reading:
    """Reads one stream."""

    def __init__(self, model: AnthropicModel, request: Request) -> None:
        self._model = model
        self.meter = UsageMeter(request.ttl)
        self.started = False
        self._blocks: dict[int, StreamedBlock] = {}
        self._began = time.monotonic()
        self._first: float | None = None
        self._message_id: str | None = None
        self._request_id: str | None = None
        self._answering = model.name
        self._stop = ""
        self._detail = ""
        self._ended = False
        self._limits: dict[str, str] = {}
        self._miss: str | None = None

    def headers(self, response: Any) -> None:
        """Keep what the response's headers say."""
        self._request_id = response.headers.get("request-id")
        self._limits = {name: value for name, value in response.headers.items() if name.startswith(RATE_HEADERS)}

    def take(self, event: dict[str, Any]) -> list[Piece]:
        """Pieces that an event brings; unknown events bring none."""
        kind = event.get("type")
        if kind == "message_start":
            self.started = True
            message = event.get("message") or {}
            self._message_id = message.get("id")
            self._answering = message.get("model") or self._model.name
            self._diagnostics(message)
            return [UsageSoFar(usage=self.meter.update(message.get("usage") or {}))]
        if kind == "content_block_start":
            self._blocks[event["index"]] = StreamedBlock(event.get("content_block") or {})
        elif kind == "content_block_delta" and event.get("index") in self._blocks:
            return self._delta(self._blocks[event["index"]], event.get("delta") or {})
        elif kind == "content_block_stop" and event.get("index") in self._blocks:
            self._blocks[event["index"]].closed = True
        elif kind == "message_delta":
            delta = event.get("delta") or {}
            self._stop = delta.get("stop_reason") or self._stop
            self._detail = str((delta.get("stop_details") or {}).get("explanation") or "")
            return [UsageSoFar(usage=self.meter.update(event.get("usage") or {}))]
        elif kind == "message_stop":
            self._ended = True
        return []

    def _delta(self, block: StreamedBlock, delta: dict[str, Any]) -> list[Piece]:
        if self._first is None:
            self._first = time.monotonic()
        text = block.delta(delta)
        if text:
            return [TextPiece(text=text, thinking=block.thinking)]
        size = len(str(delta.get("partial_json") or ""))
        return [ArgumentsPiece(size=size)] if size else []

    def _diagnostics(self, message: dict[str, Any]) -> None:
        reason = ((message.get("diagnostics") or {}).get("cache_miss_reason") or {}).get("type")
        self._miss = reason if isinstance(reason, str) else None

    def reply(self) -> Reply:
        """The whole reply. Raises ModelCallError where the stream ended without its end."""
        if not self._ended or not self._stop:
            usage = self.meter.usage if self.started else None
            raise ModelCallError(CallFault.CUT, "the stream ended before the reply did", usage=usage)
        blocks = [block.finish(self._stop) for _, block in sorted(self._blocks.items())]
        kept = tuple(block for block in blocks if block is not None)
        text = "\n".join(block.text for block in kept if isinstance(block, Text))
        stop = STOPS.get(self._stop, Stop.UNKNOWN)
        return Reply(
            message=Message(role="assistant", blocks=kept),
            stop=stop,
            stop_detail=one_line(self._detail or self._stop, 300),
            gave_up=gave_up(text) if stop is Stop.END_TURN else "",
            usage=self.meter.usage,
            model=self._answering,
            request_id=self._request_id,
            message_id=self._message_id,
            latency_ms=int((time.monotonic() - self._began) * 1000),
            ttft_ms=int((self._first - self._began) * 1000) if self._first is not None else None,
            cache_miss=self._miss,
            rate_limits=self._limits,
        )


def _status_error(error: Any, usage: Usage | None) -> ModelCallError:
    """An error that the API put into words; one in the middle of a stream has status 200 and is known by its type."""
    kind = str(getattr(error, "type", "") or "")
    text = str(getattr(error, "api_message", None) or error.message)
    fault = fault_of_status(error.status_code, kind, text)
    status = error.status_code if error.status_code != 200 else None
    return ModelCallError(
        fault,
        one_line(f"{kind or status}: {text}", 400),
        status=status,
        retry_after_s=retry_after_s(error.response.headers),
        usage=usage,
        request_id=getattr(error, "request_id", None),
        sent=usage is not None,
    )


def _connection_error(error: Exception, reading: _Reading, base_url: str | None) -> ModelCallError:
    where = base_url or "the Anthropic API"
    if reading.started:
        return ModelCallError(
            CallFault.CUT, f"the connection to {where} broke while the reply streamed in", usage=reading.meter.usage
        )
    cause = error.__cause__ or error
    silent = "Timeout" in type(cause).__name__ or "Timeout" in type(error).__name__
    fault = CallFault.SILENT if silent else CallFault.CONNECTION
    words = "did not answer in time" if silent else f"can't be reached: {one_line(str(cause), 200)}"
    return ModelCallError(fault, f"{where} {words}", sent=False)
