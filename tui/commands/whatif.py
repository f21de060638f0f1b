"""`looptop whatif`: finished runs under other caps and budgets, without a model call."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from runtime.catalog.caps import check_cap
from runtime.curves.legs import Leg, family_of
from runtime.curves.whatif import Outcome, whatifs
from runtime.errors import UsageError
from runtime.settings import load_settings
from runtime.text import one_line
from runtime.usage import MICROS_PER_DOLLAR
from store.curves import finished_legs
from store.store import Store
from tui.cli import echo_json
from tui.commands.run import root_of
from tui.commands.store_access import with_store
from tui.commands.table import table
from tui.places import config_of, here
from tui.words import money

HEAD = ("cap", "runs", "fixed", "lost", "saved", "spent in vain", "handed on", "can't tell")
GROUPS: Mapping[str, Callable[[Leg, Mapping[str, int]], str]] = {
    "family": lambda leg, defaults: family_of(leg.model, defaults),
    "model": lambda leg, _: leg.model,
    "category": lambda leg, _: leg.category or "-",
    "tenant": lambda leg, _: leg.tenant or "-",
}
LEGEND = (
    "lost: fixes that wouldn't have been made. saved: what wouldn't have been spent. spent in vain: in runs without a fix. "
    "handed on: runs that meet the cap without a fix. can't tell: runs that their own cap or budget ended before these limits, "
    "or whose cost isn't known; they make the ranges. Verify counts where it has a price."
)


@click.command()
@click.option(
    "--cap", "caps", type=int, multiple=True, metavar="N", help="A retry cap to try; may be given several times."
)
@click.option("--budget-usd", type=float, metavar="X", help="Dollars at most for a run.")
@click.option("--budget-tokens", type=int, metavar="N", help="Tokens at most for a run.")
@click.option(
    "--by", type=click.Choice(sorted(GROUPS)), default="family", show_default=True, help="What the rows are parted by."
)
@click.option("--category", metavar="C", help="Only runs of this category.")
@click.option("--tenant", metavar="T", help="Only runs for this tenant.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
def whatif(
    caps: tuple[int, ...],
    budget_usd: float | None,
    budget_tokens: int | None,
    by: str,
    category: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    """What other retry caps and budgets would have done to the runs that are finished."""
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

    groups: dict[str, list[Leg]] = {}
    for leg in with_store(read):
        groups.setdefault(GROUPS[by](leg, settings["caps.defaults"]), []).append(leg)
    micros = None if budget_usd is None else round(budget_usd * MICROS_PER_DOLLAR)
    found = [
        (name, outcome)
        for name, legs in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        for outcome in whatifs(legs, sorted(set(caps)), micros, budget_tokens)
    ]
    if as_json:
        echo_json([{by: name, **dataclasses.asdict(outcome)} for name, outcome in found])
        return
    if not found:
        click.echo("no finished run yet", err=True)
        return
    click.echo(table((by, *HEAD), [_row(name, outcome) for name, outcome in found], ".>>>>>>>>"))
    click.echo(LEGEND, err=True)


def _row(name: str, one: Outcome) -> tuple[str, ...]:
    return (
        one_line(name),
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
