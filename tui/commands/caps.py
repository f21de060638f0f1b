"""`looptop caps`: which retry cap holds for which model, what own history says of it, and writing a recommendation down."""

from __future__ import annotations

import dataclasses
import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from runtime.catalog.caps import default_fix_verify_cap
from runtime.curves.curve import Curve, Point, curves
from runtime.curves.legs import family_of
from runtime.errors import LooptopError, UsageError
from runtime.settings import Settings, load_settings
from runtime.workspace.repository import open_repository
from store.curves import finished_legs, trial_of
from store.store import Store
from tui.cli import echo_json
from tui.commands.run import root_of
from tui.commands.store_access import with_store
from tui.commands.table import table
from tui.curves import AUDIT
from tui.places import config_of, here
from tui.settings_edit import edit
from tui.words import money, plural, tokens

EXAMPLES = ("claude-sonnet-5-5", "qwen3-coder", "local", "mistral-large")


@click.command()
@click.argument("models", nargs=-1)
@click.option("--category", metavar="C", help="Only runs of this category.")
@click.option("--tenant", metavar="T", help="Only runs for this tenant.")
@click.option("--apply", "family", metavar="FAMILY", help="Write a family's recommendation into caps.defaults.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def caps(models: tuple[str, ...], category: str | None, tenant: str | None, family: str | None, as_json: bool) -> None:
    """The retry caps in force here, for MODELS or some examples; and the fix-rate curves of own runs, by model family."""
    settings = load_settings(config_of(os.environ), root_of(Path(here())), os.environ)

    async def read(store: Store, _: Path) -> tuple[list[Curve], list[dict[str, Any]]]:
        legs = await finished_legs(store.database, category=category, tenant=tenant)
        found = curves(legs, settings["caps.defaults"], settings["caps.min_gain"])
        return found, await _in_force(store, models, settings)

    found, in_force = with_store(read)
    if family is not None:
        click.echo(apply(found, family, settings["caps.defaults"], {"category": category, "tenant": tenant}))
        return
    if as_json:
        echo_json({"caps": in_force, "curves": [_data(one, settings) for one in found]})
        return
    rows = [(row["model"], str(row["cap"]), row["from"], row["on_trial"]) for row in in_force]
    click.echo(table(("model", "cap", "from", ""), rows, ".>"))
    for one in found:
        click.echo(f"\n{curve_text(one, settings['caps.defaults'])}")
    if not found:
        click.echo("\nno finished run yet: what a further attempt brings isn't known", err=True)


async def _in_force(store: Store, models: tuple[str, ...], settings: Settings) -> list[dict[str, Any]]:
    project, source = settings["fix_verify_retry_cap"], "the project's fix_verify_retry_cap"
    if project is None:
        project, source = await _override(store), f"{source}, in the store"
    rows = []
    for model in models or EXAMPLES:
        cap = default_fix_verify_cap(model, settings["caps.defaults"])
        own = project is not None
        trial = "" if own or not cap.on_trial else f"on trial, {await trial_of(store.database, family_of(model))}"
        rows.append(
            {
                "model": model,
                "cap": project if own else cap.value,
                "from": source if own else cap.source,
                "on_trial": trial,
            }
        )
    return rows


async def _override(store: Store) -> int | None:
    """The override that the store has for the repository here; None where there is neither."""
    try:
        return await store.projects.cap((await open_repository(here())).project)
    except LooptopError:
        # Outside of a repository the caps by model hold.
        return None


def _data(one: Curve, settings: Settings) -> dict[str, Any]:
    now = default_fix_verify_cap(one.family, settings["caps.defaults"])
    return {**dataclasses.asdict(one), "cap_now": now.value, "cap_from": now.source}


def curve_text(one: Curve, defaults: Mapping[str, int]) -> str:
    """A family's curve: what it recommends, and a line for each attempt."""
    now, advice = default_fix_verify_cap(one.family, defaults), one.recommended
    cap = "none yet" if advice.cap is None else str(advice.cap)
    lines = [
        f"{one.family}: {plural(one.runs, 'run')}, cap now {now.value} ({now.source}), recommended {cap}: {advice.why}"
    ]
    if advice.cap is not None:
        spent = money(one.after_useful_micros, one.complete)
        lines.append(f"spent on attempts after the recommended one: {spent}")
    head = ("attempt", "open", "passed", "rate", "95%", "tokens", "cost", "verify")
    return "\n".join([*lines, table(head, map(_row, one.points), ">>>>>>>>")])


def _row(point: Point) -> tuple[str, ...]:
    def whole(value: float | None) -> int | None:
        return None if value is None else round(value)

    return (
        str(point.attempt),
        f"{point.at_risk:,}",
        f"{point.passed:,}",
        f"{point.rate:.1%}",
        f"{point.low:.1%}-{point.high:.1%}",
        tokens(whole(point.tokens)),
        money(whole(point.micros)),
        money(whole(point.verify_micros)),
    )


def recommended(found: list[Curve], family: str) -> tuple[Curve, int]:
    """A family's curve and the cap to set by it. Raises UsageError where there is none."""
    one = next((one for one in found if one.family == family.strip().lower()), None)
    if one is None:
        known = ", ".join(one.family for one in found) or "none"
        raise UsageError(f"There are no finished runs of a family {family!r}.", f"There are: {known}.")
    if one.recommended.to_set is None:
        raise UsageError(f"Nothing can be recommended for {one.family}: {one.recommended.why}.")
    return one, one.recommended.to_set


def key_of(family: str, defaults: Mapping[str, int]) -> str:
    """The setting that holds a family's cap, spelt as it is there: a second one in other letters would not count."""
    return f"caps.defaults.{next((prefix for prefix in defaults if prefix.lower() == family), family)}"


def apply(found: list[Curve], family: str, defaults: Mapping[str, int], scope: Mapping[str, str | None]) -> str:
    """Write a recommendation into the user's settings and keep who did so, on what figures; says what was done.

    `scope` is what the figures were narrowed by.
    """
    one, cap = recommended(found, family)
    before = default_fix_verify_cap(one.family, defaults)
    path, key = config_of(os.environ), key_of(one.family, defaults)
    changed = edit(path, key, cap)
    if changed:

        async def keep(store: Store, _: Path) -> None:
            await store.calibrations.add(AUDIT, audit(one, before.value, cap, scope), one.runs, model=one.family)

        with_store(keep)
    now = load_settings(path, root_of(Path(here())), os.environ)["caps.defaults"]
    other = default_fix_verify_cap(one.family, now).value
    beaten = "" if other == cap else f"; here {other} stays in force, by the project's file or the environment"
    if not changed:
        return f"{key} was {cap} already{beaten}"
    return f"{key} = {cap} in {path}, before {before.value} ({before.source}): {one.recommended.why}{beaten}"


def audit(one: Curve, old: int, new: int, scope: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """What is kept of an applied recommendation: by whom, old and new value, and the figures that it rests on."""
    return {
        **{name: value for name, value in (scope or {}).items() if value is not None},
        "family": one.family,
        "old": old,
        "new": new,
        "by": getpass.getuser(),
        "why": one.recommended.why,
        "points": [dataclasses.asdict(point) for point in one.points],
    }
