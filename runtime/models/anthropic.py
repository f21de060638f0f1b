"""Claude through the official SDK: streaming, one try per call, loaded only when the first call is made."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import AsyncGenerator
from typing import Any

from runtime.catalog.models import ModelFacts, facts_of
from runtime.models.anthropic_wire import STOPS, StreamedBlock, UsageMeter, an_object, request_body
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
from runtime.models.wire import MOST_TOKENS, fault_of_status, name_or_none, retry_after_s
from runtime.prompt.system import gave_up
from runtime.text import one_line
from runtime.usage import Usage

RATE_HEADERS = "anthropic-ratelimit-"
CONNECT_TIMEOUT_S = 15.0
NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "LocalProtocolError")


class AnthropicModel:
    """A Claude model. `silence_s` bounds how long the connection may bring no byte at all.

    Every call asks for the API's own cache diagnostics; a server that refuses the field is not asked again.
    """

    provider = "anthropic"

    def __init__(self, name: str, api_key: str, base_url: str | None = None, silence_s: float = 120.0) -> None:
        self.name = name
        self.lane = f"anthropic {base_url or ''} {hash(api_key)}"
        self._api_key = api_key
        self._base_url = base_url
        self._silence_s = silence_s
        self._client: Any = None
        self._facts = facts_of(name)
        self._diagnoses = True
        self._previous: str | None = None

    async def _connected(self) -> Any:
        if self._client is None:
            # The import takes seconds; a thread keeps the dashboard alive meanwhile.
            self._client = await asyncio.to_thread(self._connect)
        return self._client

    def _connect(self) -> Any:
        sdk, http = importlib.import_module("anthropic"), importlib.import_module("httpx2")
        return sdk.AsyncAnthropic(
            api_key=self._api_key,
            base_url=self._base_url,
            max_retries=0,
            timeout=http.Timeout(self._silence_s, connect=CONNECT_TIMEOUT_S),
        )

    async def close(self) -> None:
        """Close the connection pool."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """One try of a call; see Model."""
        client = await self._connected()
        sdk, http = importlib.import_module("anthropic"), importlib.import_module("httpx2")
        reading = _Reading(self.name, self._facts, request)
        try:
            stream = await self._open(client, sdk, request)
            try:
                reading.headers(stream.response)
                async for event in stream:
                    for piece in reading.take(event.to_dict(mode="json", warnings=False)):
                        yield piece
            finally:
                await stream.close()
        except sdk.APIStatusError as error:
            raise _status_error(error, reading.meter.usage if reading.started else None) from error
        except (sdk.APIConnectionError, http.HTTPError, http.StreamError) as error:
            raise _connection_error(error, reading, self._base_url) from error
        except sdk.AnthropicError as error:
            raise ModelCallError(CallFault.INVALID, one_line(str(error), 300), sent=False) from error
        except ValueError as error:
            text = "the server sent an event that can't be read"
            raise ModelCallError(CallFault.CUT, text, usage=reading.usage_so_far()) from error
        reply = reading.reply()
        self._previous = reply.message_id
        yield reply

    async def _open(self, client: Any, sdk: Any, request: Request) -> Any:
        body = request_body(request, _thinking(self._facts))
        if self._diagnoses:
            try:
                asked = {"previous_message_id": self._previous}
                return await client.messages.create(**body, diagnostics=asked, stream=True)
            except sdk.BadRequestError as error:
                if "diagnostics" not in str(error):
                    raise
                # Not every server behind a base URL knows the field. It was refused before it cost anything.
                self._diagnoses = False
        return await client.messages.create(**body, stream=True)


def _thinking(facts: ModelFacts) -> dict[str, str] | None:
    """The thinking constant of a model. Where it would think in silence it is asked for a summary: a long pause looks dead."""
    if not facts.adaptive_thinking:
        return None
    return {"type": "adaptive", "display": "summarized"} if facts.hides_thinking else {"type": "adaptive"}


class _Reading:
    """Reads one stream."""

    def __init__(self, name: str, facts: ModelFacts, request: Request) -> None:
        self.meter = UsageMeter(request.ttl, facts.context or MOST_TOKENS)
        self.started = False
        self._blocks: dict[int, StreamedBlock] = {}
        self._began = time.monotonic()
        self._first: float | None = None
        self._message_id: str | None = None
        self._request_id: str | None = None
        self._answering = name
        self._stop = ""
        self._detail = ""
        self._ended = False
        self._limits: dict[str, str] = {}
        self._miss: str | None = None

    def headers(self, response: Any) -> None:
        """Keep what the response's headers say."""
        self._request_id = response.headers.get("request-id")
        self._limits = rate_limits(response.headers)

    def usage_so_far(self) -> Usage | None:
        """What was reported by now; None before the answer began."""
        return self.meter.usage if self.started else None

    def take(self, event: dict[str, Any]) -> list[Piece]:
        """Pieces that an event brings; unknown events bring none."""
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            return self._start(an_object(event.get("message")))
        if kind == "message_delta":
            delta = an_object(event.get("delta"))
            self._stop = name_or_none(delta.get("stop_reason")) or self._stop
            self._detail = str(an_object(delta.get("stop_details")).get("explanation") or self._detail)
            return [UsageSoFar(usage=self.meter.update(event.get("usage")))]
        if kind == "message_stop":
            self._ended = True
        elif not isinstance(index, int):
            return []
        elif kind == "content_block_start":
            self._blocks[index] = StreamedBlock(an_object(event.get("content_block")))
        elif kind == "content_block_delta" and index in self._blocks:
            return self._delta(self._blocks[index], an_object(event.get("delta")))
        elif kind == "content_block_stop" and index in self._blocks:
            self._blocks[index].closed = True
        return []

    def _start(self, message: dict[str, Any]) -> list[Piece]:
        self.started = True
        self._message_id = name_or_none(message.get("id"))
        self._answering = name_or_none(message.get("model")) or self._answering
        reason = an_object(an_object(message.get("diagnostics")).get("cache_miss_reason"))
        self._miss = name_or_none(reason.get("type"))
        return [UsageSoFar(usage=self.meter.update(message.get("usage"), first=True))]

    def _delta(self, block: StreamedBlock, delta: dict[str, Any]) -> list[Piece]:
        if self._first is None:
            self._first = time.monotonic()
        text = block.delta(delta)
        if text:
            return [TextPiece(text=text, thinking=block.thinking)]
        size = len(str(delta.get("partial_json") or ""))
        return [ArgumentsPiece(size=size)] if size else []

    def reply(self) -> Reply:
        """The whole reply. Raises ModelCallError where the stream ended without its end."""
        if not self._ended or not self._stop:
            raise ModelCallError(CallFault.CUT, "the stream ended before the reply did", usage=self.usage_so_far())
        blocks = [block.finish(self._stop) for _, block in sorted(self._blocks.items())]
        kept = tuple(block for block in blocks if block is not None)
        text = "\n".join(block.text for block in kept if isinstance(block, Text))
        stop = STOPS.get(self._stop, Stop.UNKNOWN)
        usage, notes = self.meter.final()
        return Reply(
            message=Message(role="assistant", blocks=kept),
            stop=stop,
            stop_detail=one_line(self._detail or self._stop, 300),
            gave_up=gave_up(text) if stop is Stop.END_TURN else "",
            usage=usage,
            usage_notes=notes,
            model=self._answering,
            request_id=self._request_id,
            message_id=self._message_id,
            latency_ms=int((time.monotonic() - self._began) * 1000),
            ttft_ms=int((self._first - self._began) * 1000) if self._first is not None else None,
            cache_miss=self._miss,
            rate_limits=self._limits,
        )


def rate_limits(headers: Any) -> dict[str, str]:
    """The headers that tell limits and what is left of them."""
    return {name.lower(): value for name, value in headers.items() if name.lower().startswith(RATE_HEADERS)}


def _status_error(error: Any, usage: Usage | None) -> ModelCallError:
    """An error that the API put into words; one in the middle of a stream has status 200 and is known by its type."""
    kind = str(getattr(error, "type", "") or "")
    text = str(getattr(error, "api_message", None) or error.message)
    fault = fault_of_status(error.status_code, kind, f"{text} {getattr(error, 'error_code', None) or ''}")
    status = error.status_code if error.status_code != 200 else None
    return ModelCallError(
        fault,
        one_line(f"{kind or status}: {text}", 400),
        status=status,
        retry_after_s=retry_after_s(error.response.headers),
        usage=usage,
        request_id=getattr(error, "request_id", None),
        sent=usage is not None,
        rate_limits=rate_limits(error.response.headers),
    )


def _connection_error(error: Exception, reading: _Reading, base_url: str | None) -> ModelCallError:
    where = base_url or "the Anthropic API"
    if reading.started:
        text = f"the connection to {where} broke while the reply streamed in"
        return ModelCallError(CallFault.CUT, text, usage=reading.usage_so_far())
    cause = error.__cause__ or error
    kinds = (type(cause).__name__, type(error).__name__)
    silent = any("Timeout" in kind for kind in kinds)
    fault = CallFault.SILENT if silent else CallFault.CONNECTION
    words = "did not answer in time" if silent else f"can't be reached: {one_line(str(cause), 200) or kinds[0]}"
    return ModelCallError(fault, f"{where} {words}", sent=not any(kind in NEVER_SENT for kind in kinds))
