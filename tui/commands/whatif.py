"""`looptop whatif`: finished runs under other caps and budgets, without a model call."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import click

from runtime.catalog.caps import check_cap
from runtime.curves.legs import Leg, family_of
from runtime.curves.whatif import Outcome, whatifs
from runtime.errors import UsageError
from runtime.settings import load_settings
from runtime.usage import MICROS_PER_DOLLAR
from store.curves import finished_legs
from store.store import Store
from tui.cli import echo_json
from tui.commands.run import root_of
from tui.commands.store_access import with_store
from tui.commands.table import table
from tui.places import config_of, here
from tui.words import money

HEAD = ("family", "cap", "runs", "fixed", "lost", "saved", "spent in vain", "handed on", "can't tell")
LEGEND = (
    "lost: fixes that wouldn't have been made. saved: what wouldn't have been spent. spent in vain: in runs without a fix. "
    "handed on: runs that meet the cap without a fix. can't tell: runs that ended before these limits; they make the ranges."
)


@click.command()
@click.option(
    "--cap", "caps", type=int, multiple=True, metavar="N", help="A retry cap to try; may be given several times."
)
@click.option("--budget-usd", type=float, metavar="X", help="Dollars at most for a run.")
@click.option("--budget-tokens", type=int, metavar="N", help="Tokens at most for a run.")
@click.option("--category", metavar="C", help="Only runs of this category.")
@click.option("--tenant", metavar="T", help="Only runs for this tenant.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
def whatif(
    caps: tuple[int, ...],
    budget_usd: float | None,
    budget_tokens: int | None,
    category: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    """What other retry caps and budgets would have done to the runs that are finished, by model family."""
    if not caps and budget_usd is None and budget_tokens is None:
        raise UsageError("There is nothing to try.", "Give --cap, --budget-usd or --budget-tokens.")
    for cap in caps:
        check_cap(cap, "--cap")
    for option, value in (("--budget-usd", budget_usd), ("--budget-tokens", budget_tokens)):
        if value is not None and not 0 < value < 10**12:
            raise UsageError(f"{option} is {value:g}.", "It must be more than 0.")
    settings = load_settings(config_of(os.environ), root_of(Path(here())), os.environ)

    async def read(store: Store, _: Path) -> list[Leg]:
        return await finished_legs(store.database, category=category, tenant=tenant)

    families: dict[str, list[Leg]] = {}
    for leg in with_store(read):
        families.setdefault(family_of(leg.model, settings["caps.defaults"]), []).append(leg)
    micros = None if budget_usd is None else round(budget_usd * MICROS_PER_DOLLAR)
    found = [
        (family, outcome)
        for family, legs in sorted(families.items(), key=lambda item: -len(item[1]))
        for outcome in whatifs(legs, sorted(set(caps)), micros, budget_tokens)
    ]
    if as_json:
        echo_json([{"family": family, **dataclasses.asdict(outcome)} for family, outcome in found])
        return
    if not found:
        click.echo("no finished run yet", err=True)
        return
    click.echo(table(HEAD, [_row(family, outcome) for family, outcome in found], ".>>>>>>>>"))
    click.echo(LEGEND, err=True)


def _row(family: str, one: Outcome) -> tuple[str, ...]:
    return (
        family,
        "as it was" if one.limits.cap is None else str(one.limits.cap),
        f"{one.legs:,}",
        bounds(one.fixed_low, one.fixed_high),
        f"{one.lost:,}",
        money(one.saved_micros, one.saved_complete),
        money(one.vain_micros, one.vain_complete),
        bounds(one.handed_low, one.handed_high),
        f"{one.untold:,}",
    )


def bounds(low: int, high: int) -> str:
    """A number, or its bounds where history can't tell."""
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"
