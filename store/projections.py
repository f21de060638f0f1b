"""Tables derived from events, one small function per event type that matters to them.

They are functions of the events and of who executed the run, and of nothing else: `rebuild` gives the same rows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from runtime.events import checks, loop, supervision
from runtime.events.base import Event
from runtime.events.codec import event_from_json
from runtime.events.values import DiffStat, StopReason
from store.binding import put, utc
from store.owner import Owner

Projection = Callable[[sqlite3.Connection, Any], None]
DERIVED = ("runs", "attempts", "verify_results", "stoploss_scores", "recovery_decisions", "conversations", "commands")


def project(connection: sqlite3.Connection, event: Event, owner: Owner | None) -> None:
    """Bring the derived tables up to an event. `owner` is the process that executes the run; None where that isn't known."""
    handler = HANDLERS.get(event.type)
    if handler is None or isinstance(event, supervision.UnknownEvent):
        return
    handler(connection, event)
    if event.type == "run_queued" or (isinstance(event, supervision.RunResumed) and event.resumed):
        put(
            connection,
            "UPDATE runs SET host = ?, pid = ?, pid_started = ?, heartbeat = ?, claimed = 0 WHERE id = ?",
            (
                *((owner.host, owner.pid, owner.started) if owner else (None, None, None)),
                *(utc(event.at), event.run),
            ),
        )


def reached(connection: sqlite3.Connection, event: Event) -> None:
    """Note the newest event of a run."""
    connection.execute(
        "UPDATE runs SET last_at = ?, last_seq = ? WHERE id = ? AND last_seq <= ?",
        (utc(event.at), event.seq, event.run, event.seq),
    )


def rebuild(connection: sqlite3.Connection, run: str) -> None:
    """Derive a run's rows anew from its events; who executes it stays as it was noted."""
    noted = connection.execute(
        "SELECT host, pid, pid_started, heartbeat, claimed FROM runs WHERE id = ?", (run,)
    ).fetchone()
    for table in DERIVED:
        connection.execute(f"DELETE FROM {table} WHERE {'id' if table == 'runs' else 'run'} = ?", (run,))
    last: Event | None = None
    for (body,) in connection.execute("SELECT body FROM events WHERE run = ? ORDER BY seq", (run,)):
        last = event_from_json(body)
        project(connection, last, None)
    if last is not None:
        reached(connection, last)
    if noted is not None:
        connection.execute(
            "UPDATE runs SET host = ?, pid = ?, pid_started = ?, heartbeat = ?, claimed = ? WHERE id = ?", (*noted, run)
        )


def _queued(connection: sqlite3.Connection, e: loop.RunQueued) -> None:
    at, settings = utc(e.at), e.settings
    put(
        connection,
        "INSERT OR IGNORE INTO projects (id, root, created_at) VALUES (?, ?, ?)",
        (e.project, e.repo, at),
    )
    put(
        connection,
        """INSERT OR IGNORE INTO runs (id, project, repo, task, model, tenant, category, queued_at, last_at, last_seq, state,
           summary, worker, cap, budget_tokens, budget_micros)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'preparing', '', ?, ?, ?, ?)""",
        (
            *(e.run, e.project, e.repo, e.task, settings.model, settings.tenant, settings.category, at, at, e.seq),
            *(e.worker, settings.cap, settings.budget_tokens, settings.budget_micros),
        ),
    )


def _set(connection: sqlite3.Connection, run: str, **columns: Any) -> None:
    names = ", ".join(f"{name} = ?" for name in columns)
    put(connection, f"UPDATE runs SET {names} WHERE id = ?", (*columns.values(), run))


def _prepared(connection: sqlite3.Connection, e: loop.RunPrepared) -> None:
    _set(connection, e.run, workspace=e.workspace, failing=e.baseline_failing)


def _leg(connection: sqlite3.Connection, e: loop.LegStarted) -> None:
    _set(connection, e.run, model=e.model, leg=e.leg, cap=e.cap, attempt_of_leg=0)


def _attempt_started(connection: sqlite3.Connection, e: loop.AttemptStarted) -> None:
    put(
        connection,
        "INSERT OR IGNORE INTO attempts (run, attempt, leg, attempt_of_leg, model, started_at) VALUES (?, ?, ?, ?, ?, ?)",
        (e.run, e.attempt, e.leg, e.attempt_of_leg, e.model, utc(e.at)),
    )
    _set(connection, e.run, attempt=e.attempt, attempt_of_leg=e.attempt_of_leg, state="fixing")


def _size(diff: DiffStat) -> tuple[int, int, int]:
    return diff.files, diff.added, diff.removed


def _attempt_finished(connection: sqlite3.Connection, e: loop.AttemptFinished) -> None:
    c = e.comparison
    put(
        connection,
        """UPDATE attempts SET finished_at = ?, passed = ?, cause = ?, fixed = ?, new = ?, still = ?, pre_existing = ?,
           verify_wall_ms = ?, verify_cpu_ms = ?, verify_micros = ?, phase_end = ?, first_failure = ?, files = ?, added = ?,
           removed = ?, tree = ?, edited_tests = ? WHERE run = ? AND attempt = ?""",
        (
            *(utc(e.at), e.passed, e.cause, len(c.fixed), len(c.new), len(c.still), len(c.pre_existing)),
            *(e.verify_wall_ms, e.verify_cpu_ms, e.verify_micros, e.phase_end, e.first_failure, *_size(e.diff)),
            *(e.tree, len(e.edited_tests), e.run, e.attempt),
        ),
    )
    files, added, removed = _size(e.diff)
    _set(connection, e.run, failing=len(c.new) + len(c.still), files=files, added=added, removed=removed)


def _round_finished(connection: sqlite3.Connection, e: loop.RoundFinished) -> None:
    _set(connection, e.run, rounds=e.round)


def _verify_started(connection: sqlite3.Connection, e: checks.VerifyStarted) -> None:
    if e.attempt:
        _set(connection, e.run, state="verifying")


def _verify_finished(connection: sqlite3.Connection, e: checks.VerifyFinished) -> None:
    put(
        connection,
        """INSERT OR REPLACE INTO verify_results (run, attempt, step, seq, name, command, verdict, exit_code, findings,
           collected, wall_ms, cpu_ms, output_path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(e.run, e.attempt, e.step, e.seq, e.name, e.command, e.verdict, e.exit_code, e.findings_total),
            *(e.collected, e.wall_ms, e.cpu_ms, e.output_path),
        ),
    )


def _recovery(connection: sqlite3.Connection, e: checks.RecoveryDecided) -> None:
    quotes = json.dumps([quote.model_dump(mode="json") for quote in e.quotes])
    put(
        connection,
        """INSERT OR REPLACE INTO recovery_decisions (run, attempt, seq, action, router, quotes, overridden_by)
           VALUES (?, ?, ?, ?, ?, ?, ?)""",
        (e.run, e.attempt, e.seq, e.action, e.router, quotes, e.overridden_by),
    )
    _set(connection, e.run, state="recovering")


def _scored(connection: sqlite3.Connection, e: checks.StoplossScored) -> None:
    put(
        connection,
        "INSERT OR REPLACE INTO stoploss_scores (run, step, scorer, score, threshold, mode) VALUES (?, ?, ?, ?, ?, ?)",
        (e.run, e.step, e.scorer, e.score, e.threshold, e.mode),
    )
    _set(connection, e.run, score=e.score, threshold=e.threshold)


def _answered(connection: sqlite3.Connection, e: supervision.CommandAccepted | supervision.CommandRefused) -> None:
    accepted = isinstance(e, supervision.CommandAccepted)
    answer = e.effect if isinstance(e, supervision.CommandAccepted) else e.why
    put(
        connection,
        "INSERT OR IGNORE INTO commands (run, id, at, command, sender, accepted, answer) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (e.run, e.command_id, utc(e.at), e.command, e.sender, accepted, answer),
    )


def _cap(connection: sqlite3.Connection, e: supervision.CapChanged) -> None:
    _set(connection, e.run, cap=e.new)


def _budget(connection: sqlite3.Connection, e: supervision.BudgetChanged) -> None:
    column = {"tokens": "budget_tokens", "micros": "budget_micros"}.get(e.kind)
    if column is not None:
        _set(connection, e.run, **{column: None if e.new is None else int(e.new)})


def _held_up(connection: sqlite3.Connection, e: supervision.RunHeld) -> None:
    _set(connection, e.run, held=e.why, held_text=e.text)


def _paused(connection: sqlite3.Connection, e: supervision.RunPaused) -> None:
    _set(connection, e.run, paused=1)


def _resumed(connection: sqlite3.Connection, e: supervision.RunResumed) -> None:
    if e.resumed:
        _set(connection, e.run, reason=None, detail="", state="fixing", held=None, held_text="", paused=0)
    elif e.from_hold:
        _set(connection, e.run, held=None, held_text="")
    else:
        _set(connection, e.run, paused=0)


def _prompt(connection: sqlite3.Connection, e: loop.PromptAdded) -> None:
    if e.kind in ("task", "steer"):
        _turn(connection, e, "user", e.kind, e.text)


def _turn(connection: sqlite3.Connection, e: Event, role: str, kind: str, text: str) -> None:
    put(
        connection,
        """INSERT OR IGNORE INTO conversations (project, run, turn, role, kind, text, at)
           SELECT project, id, ?, ?, ?, ?, ? FROM runs WHERE id = ?""",
        (e.seq, role, kind, text, utc(e.at), e.run),
    )


def _delivered(connection: sqlite3.Connection, e: loop.ChangeDelivered) -> None:
    if e.ok:
        _set(connection, e.run, delivered=e.how)


def _finished(connection: sqlite3.Connection, e: loop.RunFinished) -> None:
    _set(connection, e.run, reason=e.reason, state="finished", detail=e.detail, result_ref=e.result_ref)
    _set(connection, e.run, held=None, held_text="", paused=0, claimed=0, summary=e.summary)
    if e.reason is not StopReason.INTERRUPTED:
        # Who finds a dead process's run doesn't know its change; the last attempt's size stands.
        files, added, removed = _size(e.diff_stat)
        _set(connection, e.run, files=files, added=added, removed=removed)
    if e.summary:
        _turn(connection, e, "assistant", "summary", e.summary)


HANDLERS: dict[str, Projection] = {
    "run_queued": _queued,
    "run_prepared": _prepared,
    "leg_started": _leg,
    "attempt_started": _attempt_started,
    "attempt_finished": _attempt_finished,
    "round_finished": _round_finished,
    "verify_started": _verify_started,
    "verify_finished": _verify_finished,
    "recovery_decided": _recovery,
    "stoploss_scored": _scored,
    "command_accepted": _answered,
    "command_refused": _answered,
    "cap_changed": _cap,
    "budget_changed": _budget,
    "run_held": _held_up,
    "run_paused": _paused,
    "run_resumed": _resumed,
    "prompt_added": _prompt,
    "change_delivered": _delivered,
    "run_finished": _finished,
}
