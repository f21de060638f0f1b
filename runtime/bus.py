"""In-process fan-out of events. Subscribers are isolated: one that raises or falls behind hurts nobody else."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from runtime.events.base import Event

log = logging.getLogger(__name__)
Subscriber = Callable[[Event], None]


class Bus:
    """Publishes each event to every subscriber, synchronously and in order."""

    def __init__(self) -> None:
        self._subscribers: dict[int, Subscriber] = {}
        self._next = 0

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Add a subscriber; the value returned removes it again."""
        key = self._next
        self._next += 1
        self._subscribers[key] = subscriber

        def unsubscribe() -> None:
            self._subscribers.pop(key, None)

        return unsubscribe

    def publish(self, event: Event) -> None:
        """Hand an event to all; a subscriber's exception is logged and goes no further."""
        for subscriber in tuple(self._subscribers.values()):
            try:
                subscriber(event)
            except Exception:
                log.exception("a subscriber failed on %s %s/%s", event.type, event.run, event.seq)


class Inbox:
    """A subscriber that queues events until they are drained, for a reader with a beat of its own."""

    def __init__(self, on_first: Callable[[], None] | None = None) -> None:
        self._queue: deque[Event] = deque()
        self._on_first = on_first

    def __call__(self, event: Event) -> None:
        """Take an event; wakes the reader when the queue was empty."""
        first = not self._queue
        self._queue.append(event)
        if first and self._on_first is not None:
            self._on_first()

    def drain(self) -> list[Event]:
        """All that has queued up, oldest first."""
        batch = list(self._queue)
        self._queue.clear()
        return batch
