"""Random but possible conversations with a model, played on a transcript request by request."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from runtime.models.base import Block, Mark, Request, Text, Thinking, ToolCall, ToolResult
from runtime.prompt.breakpoints import marks_for
from runtime.prompt.transcript import Transcript
from runtime.tools.registry import tool_specs

SYSTEM = ("You fix software. " * 40,)
words = st.text(max_size=30) | st.sampled_from(["", " \n", "done", "\ud800", "\x00", "\u2028"])
ids = st.sampled_from(["call-1", "call-2", "call-3", "a.b", "", "toolu_01"])
names = st.sampled_from(["shell", "read_file", "run it!", ""])
arguments = st.none() | st.dictionaries(st.sampled_from(["path", "command"]), st.text(max_size=20), max_size=2)
calls = st.builds(ToolCall, id=ids, name=names, arguments=arguments)
thoughts = st.builds(lambda n: Thinking(data={"type": "thinking", "thinking": "", "signature": f"s{n}"}), st.integers())
blocks = st.builds(Text, text=words) | thoughts | calls


@dataclass(frozen=True)
class Move:
    """One reply, how many of its calls are answered, and what is said after it."""

    reply: tuple[Block, ...]
    answered: int
    output: str
    said: str


moves = st.builds(
    Move,
    reply=st.lists(blocks, max_size=5).map(tuple),
    answered=st.integers(0, 5),
    output=words,
    said=words,
)


@dataclass
class Play:
    """A transcript with its rolling marks."""

    transcript: Transcript = field(default_factory=Transcript)
    mark: Mark | None = None

    def move(self, move: Move) -> None:
        """Take a reply and what follows it."""
        self.transcript.add_reply(move.reply)
        asked = [block for block in move.reply if isinstance(block, ToolCall)]
        self.transcript.add_results([ToolResult(call_id=c.id, content=move.output) for c in asked[: move.answered]])
        if move.said.strip():
            self.transcript.add_user(move.said)

    def request(self, model: str = "claude-sonnet-5-5") -> Request:
        """The next request."""
        self.transcript.close_calls()
        marks = marks_for(self.transcript.messages, self.mark)
        self.mark = marks[-1]
        return Request(
            model=model,
            system=SYSTEM,
            tools=tool_specs(),
            messages=self.transcript.messages,
            max_output_tokens=1000,
            marks=marks,
        )
