"""Several scorers as one: the mean of their scores, the sum of their costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from runtime.errors import UsageError
from runtime.stoploss.scorers.base import Score, Scorer
from runtime.stoploss.window import Window


class Ensemble:
    """Asks all members at once; fails where one fails, for a mean of fewer would be another scorer."""

    def __init__(self, members: Sequence[Scorer]) -> None:
        if not members:
            raise UsageError("An ensemble needs at least one scorer.")
        self._members = tuple(members)
        self.name = "+".join(member.name for member in self._members)
        self.by_steps = all(member.by_steps for member in self._members)

    @property
    def members(self) -> tuple[Scorer, ...]:
        """The scorers that it is made of."""
        return self._members

    async def score(self, window: Window) -> Score:
        """One check by every member."""
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_caught(member, window), name=f"stoploss {member.name}") for member in self._members
            ]
        results = [task.result() for task in tasks]
        scores = []
        for result in results:
            if isinstance(result, Exception):
                raise result
            scores.append(result)
        costs = [score.cost_micros for score in scores]
        known = [cost for cost in costs if cost is not None]
        n = len(scores)
        return Score(
            sum(score.p_continue for score in scores) / n,
            sum(score.p_deliver for score in scores) / n,
            sum(score.p_abort for score in scores) / n,
            sum(known) if len(known) == n else None,
            (time.perf_counter() - began) * 1000,
            tuple(call for score in scores for call in score.calls),
        )

    async def close(self) -> None:
        """Close every member."""
        for member in self._members:
            await member.close()


async def _caught(member: Scorer, window: Window) -> Score | Exception:
    """A failure as a value: within a task group it would come out wrapped."""
    try:
        return await member.score(window)
    except Exception as error:  # noqa: BLE001 - handed on, and raised by whoever waits
        return error
