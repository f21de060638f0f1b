"""Short runs, calls and child processes for tests of the store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtime.events.base import Event
from runtime.events.loop import RunFinished, RunQueued, TextDelta
from runtime.events.values import RunSettings, StopReason
from runtime.ports import CallRow
from runtime.usage import Usage

REPO = Path(__file__).parents[2]
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def queued(run: str, task: str = "fix it", project: str = "parser", at: datetime = AT, **settings: Any) -> Event:
    """The first event of a run."""
    chosen = RunSettings(**{"model": "claude-sonnet-5-5", **settings})
    event = RunQueued(task=task, repo=f"/src/{project}", project=project, settings=chosen, worker="here")
    return event.stamped(run, 1, at, 0)


def delta(run: str, seq: int, text: str = "words ", at: datetime = AT) -> Event:
    """A piece of streamed text."""
    return TextDelta(round=1, text=text).stamped(run, seq, at, seq)


def finished(run: str, seq: int, reason: StopReason = StopReason.PASSED, at: datetime = AT) -> Event:
    """A run's end."""
    return RunFinished(reason=reason, attempts=1, rounds=1, usage={}).stamped(run, seq, at, seq)


def call(call_id: str, micros: int | None = 1_000, **fields: Any) -> CallRow:
    """One model call."""
    values: dict[str, Any] = {
        "provider": "anthropic",
        "model": "claude-sonnet-5-5",
        "usage": Usage(input=100, output=20, cache_read=300, cache_write_5m=40, cache_write_1h=0),
        "price_version": "2026-11",
        "started_at": AT,
        "latency_ms": 900,
        "ttft_ms": 200,
        "request_id": None,
        "outcome": "ok",
    }
    return CallRow(call_id=call_id, cost_micros=micros, **{**values, **fields})


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process that knows the packages and the test support, with pipes; the caller waits for it."""
    paths = f"import sys; sys.path[:0] = [{str(REPO)!r}, {str(REPO / 'tests')!r}]\n"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", paths + code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(children: Sequence[subprocess.Popen[str]], timeout_s: float = 60.0) -> list[str]:
    """What each child printed; fails where one of them failed or wrote to stderr."""
    said = []
    for process in children:
        out, err = process.communicate(timeout=timeout_s)
        assert (process.returncode, err) == (0, ""), f"exit {process.returncode}: {err}"
        said.append(out)
    return said
