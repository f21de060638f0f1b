"""Questions about runs that were: lists, one run found by the beginning of its id, what was verified, decided, said and answered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runtime.errors import UsageError
from runtime.events.base import Event
from runtime.events.codec import event_from_json
from runtime.events.supervision import CommandAccepted, CommandRefused
from runtime.ports import LostCall
from runtime.view import RunView
from store.database import Database
from store.event_log import EventLog
from store.ledger import WORST_CASE, settled_usage
from store.lines import RunLine, run_line
from store.owner import Owner
from store.sums import SUM_COLUMNS
from store.views import Views

__all__ = ["CommandAnswer", "History", "RunLine", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation between supervisor and agent."""

    run: str
    turn: int
    role: str
    kind: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What came of a command, for a second delivery of the same."""

    command: str
    sender: str
    accepted: bool
    answer: str
    at: datetime


class History:
    """Reads; never writes."""

    def __init__(self, database: Database, events: EventLog, views: Views) -> None:
        self._database = database
        self._events = events
        self._views = views

    async def runs(
        self,
        limit: int = 200,
        project: str | None = None,
        *,
        reason: str | None = None,
        search: str = "",
        before: RunLine | None = None,
    ) -> list[RunLine]:
        """The latest runs, newest first. `before` goes on after a page's last line; `search` looks into task, id and repository.

        `reason` is a stop reason, or `open` for runs without an end.
        """
        parts: list[str] = []
        values: list[Any] = []
        if project is not None:
            parts.append("project = ?")
            values.append(project)
        if reason is not None:
            parts.append("reason IS NULL" if reason == "open" else "reason = ?")
            values += [] if reason == "open" else [reason]
        if search:
            parts.append("(instr(casefold(task), ?) OR instr(casefold(id), ?) OR instr(casefold(repo), ?))")
            values += [search.casefold()] * 3
        if before is not None:
            parts.append("(queued_at, id) < (?, ?)")
            values += [before.queued_at.isoformat(), before.run]
        where = f"WHERE {' AND '.join(parts)}" if parts else ""
        return await self._lines(f"{where} ORDER BY queued_at DESC, id DESC LIMIT ?", [*values, limit])

    async def open_runs(self) -> list[RunLine]:
        """Runs without an end, oldest first."""
        return (await self._lines("WHERE reason IS NULL ORDER BY queued_at DESC, id DESC", ()))[::-1]

    async def line(self, run: str) -> RunLine:
        """One run. Raises UsageError where there is none."""
        lines = await self._lines("WHERE id = ?", (run,))
        if not lines:
            raise UsageError(f"There is no run {run!r}.", "`looptop runs` lists them.")
        return lines[0]

    async def _lines(self, which: str, values: Sequence[Any]) -> list[RunLine]:
        rows = await self._database.rows(
            f"""WITH picked AS (SELECT * FROM runs {which})
                SELECT picked.*, {SUM_COLUMNS} FROM picked LEFT JOIN llm_usage u ON u.run = picked.id
                GROUP BY picked.id ORDER BY picked.queued_at DESC, picked.id DESC""",
            values,
        )
        now = datetime.now(UTC)
        return [run_line(row, now) for row in rows]

    async def find(self, beginning: str) -> str:
        """The id of the run that begins so. Raises UsageError for none and for several."""
        if not beginning or not beginning.replace("-", "").isalnum():
            raise UsageError(f"{beginning!r} is not a run's id.", "`looptop runs` lists them.")
        rows = await self._database.rows(
            "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 6", (beginning, beginning + "\U0010ffff")
        )
        ids = [str(row["id"]) for row in rows]
        if beginning in ids:
            return beginning
        if not ids:
            raise UsageError(f"There is no run {beginning!r}.", "`looptop runs` lists them.")
        if len(ids) > 1:
            more = " and more" if len(ids) > 5 else ""
            raise UsageError(
                f"{beginning!r} is the beginning of several runs: {', '.join(ids[:5])}{more}.", "Give more of it."
            )
        return ids[0]

    def events(self, run: str, after: int = 0) -> AsyncIterator[Event]:
        """A run's events in order, read in pages."""
        return self._events.read(run, after)

    async def events_after(self, run: str, seq: int, limit: int) -> list[Event]:
        """At most `limit` events above `seq`, oldest first."""
        return await self._events.page(run, seq, limit=limit)

    async def events_before(self, run: str, seq: int | None, limit: int) -> list[Event]:
        """At most `limit` events just below `seq` (None: the newest), oldest first."""
        return await self._events.page_before(run, seq, limit)

    async def view(self, run: str) -> RunView:
        """The run as its events tell it. Raises UsageError where there is none."""
        return await self._views.load(run)

    async def attempts(self, run: str) -> list[dict[str, Any]]:
        """The rows of `attempts`, in order."""
        return await self._dicts("SELECT * FROM attempts WHERE run = ? ORDER BY attempt", (run,))

    async def verify_results(self, run: str) -> list[dict[str, Any]]:
        """The rows of `verify_results`, in order; attempt 0 is the baseline."""
        return await self._dicts("SELECT * FROM verify_results WHERE run = ? ORDER BY seq", (run,))

    async def stoploss_scores(self, run: str) -> list[dict[str, Any]]:
        """The rows of `stoploss_scores`, in order."""
        return await self._dicts("SELECT * FROM stoploss_scores WHERE run = ? ORDER BY step, scorer", (run,))

    async def recovery_quotes(self, run: str) -> list[dict[str, Any]]:
        """The recovery decisions of a run, with what was quoted."""
        rows = await self._dicts("SELECT * FROM recovery_decisions WHERE run = ? ORDER BY seq", (run,))
        return [{**row, "quotes": json.loads(row["quotes"])} for row in rows]

    async def _dicts(self, sql: str, values: Sequence[Any]) -> list[dict[str, Any]]:
        return [dict(row) for row in await self._database.rows(sql, values)]

    async def conversation(self, project: str, limit: int = 200, run: str | None = None) -> list[Turn]:
        """The newest turns of a project, or of one of its runs, oldest first."""
        rows = await self._database.rows(
            f"""SELECT * FROM conversations WHERE project = ? {"AND run = ?" if run else ""}
                ORDER BY at DESC, run DESC, turn DESC LIMIT ?""",
            (project, *([run] if run else []), limit),
        )
        return [
            Turn(row["run"], row["turn"], row["role"], row["kind"], row["text"], datetime.fromisoformat(row["at"]))
            for row in reversed(rows)
        ]

    async def command_ids(self, run: str) -> set[str]:
        """Ids of commands that were answered in an earlier process."""
        rows = await self._database.rows("SELECT id FROM commands WHERE run = ?", (run,))
        return {str(row["id"]) for row in rows}

    async def command_answer(self, run: str, command_id: str) -> CommandAnswer | None:
        """The answer that a command had; None where it wasn't seen yet."""
        rows = await self._database.rows("SELECT * FROM commands WHERE run = ? AND id = ?", (run, command_id))
        if not rows:
            return None
        row = rows[0]
        at = datetime.fromisoformat(row["at"])
        return CommandAnswer(row["command"], row["sender"], bool(row["accepted"]), row["answer"], at)

    async def answered(self, run: str, command_id: str) -> CommandAccepted | CommandRefused | None:
        """The event that answered a command; None where none did yet."""
        rows = await self._database.rows(
            """SELECT body FROM events WHERE run = ? AND type IN ('command_accepted', 'command_refused')
               AND json_extract(body, '$.command_id') = ? ORDER BY seq LIMIT 1""",
            (run, command_id),
        )
        event = event_from_json(rows[0]["body"]) if rows else None
        return event if isinstance(event, CommandAccepted | CommandRefused) else None

    async def owner(self, run: str) -> Owner | None:
        """The process that executes a run, or executed it last; None where that isn't known."""
        rows = await self._database.rows("SELECT host, pid, pid_started FROM runs WHERE id = ?", (run,))
        if not rows or rows[0]["host"] is None or rows[0]["pid"] is None:
            return None
        return Owner(rows[0]["host"], rows[0]["pid"], rows[0]["pid_started"] or 0.0)

    async def lost_calls(self, run: str) -> list[LostCall]:
        """Calls of a run's fix phases in which their process died, as they were settled, by round."""
        rows = await self._database.rows(
            """SELECT round, input, output, cost_micros FROM llm_usage WHERE run = ? AND outcome = 'interrupted'
               AND price_version = ? AND purpose = 'fix' AND round IS NOT NULL ORDER BY round""",
            (run, WORST_CASE),
        )
        return [LostCall(row["round"], settled_usage(row["input"], row["output"]), row["cost_micros"]) for row in rows]

    async def project_cap(self, project: str) -> int | None:
        """The project's override of the retry cap; None where there is none."""
        rows = await self._database.rows("SELECT fix_verify_retry_cap AS cap FROM projects WHERE id = ?", (project,))
        return rows[0]["cap"] if rows else None
