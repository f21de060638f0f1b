"""Where events are born: one emitter per run stamps, records and publishes them, in one order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from runtime.events.base import Event
from runtime.ports import Clock, Record

E = TypeVar("E", bound=Event)


class Emitter:
    """Numbers a run's events from `next_seq` without gaps. The only place that stamps them.

    `offset_ms` is the offset of the last event of an earlier process, from which a resumed run goes on.
    """

    def __init__(
        self,
        run: str,
        record: Record,
        publish: Callable[[Event], None],
        clock: Clock,
        next_seq: int = 1,
        offset_ms: int = 0,
    ) -> None:
        self.run = run
        self._record = record
        self._publish = publish
        self._clock = clock
        self._next = next_seq
        self._start = clock.monotonic()
        self._offset_ms = offset_ms

    def mono_ms(self) -> int:
        """Milliseconds since the run began, without the time in which no process executed it."""
        return self._offset_ms + int((self._clock.monotonic() - self._start) * 1000)

    def emit(self, event: E) -> E:
        """Stamp, record, publish; returns the stamped event."""
        stamped = event.stamped(self.run, self._next, self._clock.now(), self.mono_ms())
        self._next += 1
        self._record.append(stamped)
        self._publish(stamped)
        return stamped
