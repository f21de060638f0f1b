"""What the dashboard subscribes to on this machine: the events of one run, and a summary of every run that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.bus import Inbox
from tui.backend import RunSummary, Wake


class Host(Protocol):
    """Who feeds them."""

    feeds: dict[str, list[Feed]]
    watchers: list[Summaries]
    summaries_of: dict[str, RunSummary]

    def summary(self, run: str) -> RunSummary:
        """A run's newest line."""
        ...


class Feed(Inbox):
    """A subscription to one run of the bus."""

    def __init__(self, host: Host, run: str, wake: Wake) -> None:
        super().__init__(wake)
        self._host, self._run = host, run
        host.feeds.setdefault(run, []).append(self)

    def close(self) -> None:
        """End the feed."""
        feeds = self._host.feeds.get(self._run, [])
        if self in feeds:
            feeds.remove(self)


class Summaries:
    """A subscription to all runs: those that changed, once each however often."""

    def __init__(self, host: Host, wake: Wake) -> None:
        self._host, self._wake = host, wake
        self._changed = set(host.summaries_of)
        host.watchers.append(self)
        if self._changed:
            wake()

    def touch(self, run: str) -> None:
        """A run changed."""
        first = not self._changed
        self._changed.add(run)
        if first:
            self._wake()

    def drain(self) -> Sequence[RunSummary]:
        """The newest summary of each run that changed."""
        changed, self._changed = self._changed, set()
        return [self._host.summary(run) for run in sorted(changed)]

    def close(self) -> None:
        """End the feed."""
        if self in self._host.watchers:
            self._host.watchers.remove(self)
