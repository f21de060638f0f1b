"""The legs of finished runs, for fix-rate curves and what-if: attempts with what each cost, from the tables alone."""

from __future__ import annotations

import sqlite3
from itertools import groupby
from typing import Any

from runtime.curves.legs import Attempt, Ended, Leg, family_of
from store.database import Database

_SQL = """
    SELECT r.id AS run, r.reason, r.cap, r.category, r.tenant, a.leg, a.attempt, a.model, a.passed, a.verify_micros,
        u.calls, u.tokens, u.micros, u.unpriced, u.unmetered, max(a.leg) OVER (PARTITION BY r.id) AS last_leg
    FROM runs r JOIN attempts a ON a.run = r.id
    LEFT JOIN (
        SELECT run, attempt, count(*) AS calls, count(*) - count(cost_micros) AS unpriced,
            coalesce(sum(cost_micros), 0) AS micros, sum(input IS NULL OR output IS NULL) AS unmetered,
            sum(coalesce(input, 0) + coalesce(output, 0) + coalesce(cache_read, 0) + coalesce(cache_write_5m, 0)
                + coalesce(cache_write_1h, 0)) AS tokens
        FROM llm_usage WHERE attempt IS NOT NULL AND purpose <> 'verify' GROUP BY run, attempt
    ) u ON u.run = a.run AND u.attempt = a.attempt
    WHERE r.reason IS NOT NULL AND a.finished_at IS NOT NULL {also}
    ORDER BY r.queued_at, r.id, a.attempt"""


async def finished_legs(
    database: Database, *, project: str | None = None, category: str | None = None, tenant: str | None = None
) -> list[Leg]:
    """Every leg with a verified attempt, of finished runs, oldest run first; narrowed by what is given."""
    given = {"r.project": project, "r.category": category, "r.tenant": tenant}
    wanted = {name: value for name, value in given.items() if value is not None}
    also = "".join(f" AND {name} = ?" for name in wanted)
    rows = await database.rows(_SQL.format(also=also), tuple(wanted.values()))
    legs: list[Leg] = []
    for _, of_run in groupby(rows, key=lambda row: row["run"]):
        before: tuple[tuple[Attempt, ...], ...] = ()
        for _, of_leg in groupby(of_run, key=lambda row: row["leg"]):
            legs.append(_leg(list(of_leg), before))
            before = (*before, legs[-1].attempts)
    return legs


async def trial_of(database: Database, family: str) -> str:
    """Since when a family's cap is on trial, and with how many finished runs, in words."""
    rows = await database.rows(
        "SELECT DISTINCT r.id AS run, r.queued_at, a.model FROM runs r JOIN attempts a ON a.run = r.id WHERE r.reason IS NOT NULL"
    )
    found = {row["run"]: str(row["queued_at"])[:10] for row in rows if family_of(row["model"]) == family}
    if not found:
        return "no finished run yet"
    return f"since {min(found.values())}, {len(found)} run{'' if len(found) == 1 else 's'}"


def _leg(rows: list[sqlite3.Row], before: tuple[tuple[Attempt, ...], ...]) -> Leg:
    first = rows[0]
    attempts = tuple(_attempt(row) for row in rows)
    ended = Ended.PASSED if attempts[-1].passed else _ended(rows[-1], len(rows))
    return Leg(first["run"], first["model"], attempts, ended, first["category"], first["tenant"], before)


def _ended(last: sqlite3.Row, made: int) -> Ended:
    """How a leg without a fix ended. One that was aborted or died while it was held at its cap had met it."""
    reason = last["reason"]
    if last["leg"] != last["last_leg"]:
        return Ended.HANDED
    at_cap = last["cap"] is not None and made >= last["cap"]
    if reason == "cap_reached" or (at_cap and reason in ("aborted", "interrupted")):
        return Ended.CAP
    return Ended.BUDGET if reason in ("token_budget", "cost_budget") else Ended.OTHER


def _attempt(row: Any) -> Attempt:
    """An attempt without calls cost nothing; one with a call of unknown usage or price isn't known."""
    tokens = micros = 0
    unknown_tokens = unknown_micros = False
    if row["calls"]:
        tokens, micros = int(row["tokens"]), int(row["micros"])
        unknown_tokens, unknown_micros = bool(row["unmetered"]), bool(row["unpriced"])
    return Attempt(
        bool(row["passed"]),
        None if unknown_tokens else tokens,
        None if unknown_micros else micros,
        row["verify_micros"],
    )
