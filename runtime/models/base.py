"""What a model is to the loop: a provider-neutral transcript goes in, a stream of pieces and one reply come out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from runtime.usage import Usage


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Text(_Frozen):
    """Text of either side. Never empty on the wire."""

    kind: Literal["text"] = "text"
    text: str


class Thinking(_Frozen):
    """A model's reasoning. `data` is the provider's own block, sent back byte for byte; an OpenAI-style server has only text."""

    kind: Literal["thinking"] = "thinking"
    text: str = ""
    data: dict[str, Any] | None = None


class ToolCall(_Frozen):
    """A tool the model wants to use. `arguments` is None where the call was cut or its JSON isn't a whole object; `raw` is what came."""

    kind: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: str = ""


class ToolResult(_Frozen):
    """What came of a tool call; goes back in the very next user message."""

    kind: Literal["tool_result"] = "tool_result"
    call_id: str
    content: str
    is_error: bool = False


Block = Annotated[Text | Thinking | ToolCall | ToolResult, Field(discriminator="kind")]


class Message(_Frozen):
    """One message of the transcript. A user message begins with the results of all calls of the message before it."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @cached_property
    def wire_bytes(self) -> int:
        """About how many bytes it adds to a request; counted once, since a message never changes."""
        return MESSAGE_OVERHEAD + sum(map(_block_bytes, self.blocks))


MESSAGE_OVERHEAD = 16
"""Bytes that roles and separators add to a message or a block."""


def _block_bytes(block: Block) -> int:
    if isinstance(block, Text):
        return len(block.text.encode("utf-8", "replace"))
    if isinstance(block, Thinking):
        return len(json.dumps(block.data)) if block.data else len(block.text.encode("utf-8", "replace"))
    if isinstance(block, ToolCall):
        return len(block.name) + len(json.dumps(block.arguments).encode()) + MESSAGE_OVERHEAD
    return len(block.content.encode("utf-8", "replace")) + MESSAGE_OVERHEAD


class ToolSpec(_Frozen):
    """A tool as it is declared to the model; `parameters` is JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]

    @cached_property
    def wire_bytes(self) -> int:
        """About how many bytes it adds to a request; counted once, since a declaration never changes."""
        return len(self.model_dump_json())


class Ttl(StrEnum):
    """Lifetime of cache entries that a request writes."""

    MINUTES_5 = "5m"
    HOUR_1 = "1h"


class Mark(_Frozen):
    """A cache breakpoint in the messages: after block `block` of message `message`, both counted from 0."""

    message: int
    block: int


class Request(_Frozen):
    """One model call. `system` and `tools` are constants of a run; `marks` are the rolling breakpoints, oldest first."""

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    max_output_tokens: int
    marks: tuple[Mark, ...] = ()
    ttl: Ttl = Ttl.MINUTES_5
    effort: str | None = None


class Stop(StrEnum):
    """Why a reply ended."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    PAUSE = "pause"
    CONTEXT_FULL = "context_full"
    UNKNOWN = "unknown"


class TextPiece(_Frozen):
    """A piece of text as it streams in."""

    text: str
    thinking: bool = False


class ArgumentsPiece(_Frozen):
    """A tool call's arguments grew by so many bytes; they are shown only once they are whole."""

    size: int


class UsageSoFar(_Frozen):
    """Running totals of the call; each replaces the one before."""

    usage: Usage


class CallRetried(_Frozen):
    """A try broke and the call will be sent again after `wait_s` seconds. `usage` is what the broken try may have cost."""

    attempt: int
    of: int
    status: int | None
    error: str
    wait_s: float
    usage: Usage | None = None


class CallWaits(_Frozen):
    """The call isn't sent before `wait_s` seconds, because of a rate limit; nothing was tried yet."""

    wait_s: float


class Reply(_Frozen):
    """A whole reply. `stop_detail` has the provider's own word; `gave_up` holds a model's own statement that it has no idea."""

    message: Message
    stop: Stop
    usage: Usage
    model: str
    request_id: str | None = None
    message_id: str | None = None
    stop_detail: str = ""
    gave_up: str = ""
    latency_ms: int = 0
    ttft_ms: int | None = None
    cost_micros: int | None = None
    """Set only where the provider itself states what the call cost (the embedded model: 0)."""
    cache_miss: str | None = None
    """The provider's own cache diagnosis, where it offers one."""
    rate_limits: dict[str, str] = Field(default_factory=dict)
    usage_notes: tuple[str, ...] = ()
    """Why figures of the usage are unknown or assumed, in words."""


Piece = TextPiece | ArgumentsPiece | UsageSoFar | CallRetried | CallWaits | Reply


class CallFault(StrEnum):
    """Kinds of failed calls; the transport decides by them what to do."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    CONNECTION = "connection"
    CUT = "cut"
    SILENT = "silent"
    AUTHENTICATION = "authentication"
    QUOTA = "quota"
    NOT_FOUND = "not_found"
    INVALID = "invalid"
    CONTEXT_FULL = "context_full"


RETRYABLE = frozenset(
    {
        CallFault.RATE_LIMITED,
        CallFault.OVERLOADED,
        CallFault.SERVER,
        CallFault.CONNECTION,
        CallFault.CUT,
        CallFault.SILENT,
    }
)


class ModelCallError(Exception):
    """One try of a model call failed. `usage` is what the server had reported by then; `sent` tells whether it may have cost something."""

    def __init__(
        self,
        fault: CallFault,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        request_id: str | None = None,
        sent: bool = True,
        rate_limits: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.status = status
        self.retry_after_s = retry_after_s
        self.usage = usage
        self.request_id = request_id
        self.sent = sent
        self.rate_limits = rate_limits or {}

    def __str__(self) -> str:
        """The message as it stands: whoever gives up adds to it."""
        return self.message


class Model(Protocol):
    """A model behind one provider. `stream` makes exactly one try and raises ModelCallError; retries are the transport's."""

    provider: str
    name: str

    def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield pieces as they come; the last is the Reply."""
        ...

    async def close(self) -> None:
        """Free connections and processes."""
        ...
