"""A model that answers by a script, through the same interface as every other: for tests of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from runtime.models.base import (
    Block,
    Message,
    ModelCallError,
    Piece,
    Reply,
    Request,
    Stop,
    Text,
    TextPiece,
    ToolCall,
    UsageSoFar,
)
from runtime.usage import Usage

USAGE = Usage(input=100, output=20, cache_read=1000, cache_write_5m=50, cache_write_1h=0)
Step = Reply | ModelCallError | Callable[[Request], Reply] | asyncio.Event


def say(text: str, *, stop: Stop = Stop.END_TURN, usage: Usage = USAGE, gave_up: str = "") -> Reply:
    """A reply of text only."""
    return reply(Text(text=text), stop=stop, usage=usage, gave_up=gave_up)


def use(name: str, call_id: str = "call-1", /, **arguments: Any) -> Reply:
    """A reply with one tool call."""
    return reply(ToolCall(id=call_id, name=name, arguments=arguments, raw=str(arguments)), stop=Stop.TOOL_USE)


def reply(*blocks: Block, stop: Stop = Stop.TOOL_USE, usage: Usage = USAGE, gave_up: str = "") -> Reply:
    """A reply of any blocks."""
    return Reply(
        message=Message(role="assistant", blocks=blocks), stop=stop, usage=usage, model="scripted-1", gave_up=gave_up
    )


class ScriptedModel:
    """Plays its steps in order; the last one again for ever. An event as a step streams a word and waits for it to be set."""

    provider = "anthropic"

    def __init__(self, steps: Sequence[Step], name: str = "claude-sonnet-5-5") -> None:
        self.name = name
        self.steps = list(steps)
        self.requests: list[Request] = []
        self.waiting = asyncio.Event()
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        if isinstance(step, asyncio.Event):
            yield UsageSoFar(usage=Usage(input=100, output=1, cache_read=0, cache_write_5m=0, cache_write_1h=0))
            yield TextPiece(text="on my way")
            self.waiting.set()
            await step.wait()
            step = say("done")
        if isinstance(step, ModelCallError):
            raise step
        answer = step if isinstance(step, Reply) else step(request)
        for block in answer.message.blocks:
            if isinstance(block, Text) and block.text:
                yield TextPiece(text=block.text)
        yield UsageSoFar(usage=answer.usage)
        yield answer.model_copy(update={"request_id": f"req-{id(self)}-{len(self.requests)}"})
