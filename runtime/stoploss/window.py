"""What the monitor sees of a run at one tool step: the step count, the last three pairs, and running counters.

Training and the live monitor build windows through the same `Windower`, step by step, so that they can't differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from runtime.stoploss.counters import Counters, Tally, clip
from runtime.stoploss.steps import Step, Trajectory
from runtime.stoploss.words import OBSERVATION_CHARS, buckets

PAIRS = 3
MAX_TOKENS = 1_600
FIRST_CHECKPOINT = 5
EVERY = 3


class Tokenizer(Protocol):
    """A scorer's own way to count tokens."""

    def tail(self, text: str, tokens: int) -> str:
        """The end of a text that takes at most so many tokens."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...


@dataclass(frozen=True, slots=True)
class ByteTokenizer:
    """Counts UTF-8 bytes, rounded up; four make a token, which is the embedded scorer's definition."""

    bytes_per_token: int = 4

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return -(-len(text.encode("utf-8", "replace")) // self.bytes_per_token)

    def tail(self, text: str, tokens: int) -> str:
        """The end of a text; a character that would be split is left out."""
        if tokens <= 0:
            return ""
        return text.encode("utf-8", "replace")[-tokens * self.bytes_per_token :].decode("utf-8", "ignore")


FOUR_BYTES = ByteTokenizer()


def is_checkpoint(step: int) -> bool:
    """Whether a tool step is scored: 5, 8, 11, ..."""
    return step >= FIRST_CHECKPOINT and (step - FIRST_CHECKPOINT) % EVERY == 0


def next_checkpoint(step: int) -> int:
    """The first checkpoint after a tool step."""
    if step < FIRST_CHECKPOINT:
        return FIRST_CHECKPOINT
    return step + EVERY - (step - FIRST_CHECKPOINT) % EVERY


def checkpoints(steps: int) -> range:
    """The checkpoints of a run that made so many tool steps."""
    return range(FIRST_CHECKPOINT, steps + 1, EVERY)


@dataclass(frozen=True, slots=True)
class Window:
    """A run at one tool step. `pairs` holds at most the last three steps, oldest first, uncut."""

    step: int
    pairs: tuple[Step, ...]
    tally: Tally
    """The running counters up to and with this step; scorers that read them are not window-only."""
    action_words: frozenset[int] = frozenset()
    observation_words: frozenset[int] = frozenset()
    """Buckets of all words so far; running counters too."""

    def text(self, tokenizer: Tokenizer = FOUR_BYTES, tokens: int = MAX_TOKENS) -> str:
        """Step count and pairs as a scorer that reads words gets them: at most `tokens`, the oldest part cut first."""
        head = f"Tool steps so far: {self.step}\n"
        body = "".join(_pair(self.step - len(self.pairs) + 1 + n, pair) for n, pair in enumerate(self.pairs))
        left = tokens - tokenizer.count(head)
        if tokenizer.count(body) > left:
            body = tokenizer.tail(body, left)
            # Tokens of a whole needn't be the sum of its parts' tokens.
            while body and tokenizer.count(head + body) > tokens:
                body = tokenizer.tail(body, left := left - 1)
        return head + body


def _pair(number: int, pair: Step) -> str:
    status = {None: "", True: " (failed)", False: " (ok)"}[pair.failed]
    return f"\n[step {number}] action:\n{pair.action}\n[step {number}] observation{status}:\n{pair.observation}\n"


class Windower:
    """Takes a run's tool steps one by one, over attempts and legs, and gives the window of the newest."""

    def __init__(self) -> None:
        self._counters = Counters()
        self._pairs: deque[Step] = deque(maxlen=PAIRS)
        self._action_words: set[int] = set()
        self._observation_words: set[int] = set()
        self.step = 0

    def add(self, step: Step) -> None:
        """Take the next tool step. Long texts are cut to their first and last 1,000 characters, as in the recorded runs."""
        self.step += 1
        short = Step(clip(step.action), clip(step.observation), step.failed, step.cost_micros, step.tokens)
        self._pairs.append(short)
        self._counters.add(short)
        self._action_words |= buckets(short.action)
        self._observation_words |= buckets(short.observation[:OBSERVATION_CHARS])

    def window(self) -> Window:
        """The window as of the newest step."""
        words = frozenset(self._action_words), frozenset(self._observation_words)
        return Window(self.step, tuple(self._pairs), self._counters.tally(), *words)


def windows(run: Trajectory, *, every_step: bool = False) -> Iterator[Window]:
    """The windows of a recorded run at its checkpoints, or at every tool step."""
    windower = Windower()
    for step in run.steps:
        windower.add(step)
        if every_step or is_checkpoint(windower.step):
            yield windower.window()
