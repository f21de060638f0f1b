"""The conversation that opens a run: the last turns between supervisor and agent, cut once, by whole turns, and then frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.text import storable

MAX_TURNS = 20
MAX_CHARACTERS = 24_000
ACT_ON = "[Act on this turn]"
"""Stands on exactly one turn: the newest. Put on before the cut, so that no older turn can be taken for it."""
_DISARMED = "(act on this turn)"
_NAMES = {"supervisor": "User", "agent": "Agent"}
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation: a task, a steering message, a run's closing summary."""

    who: Literal["supervisor", "agent"]
    text: str


@dataclass(frozen=True, slots=True)
class Window:
    """What is sent of a conversation. `characters` are those of `text`; `kept` and `cut` count turns."""

    text: str
    kept: int
    cut: int

    @property
    def characters(self) -> int:
        """Size of what is sent."""
        return len(self.text)

    @property
    def note(self) -> str:
        """What was cut, in words; empty where nothing was."""
        turns = "turn is" if self.cut == 1 else "turns are"
        return f"{self.cut} earlier {turns} not sent" if self.cut else ""


def take_window(turns: Sequence[Turn], max_turns: int = MAX_TURNS, max_characters: int = MAX_CHARACTERS) -> Window:
    """The last turns that fit, whole; the newest stays even when it alone is longer. Turns without text are left out.

    Raises ValueError where no turn has text.
    """
    said = [turn for turn in turns if turn.text.strip()]
    if not said:
        raise ValueError("a conversation needs a turn with text")
    lines = [*(_line(turn) for turn in said[:-1]), _line(said[-1], f"{ACT_ON} ")]
    kept = [lines[-1]]
    size = len(lines[-1])
    for line in reversed(lines[:-1]):
        size += len(_BETWEEN) + len(line)
        if len(kept) >= max_turns or size > max_characters:
            break
        kept.append(line)
    return Window(_BETWEEN.join(reversed(kept)), len(kept), len(lines) - len(kept))


def _line(turn: Turn, mark: str = "") -> str:
    text = storable(turn.text.strip()).replace(ACT_ON, _DISARMED)
    return f"{_NAMES[turn.who]}: {mark}{text}"
