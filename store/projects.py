"""What the store knows of projects: where they are and their override of the retry cap."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.errors import UsageError
from store.database import Database

CAP_RANGE = range(1, 21)


class ProjectUpdate(BaseModel):
    """A change of a project's settings in the store. A field that is left out stays as it is; an explicit null clears it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    fix_verify_retry_cap: int | None = Field(default=None, ge=CAP_RANGE.start, le=CAP_RANGE.stop - 1)


def project_update(data: Mapping[str, Any]) -> ProjectUpdate:
    """An update of data that came from outside. Raises UsageError with the field and what is wrong, in one sentence."""
    try:
        return ProjectUpdate.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "update"
        if first["type"] == "extra_forbidden":
            raise UsageError(
                f"A project has no setting {name!r}.", f"It has: {', '.join(ProjectUpdate.model_fields)}."
            ) from error
        wanted = f"{CAP_RANGE.start} to {CAP_RANGE.stop - 1}, or null to use the model's default"
        raise UsageError(f"{name} is {first['input']!r}.", f"It must be a whole number from {wanted}.") from error


@dataclass(frozen=True, slots=True)
class Project:
    """A repository that runs were made for, or settings were kept for."""

    id: str
    root: str
    fix_verify_retry_cap: int | None
    runs: int


class Projects:
    """Lists projects and keeps their overrides."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Project]:
        """Every project, by name of its folder."""
        rows = await self._database.rows(
            """SELECT p.id, p.root, p.fix_verify_retry_cap AS cap, count(r.id) AS runs
               FROM projects p LEFT JOIN runs r ON r.project = p.id GROUP BY p.id ORDER BY p.root, p.id"""
        )
        return [Project(row["id"], row["root"], row["cap"], row["runs"]) for row in rows]

    async def cap(self, project: str) -> int | None:
        """The project's override of the retry cap; None where there is none."""
        rows = await self._database.rows("SELECT fix_verify_retry_cap AS cap FROM projects WHERE id = ?", (project,))
        return rows[0]["cap"] if rows else None

    async def update(self, project: str, root: str, change: ProjectUpdate) -> bool:
        """Carry an update out; returns whether it said anything."""
        if "fix_verify_retry_cap" not in change.model_fields_set:
            return False
        await self.set_cap(project, root, change.fix_verify_retry_cap)
        return True

    async def set_cap(self, project: str, root: str, cap: int | None) -> int | None:
        """Set the override, or clear it with None; returns the one before. Raises UsageError outside 1 to 20."""
        if cap is not None and (isinstance(cap, bool) or cap not in CAP_RANGE):
            raise UsageError(
                f"fix_verify_retry_cap is {cap}; it can be 1 to 20.", "Clear it to use the model's default."
            )
        now = datetime.now(UTC).isoformat()

        def unit(connection: sqlite3.Connection) -> int | None:
            before = connection.execute("SELECT fix_verify_retry_cap FROM projects WHERE id = ?", (project,)).fetchone()
            connection.execute(
                """INSERT INTO projects (id, root, fix_verify_retry_cap, created_at) VALUES (?, ?, ?, ?)
                   ON CONFLICT (id) DO UPDATE SET fix_verify_retry_cap = excluded.fix_verify_retry_cap""",
                (project, root, cap, now),
            )
            return None if before is None else before[0]

        return await self._database.write(unit)
