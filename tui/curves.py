"""Curves and projects for the screens, from store and settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime.catalog.caps import MAX_CAP, default_fix_verify_cap
from runtime.curves.curve import Curve, curves
from runtime.curves.legs import Leg, family_of
from runtime.curves.whatif import whatifs
from runtime.errors import LooptopError, UsageError
from runtime.settings import Settings, load_settings
from runtime.verify.detect import detect_steps
from store.curves import finished_legs
from store.projects import Project, project_update
from store.reports import UsageRow
from store.store import Store
from tui.backend import CurvesReport, FamilyCurve, ProjectLine
from tui.places import config_of
from tui.project import ProjectSettings
from tui.settings_edit import edit
from tui.words import limit_money, plural, tokens

AUDIT = "cap"
"""Kind of the calibrations' rows that tell who wrote which recommendation down, on what figures."""


def _settings() -> Settings:
    return load_settings(config_of(os.environ), None, os.environ)


async def curves_report(store: Store, caps: Sequence[int] = ()) -> CurvesReport:
    """Every family's curve, with the given caps (none: those around its own) tried on the same runs."""
    legs = await finished_legs(store.database)
    return await asyncio.to_thread(_report, legs, _settings(), caps)


def _report(legs: list[Leg], settings: Settings, caps: Sequence[int] = ()) -> CurvesReport:
    defaults = settings["caps.defaults"]
    families = []
    for one in curves(legs, defaults, settings["caps.min_gain"]):
        own = [leg for leg in legs if family_of(leg.model, defaults) == one.family]
        now = default_fix_verify_cap(one.family, defaults)
        families.append(FamilyCurve(one, now.value, now.source, tuple(whatifs(own, caps or tried(now.value, one)))))
    return CurvesReport(tuple(families))


def tried(now: int, one: Curve) -> list[int]:
    """Caps worth a look: the one in force, the recommended one, and those two below and above."""
    centre = one.recommended.to_set or now
    return sorted({cap for cap in (centre - 2, centre, centre + 2, now) if 1 <= cap <= MAX_CAP})


async def apply_cap(store: Store, family: str) -> str:
    """Write a recommendation into the user's settings and keep who did so, on what figures. Raises UsageError."""
    from tui.commands.caps import audit, key_of, recommended

    settings = _settings()
    defaults = settings["caps.defaults"]
    found = curves(await finished_legs(store.database), defaults, settings["caps.min_gain"])
    one, cap = recommended(found, family)
    before = default_fix_verify_cap(one.family, defaults)
    key = key_of(one.family, defaults)
    if not await asyncio.to_thread(edit, config_of(os.environ), key, cap):
        return f"{key} was {cap} already"
    await store.calibrations.add(AUDIT, audit(one, before.value, cap), one.runs, model=one.family)
    return f"{key} is {cap}, before {before.value}; runs started from the next looptop on take it"


async def project_lines(store: Store, settings: ProjectSettings) -> list[ProjectLine]:
    """Every project, the one with most runs first."""
    passed = {
        str(row["project"]): int(row["n"])
        for row in await store.database.rows(
            "SELECT project, count(*) AS n FROM runs WHERE reason IN ('passed', 'already_passing') GROUP BY project"
        )
    }
    used = {row.key: row for row in await store.reports.usage("project")}
    projects = sorted(await store.projects.all(), key=lambda one: (-one.runs, one.root))
    return [await asyncio.to_thread(_line, one, passed.get(one.id, 0), used.get(one.id), settings) for one in projects]


def _line(one: Project, passed: int, used: UsageRow | None, settings: ProjectSettings) -> ProjectLine:
    root = Path(one.root)
    known = used is None or used.money.known
    micros = (0 if used is None else used.money.micros) if known else None
    complete = used is None or used.money.complete
    line = ProjectLine(
        one.id, root.name or one.id, one.root, one.runs, passed, micros, complete, one.fix_verify_retry_cap
    )
    try:
        found = settings.of(root)
    except LooptopError as error:
        return replace(line, trouble=str(error))
    steps = found.verify if found.verify is not None else tuple(step.spec for step in detect_steps(root))
    return replace(
        line, file_cap=found.cap, verify=tuple(step.command for step in steps), budgets=tuple(_budgets(found.settings))
    )


def _budgets(settings: Settings) -> list[tuple[str, str]]:
    dollars = [
        (name, round(settings[key] * 1_000_000))
        for name, key in (("a run", "budget.usd"), ("the project", "budget.project_usd"), ("a day", "budget.day_usd"))
        if settings[key]
    ]
    found = [(f"budget, {name}", limit_money(micros)) for name, micros in dollars]
    if settings["budget.tokens"]:
        found.append(("budget, a run", f"{tokens(settings['budget.tokens'])} tokens"))
    return found


async def update_project(store: Store, project: str, change: Mapping[str, Any]) -> str:
    """Carry a validated change of a project out. Raises UsageError."""
    update = project_update(change)
    known = next((one for one in await store.projects.all() if one.id == project), None)
    if known is None:
        raise UsageError(f"There is no project {project!r} in the store.")
    before = known.fix_verify_retry_cap
    if not await store.projects.update(project, known.root, update):
        return "nothing was changed"
    cap = update.fix_verify_retry_cap
    was = "there was none" if before is None else f"it was {before}"
    attempts = "the default by model holds" if cap is None else f"at most {plural(cap, 'attempt')} a leg"
    return f"cap override {'cleared' if cap is None else f'set to {cap}'}, {was}: {attempts}"
