"""Tables derived from events, one small function per event type that matters to them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from runtime.events import checks, loop, supervision
from runtime.events.base import Event
from store.owner import this_process

Projection = Callable[[sqlite3.Connection, Any], None]
QUIET = frozenset({"text_delta", "output_delta", "usage_delta"})
"""Types that change nothing about a run's row."""


def project(connection: sqlite3.Connection, event: Event) -> None:
    """Bring the derived tables up to an event."""
    handler = HANDLERS.get(event.type)
    if handler is not None and not isinstance(event, supervision.UnknownEvent):
        handler(connection, event)
    if event.type not in QUIET or event.seq % 50 == 0:
        connection.execute(
            "UPDATE runs SET last_at = ?, last_seq = max(last_seq, ?) WHERE id = ?",
            (event.at.isoformat(), event.seq, event.run),
        )
    else:
        connection.execute("UPDATE runs SET last_seq = max(last_seq, ?) WHERE id = ?", (event.seq, event.run))


def _queued(connection: sqlite3.Connection, e: loop.RunQueued) -> None:
    owner, at = this_process(), e.at.isoformat()
    connection.execute(
        "INSERT OR IGNORE INTO projects (id, root, created_at) VALUES (?, ?, ?)", (e.project, e.repo, at)
    )
    connection.execute(
        """INSERT OR IGNORE INTO runs (id, project, repo, task, model, tenant, category, queued_at, last_at, last_seq, state,
           host, pid, pid_started) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'preparing', ?, ?, ?)""",
        (
            *(
                e.run,
                e.project,
                e.repo,
                e.task,
                e.settings.model,
                e.settings.tenant,
                e.settings.category,
                at,
                at,
                e.seq,
            ),
            *(owner.host, owner.pid, owner.started),
        ),
    )


def _state(connection: sqlite3.Connection, run: str, state: str) -> None:
    connection.execute("UPDATE runs SET state = ? WHERE id = ?", (state, run))


def _prepared(connection: sqlite3.Connection, e: loop.RunPrepared) -> None:
    connection.execute("UPDATE runs SET workspace = ? WHERE id = ?", (e.workspace, e.run))


def _leg(connection: sqlite3.Connection, e: loop.LegStarted) -> None:
    connection.execute("UPDATE runs SET model = ? WHERE id = ?", (e.model, e.run))


def _attempt_started(connection: sqlite3.Connection, e: loop.AttemptStarted) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO attempts (run, attempt, leg, model, started_at) VALUES (?, ?, ?, ?, ?)",
        (e.run, e.attempt, e.leg, e.model, e.at.isoformat()),
    )
    connection.execute("UPDATE runs SET attempt = ?, state = 'fixing' WHERE id = ?", (e.attempt, e.run))


def _attempt_finished(connection: sqlite3.Connection, e: loop.AttemptFinished) -> None:
    c = e.comparison
    connection.execute(
        """UPDATE attempts SET finished_at = ?, passed = ?, cause = ?, fixed = ?, new = ?, still = ?, pre_existing = ?,
           verify_wall_ms = ?, verify_cpu_ms = ?, verify_micros = ? WHERE run = ? AND attempt = ?""",
        (
            *(e.at.isoformat(), e.passed, e.cause, len(c.fixed), len(c.new), len(c.still), len(c.pre_existing)),
            *(e.verify_wall_ms, e.verify_cpu_ms, e.verify_micros, e.run, e.attempt),
        ),
    )


def _verify_started(connection: sqlite3.Connection, e: checks.VerifyStarted) -> None:
    if e.attempt:
        _state(connection, e.run, "verifying")


def _verify_finished(connection: sqlite3.Connection, e: checks.VerifyFinished) -> None:
    connection.execute(
        """INSERT OR REPLACE INTO verify_results (run, attempt, step, seq, command, verdict, exit_code, findings, collected,
           wall_ms, cpu_ms, output_path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(e.run, e.attempt, e.step, e.seq, e.command, e.verdict, e.exit_code, e.findings_total, e.collected),
            *(e.wall_ms, e.cpu_ms, e.output_path),
        ),
    )


def _recovery(connection: sqlite3.Connection, e: checks.RecoveryDecided) -> None:
    quotes = json.dumps([quote.model_dump(mode="json") for quote in e.quotes])
    connection.execute(
        """INSERT OR REPLACE INTO recovery_decisions (run, attempt, seq, action, router, quotes, overridden_by)
           VALUES (?, ?, ?, ?, ?, ?, ?)""",
        (e.run, e.attempt, e.seq, e.action, e.router, quotes, e.overridden_by),
    )
    _state(connection, e.run, "recovering")


def _scored(connection: sqlite3.Connection, e: checks.StoplossScored) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO stoploss_scores (run, step, scorer, score, threshold, mode) VALUES (?, ?, ?, ?, ?, ?)",
        (e.run, e.step, e.scorer, e.score, e.threshold, e.mode),
    )


def _answered(connection: sqlite3.Connection, e: supervision.CommandAccepted | supervision.CommandRefused) -> None:
    accepted = isinstance(e, supervision.CommandAccepted)
    answer = e.effect if isinstance(e, supervision.CommandAccepted) else e.why
    connection.execute(
        "INSERT OR IGNORE INTO commands (id, run, at, command, sender, accepted, answer) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (e.command_id, e.run, e.at.isoformat(), e.command, e.sender, accepted, answer),
    )


def _prompt(connection: sqlite3.Connection, e: loop.PromptAdded) -> None:
    if e.kind in ("task", "steer"):
        _turn(connection, e, "user", e.kind, e.text)


def _turn(connection: sqlite3.Connection, e: Event, role: str, kind: str, text: str) -> None:
    connection.execute(
        """INSERT OR IGNORE INTO conversations (project, run, turn, role, kind, text, at)
           SELECT project, id, ?, ?, ?, ?, ? FROM runs WHERE id = ?""",
        (e.seq, role, kind, text, e.at.isoformat(), e.run),
    )


def _resumed(connection: sqlite3.Connection, e: supervision.RunResumed) -> None:
    if e.resumed:
        owner = this_process()
        connection.execute(
            "UPDATE runs SET reason = NULL, state = 'fixing', host = ?, pid = ?, pid_started = ? WHERE id = ?",
            (owner.host, owner.pid, owner.started, e.run),
        )


def _finished(connection: sqlite3.Connection, e: loop.RunFinished) -> None:
    connection.execute("UPDATE runs SET reason = ?, state = 'finished' WHERE id = ?", (e.reason, e.run))
    if e.summary:
        _turn(connection, e, "assistant", "summary", e.summary)


HANDLERS: dict[str, Projection] = {
    "run_queued": _queued,
    "run_prepared": _prepared,
    "leg_started": _leg,
    "attempt_started": _attempt_started,
    "attempt_finished": _attempt_finished,
    "verify_started": _verify_started,
    "verify_finished": _verify_finished,
    "recovery_decided": _recovery,
    "stoploss_scored": _scored,
    "command_accepted": _answered,
    "command_refused": _answered,
    "prompt_added": _prompt,
    "run_resumed": _resumed,
    "run_finished": _finished,
}
