"""The StopLoss monitor of a run: the calibration in force for its project and model, and the scorer that belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.catalog.prices import Catalog
from runtime.loop.services import MakeJudge, MakeMonitor
from runtime.loop.state import RunState
from runtime.models.factory import endpoint_for
from runtime.stoploss.monitor import Monitor
from runtime.stoploss.scorers.factory import make_scorer
from runtime.stoploss.threshold import Calibration, calibration_from
from runtime.stoploss.transfer import Mode
from store.calibrations import STOPLOSS
from store.store import Store
from store.trajectories import stoploss_set, trajectory

WEIGHTS = "stoploss.json"
"""One's own weights, in looptop's home."""
AUTO = "auto"


def monitors(store: Store, home: Path, env: Mapping[str, str], base_url: str | None, prices: Catalog) -> MakeMonitor:
    """What makes the monitors of this process's runs."""

    async def make(state: RunState, project: str, judge: MakeJudge) -> Monitor | None:
        settings = state.settings
        mode = Mode(settings.stoploss)
        if mode is Mode.OFF:
            return None
        executor = endpoint_for(settings.model, env, base_url).name
        row = await store.calibrations.latest(STOPLOSS, project=project, model=executor)
        calibration = calibration_from(row.body) if row is not None else None
        spec = _spec(calibration) if settings.stoploss_scorer == AUTO else settings.stoploss_scorer
        scorer = make_scorer(own_weights(spec, home), env, base_url=base_url, prices=prices, judge=judge)
        monitor = Monitor(
            scorer, calibration, mode, executor=executor, project=project, explicit=settings.stoploss_chosen
        )
        # A resumed run's steps count from its birth, and what its supervisor decided holds.
        for step in (await trajectory(store.database, state.run)).steps:
            monitor.add(step)
        if (decided := await stoploss_set(store.database, state.run)) is not None:
            monitor.set_mode(Mode(decided.mode))
            if decided.by_hand and decided.threshold is not None:
                monitor.set_threshold(decided.threshold)
        return monitor

    return make


def _spec(calibration: Calibration | None) -> str:
    """The scorer that a calibration was made for; without one the embedded scorer, which watches."""
    return "step-limit" if calibration is not None and calibration.by_steps else "embedded"


def own_weights(spec: str, home: Path) -> str:
    """A scorer's name in which `embedded` stands for one's own weights where there are any."""
    own = home / WEIGHTS
    parts = [part.strip() for part in spec.split("+")]
    return "+".join(f"embedded:{own}" if part == "embedded" and own.exists() else part for part in parts)
