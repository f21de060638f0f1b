"""One run of a list, as a row of `runs` and the sums of its calls tell it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from store.owner import owner_lives
from store.sums import cache_share_of, totals_of


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of a list; sums from the ledger. None is unknown, money in micro-dollars, times in UTC."""

    run: str
    project: str
    repo: str
    task: str
    model: str
    state: str
    """A phase, `held`, `paused` or `finished`."""
    reason: str | None
    attempt: int
    queued_at: datetime
    last_at: datetime
    tokens: int | None
    """None where no call told its usage."""
    cost_micros: int | None
    """What has a price; None where nothing has."""
    cost_complete: bool
    cache_share: float | None
    workspace: Path | None
    owner_alive: bool | None
    """Whether the process that executes it lives; None for a finished run, and where it can't be known."""
    tenant: str | None = None
    category: str | None = None
    worker: str = ""
    leg: int = 0
    attempt_of_leg: int = 0
    rounds: int = 0
    cap: int | None = None
    budget_tokens: int | None = None
    budget_micros: int | None = None
    failing: int | None = None
    """New and still failing findings of the latest verify phase; before the first attempt those of the baseline."""
    held: str | None = None
    held_text: str = ""
    score: float | None = None
    threshold: float | None = None
    diff: tuple[int, int, int] | None = None
    """Files, lines added, lines removed."""
    detail: str = ""
    summary: str = ""
    result_ref: str | None = None
    delivered: str = ""
    last_seq: int = 0
    pruned_at: str | None = None
    """When its events were removed; None while they are there."""


def run_line(row: sqlite3.Row, now: datetime) -> RunLine:
    """The line of a row."""
    sums = totals_of(row)
    state = row["state"]
    if row["reason"] is None:
        state = "held" if row["held"] is not None else "paused" if row["paused"] else state
    return RunLine(
        run=row["id"],
        project=row["project"],
        repo=row["repo"],
        task=row["task"],
        model=row["model"],
        state=state,
        reason=row["reason"],
        attempt=row["attempt"],
        queued_at=datetime.fromisoformat(row["queued_at"]),
        last_at=datetime.fromisoformat(row["last_at"]),
        tokens=sums.usage.total,
        cost_micros=sums.money.micros if sums.money.known else None,
        cost_complete=sums.money.complete,
        cache_share=cache_share_of(row),
        workspace=Path(row["workspace"]) if row["workspace"] else None,
        owner_alive=None if row["reason"] else owner_lives(row, now),
        diff=None if row["files"] is None else (row["files"], row["added"], row["removed"]),
        **{name: row[name] for name in _SAME},
    )


_SAME = (
    *(
        "tenant",
        "category",
        "worker",
        "leg",
        "attempt_of_leg",
        "rounds",
        "cap",
        "budget_tokens",
        "budget_micros",
        "failing",
    ),
    *(
        "held",
        "held_text",
        "score",
        "threshold",
        "detail",
        "summary",
        "result_ref",
        "delivered",
        "last_seq",
        "pruned_at",
    ),
)
