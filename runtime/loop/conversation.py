"""The transcript of a leg with everything that is constant beside it; makes the requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime.models.base import Mark, Message, Reply, Request, ToolResult, ToolSpec, Ttl
from runtime.prompt.breakpoints import marks_for
from runtime.prompt.compaction import Compacted, bytes_to_free, compact, is_time
from runtime.prompt.estimate import Estimator
from runtime.prompt.prediction import CacheWatch
from runtime.prompt.rebuild import Rebuilt
from runtime.prompt.system import SYSTEM
from runtime.prompt.transcript import Transcript
from runtime.tools.registry import tool_specs


@dataclass
class Conversation:
    """What one leg's requests are made of. Model, limits, system prompt and tools never change within it."""

    model: str
    max_output_tokens: int
    ttl: Ttl = Ttl.MINUTES_5
    system: tuple[str, ...] = SYSTEM
    tools: tuple[ToolSpec, ...] = field(default_factory=tool_specs)
    transcript: Transcript = field(default_factory=Transcript)
    estimator: Estimator = field(default_factory=Estimator)
    watch: CacheWatch | None = None
    """Foretells what a round reads from cache; None for a model that has no cache."""
    context: int | None = None
    """The model's context in tokens; None where it isn't known."""
    _mark: Mark | None = None

    def add_user(self, text: str) -> None:
        """Add user-side text."""
        self.transcript.add_user(text)

    def add_reply(self, reply: Reply) -> None:
        """Add the model's reply."""
        self.transcript.add_reply(reply.message.blocks)

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Answer the reply's tool calls."""
        self.transcript.add_results(results)

    def compact_if_full(self, request: Request) -> Compacted | None:
        """Compact the transcript in one large step where a request nears the context's limit; returns what was done."""
        tokens = self.estimator.estimate(request)
        if self.context is None or not is_time(tokens, self.max_output_tokens, self.context):
            return None
        done = compact(self.transcript.messages, bytes_to_free(tokens, self.context))
        if done is not None:
            self.transcript = Transcript(done.messages)
            self._mark = None
        return done

    def go_on(self, rebuilt: Rebuilt, started_s: float) -> None:
        """Take over a transcript that was rebuilt, with its mark and what its last answered request taught.

        `started_s` is when that request was sent, in seconds of this process's monotonic clock.
        """
        self.transcript, self._mark = rebuilt.transcript, rebuilt.mark
        if rebuilt.sent is None:
            return
        request, finished = self._of(rebuilt.sent.messages, ()), rebuilt.sent.finished
        self.estimator.learn(request, finished.usage)
        if self.watch is not None:
            self.watch.restore(request, started_s, finished.usage, finished.model)

    def request(self) -> Request:
        """The next request: the one before with what came since, and the marks moved on."""
        self.transcript.close_calls()
        messages = self.transcript.messages
        marks = marks_for(messages, self._mark)
        self._mark = marks[-1] if marks else None
        return self._of(messages, marks)

    def _of(self, messages: tuple[Message, ...], marks: tuple[Mark, ...]) -> Request:
        return Request(
            model=self.model,
            system=self.system,
            tools=self.tools,
            messages=messages,
            max_output_tokens=self.max_output_tokens,
            marks=marks,
            ttl=self.ttl,
        )
