"""Where `looptop stoploss` takes its runs and scorers from."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.errors import LooptopError, UsageError
from runtime.stoploss.evaluate.held_out import Candidate, trained_candidate
from runtime.stoploss.linear import Linear
from runtime.stoploss.scorers.base import Scorer
from runtime.stoploss.scorers.embedded import Embedded
from runtime.stoploss.scorers.ensemble import Ensemble
from runtime.stoploss.scorers.factory import make_scorer
from runtime.stoploss.steps import Trajectory
from runtime.stoploss.trajectories.load import load, with_verdicts
from store.store import Store
from tui.commands.store_access import with_store
from tui.places import home_of

WEIGHTS = "stoploss.json"
FAMILIES = {"trained": "full", "trained:window": "window", "trained:step": "step"}


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs that were asked for, and whether they are own ones."""

    runs: list[Trajectory]
    own: bool


def runs_of(source: dict[str, Any]) -> Runs:
    """Runs of files, or own history. Raises UsageError where there are none."""
    paths: Sequence[Path] = source["paths"]
    if paths:
        runs = load(paths)
    else:
        project = source["project"] or _project(source["repo"])
        runs = with_store(lambda store, _: _own(store, project))
    if source["results"] is not None:
        runs = with_verdicts(runs, source["results"])
    if source["executor"]:
        runs = [run for run in runs if run.executor == source["executor"]]
    if not runs:
        where = "in the files" if paths else "in own history"
        whose = f" of {source['executor']}" if source["executor"] else ""
        raise UsageError(f"There are no finished runs{whose} {where}.", "Name files or folders, or another --project.")
    return Runs(runs, own=not paths)


async def _own(store: Store, project: str) -> list[Trajectory]:
    from store.trajectories import own_trajectories

    return await own_trajectories(store.database, project)


def _project(repo: Path) -> str:
    from runtime.workspace.repository import open_repository

    try:
        return asyncio.run(open_repository(repo)).project
    except LooptopError as error:
        raise UsageError(
            f"Whose runs? {error.message}", "Name files, a repository with --repo, or a --project."
        ) from error


def weights_path() -> Path:
    """Weights of one's own."""
    return home_of(os.environ) / WEIGHTS


def scorer_of(name: str, base_url: str | None) -> Scorer:
    """A scorer by name; `embedded` means one's own weights where there are any."""
    from runtime.catalog.prices import Catalog

    own = weights_path()
    parts = [f"embedded:{own}" if part.strip() == "embedded" and own.exists() else part for part in name.split("+")]
    return make_scorer("+".join(parts), os.environ, base_url=base_url, prices=Catalog())


def trained_on(scorer: Scorer) -> tuple[str, ...]:
    """Marks of the tasks that a scorer's weights were trained on, of all members of an ensemble."""
    if isinstance(scorer, Ensemble):
        return tuple(mark for member in scorer.members for mark in trained_on(member))
    return marks_of(scorer.model) if isinstance(scorer, Embedded) else ()


def marks_of(model: Linear) -> tuple[str, ...]:
    """Marks of the tasks that weights were trained on."""
    return tuple(map(str, model.trained.get("tasks", ())))


def candidate_of(name: str, base_url: str | None) -> Candidate:
    """A candidate for evaluation by name."""
    parts = [part.strip() for part in name.split("+")]
    anew = [part for part in parts if part in FAMILIES]
    if len(anew) > 1:
        raise UsageError(f"{name!r} trains {len(anew)} scorers anew; an ensemble can have one of them.")
    if anew:
        beside = [scorer_of(part, base_url) for part in parts if part not in FAMILIES]
        taught = [mark for scorer in beside for mark in trained_on(scorer)]
        return trained_candidate(name, FAMILIES[anew[0]], beside, taught)
    scorer = scorer_of(name, base_url)
    return Candidate(name, scorer, trained=trained_on(scorer))
