"""From what the store tells to what the screens show: a run's line, usage against the span before, a piece of an output."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.text import decode, plain
from store.history import RunLine
from store.reports import Compared, UsageRow
from tui.backend import OutputPage, RunSummary, UsageLine, UsageReport


def summary_of(line: RunLine) -> RunSummary:
    """The line of a run that no process of ours executes. Without an end it is stale: the last that was heard."""
    return RunSummary(
        run=line.run,
        task=line.task,
        project=line.project,
        repo=line.repo,
        model=line.model,
        state=line.reason or line.state,
        finished=line.reason is not None,
        live=False,
        stale=line.reason is None,
        needs=(line.held or "").replace("_", " ") if line.reason is None else "",
        attempt=line.attempt,
        attempts_of_leg=line.attempt_of_leg,
        cap=line.cap,
        rounds=line.rounds,
        score=line.score,
        threshold=line.threshold,
        tokens=line.tokens,
        budget_tokens=line.budget_tokens,
        cost_micros=line.cost_micros,
        cost_complete=line.cost_complete,
        budget_micros=line.budget_micros,
        cache_share=line.cache_share,
        failing=line.failing,
        queued_at=line.queued_at,
        last_at=line.last_at,
        worker=line.worker,
    )


def usage_report(by: str, span: str, found: Compared) -> UsageReport:
    """A span's usage beside that of the span before it."""
    return UsageReport(
        by=by,
        span=span,
        total=usage_line(found.total),
        before=usage_line(found.before),
        lines=tuple(map(usage_line, found.rows)),
        days=tuple(map(usage_line, found.days)),
    )


def usage_line(row: UsageRow) -> UsageLine:
    """Sums of a key."""
    usage = row.usage
    micros = row.money.micros if row.money.known else None
    return UsageLine(
        row.key, row.calls, usage.input, usage.output, usage.cache_read, usage.cache_write, micros, row.money.complete
    )


def output_page(file: Path, offset: int, limit: int) -> OutputPage:
    """A piece of a file from a byte on; a negative offset counts from the end. Raises OSError."""
    with file.open("rb") as stream:
        total = stream.seek(0, os.SEEK_END)
        start = max(0, total + offset) if offset < 0 else min(offset, total)
        stream.seek(start)
        data = stream.read(limit)
    return OutputPage(plain(decode(data)), start, len(data), total)
