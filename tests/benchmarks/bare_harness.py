"""A bare harness on the Anthropic SDK to measure against: one shell tool, streaming, rolling cache marks, nothing kept.

Run by round_overhead as `python bare_harness.py TASK`; the address and the key come from the SDK's own variables.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from anthropic import AsyncAnthropic

MODEL = "claude-sonnet-5-5"
SYSTEM = (
    "You are an agent that fixes software in a git repository. You work in the repository's root with a shell. Find the cause "
    "before you edit, make the smallest change that is right, and run the narrowest check that shows it. When you are done, end "
    "your turn with a short summary of what was wrong and what you changed. "
)
SHELL = {
    "name": "shell",
    "description": "Run a bash command in the repository's root and return what it printed and its exit code.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command."}},
        "required": ["command"],
    },
}
MARK = {"type": "ephemeral"}


async def execute(command: str) -> str:
    """What a command printed."""
    process = await asyncio.create_subprocess_shell(
        command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return out.decode(errors="replace").rstrip("\n") or "(no output)"


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with marks on the last blocks of the two newest user messages."""
    places = [index for index, message in enumerate(messages) if message["role"] == "user"][-2:]
    return [
        {**message, "content": [*message["content"][:-1], {**message["content"][-1], "cache_control": MARK}]}
        if index in places
        else message
        for index, message in enumerate(messages)
    ]


async def loop(task: str) -> None:
    """Rounds until the model ends its turn."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    async with AsyncAnthropic(max_retries=0) as client:
        create: Any = client.messages.stream
        while True:
            async with create(
                model=MODEL,
                max_tokens=16_000,
                system=[{"type": "text", "text": SYSTEM, "cache_control": MARK}],
                tools=[SHELL],
                messages=marked(messages),
            ) as stream:
                reply = await stream.get_final_message()
            content = [block.model_dump(include=FIELDS[block.type]) for block in reply.content if block.type in FIELDS]
            messages.append({"role": "assistant", "content": content})
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": await execute(str(call.input["command"]))}
                for call in calls
            ]
            messages.append({"role": "user", "content": results})


FIELDS = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}

if __name__ == "__main__":
    asyncio.run(loop(sys.argv[1]))
