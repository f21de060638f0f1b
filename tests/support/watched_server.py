"""The scripted server with a watch: when each request was whole and each answer had ended, and what the client had used by then."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from support.http_loopback import Connection, Received
from support.scripted_server import ScriptedServer


@dataclass(frozen=True)
class Moment:
    """A point in time, in seconds of the system's monotonic clock; CPU seconds and peak memory of the client's process by then."""

    at_s: float
    cpu_s: float
    peak_mb: float


@dataclass
class WatchedServer(ScriptedServer):
    """Set `client` to the client's process id once it is known."""

    client: int | None = None
    whole: list[Moment] = field(default_factory=list)
    """When each request was whole."""
    ended: list[Moment] = field(default_factory=list)
    """When each answer had ended."""

    async def _handle(self, request: Received, connection: Connection) -> None:
        self.whole.append(self._moment())
        try:
            await super()._handle(request, connection)
        finally:
            self.ended.append(self._moment())

    def _moment(self) -> Moment:
        now = time.monotonic()
        return Moment(now, cpu_seconds(self.client), peak_mb(self.client))

    def gaps(self, first: int = 0, last: int | None = None) -> list[tuple[float, float]]:
        """Wall and CPU seconds between an answer's end and the next request, of answers `first` to `last`."""
        pairs = list(zip(self.ended, self.whole[1:], strict=False))[first:last]
        return [(start.at_s - end.at_s, start.cpu_s - end.cpu_s) for end, start in pairs]


def cpu_seconds(pid: int | None) -> float:
    """CPU time of a process's living threads, to the nanosecond; 0 where it isn't there."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def peak_mb(pid: int | None) -> float:
    """Peak resident memory of a process by now; 0 where it isn't there."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM:")), 0.0)
