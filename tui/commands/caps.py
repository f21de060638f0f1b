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
from runtime.errors import UsageError
from runtime.settings import Settings, load_settings
from store.curves import finished_legs
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

    async def read(store: Store, _: Path) -> list[Curve]:
        legs = await finished_legs(store.database, category=category, tenant=tenant)
        return curves(legs, settings["caps.defaults"], settings["caps.min_gain"])

    found = with_store(read)
    if family is not None:
        click.echo(apply(found, family, settings["caps.defaults"]))
        return
    if as_json:
        echo_json({"caps": _in_force(models, settings), "curves": [_data(one, settings) for one in found]})
        return
    rows = [(row["model"], str(row["cap"]), row["from"], row["on_trial"]) for row in _in_force(models, settings)]
    click.echo(table(("model", "cap", "from", ""), rows, ".>"))
    for one in found:
        click.echo(f"\n{curve_text(one, settings['caps.defaults'])}")
    if not found:
        click.echo("\nno finished run yet: what a further attempt brings isn't known", err=True)


def _in_force(models: tuple[str, ...], settings: Settings) -> list[dict[str, Any]]:
    project = settings["fix_verify_retry_cap"]
    rows = []
    for model in models or EXAMPLES:
        cap = default_fix_verify_cap(model, settings["caps.defaults"])
        own = project is not None
        rows.append(
            {
                "model": model,
                "cap": project if own else cap.value,
                "from": "the project's fix_verify_retry_cap" if own else cap.source,
                "on_trial": "" if own or not cap.on_trial else "on trial: no fix-rate curve backs it yet",
            }
        )
    return rows


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


def apply(found: list[Curve], family: str, defaults: Mapping[str, int]) -> str:
    """Write a recommendation into the user's settings and keep who did so, on what figures; says what was done."""
    one, cap = recommended(found, family)
    before = default_fix_verify_cap(one.family, defaults)
    path = config_of(os.environ)
    changed = edit(path, f"caps.defaults.{one.family}", cap)
    if changed:

        async def keep(store: Store, _: Path) -> None:
            await store.calibrations.add(AUDIT, audit(one, before.value, cap), one.runs, model=one.family)

        with_store(keep)
    done = f"caps.defaults.{one.family} = {cap} in {path}, before {before.value} ({before.source})"
    return f"{done}: {one.recommended.why}" if changed else f"caps.defaults.{one.family} was {cap} already"


def audit(one: Curve, old: int, new: int) -> dict[str, Any]:
    """What is kept of an applied recommendation: by whom, old and new value, and the figures that it rests on."""
    return {
        "family": one.family,
        "old": old,
        "new": new,
        "by": getpass.getuser(),
        "why": one.recommended.why,
        "points": [dataclasses.asdict(point) for point in one.points],
    }
