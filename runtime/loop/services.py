"""What a run needs from around it, put together once by whoever hosts runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtime.bus import Bus
from runtime.events.values import VerifySpec
from runtime.loop.state import RunState
from runtime.models.base import Model
from runtime.models.transport import Transport
from runtime.ports import Clock, Ledger, Limit, Prices, Record
from runtime.stoploss.monitor import Monitor
from runtime.stoploss.scorers.judge import Judge
from runtime.text import Masker


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model that works on the spot (the embedded one) needs to know of its run."""

    workspace: Path
    verify: tuple[VerifySpec, ...]
    scratch: Path
    env: Mapping[str, str]
    run_id: str


MakeModel = Callable[[str, ModelContext], Awaitable[Model]]


MakeJudge = Callable[[str], Judge]
"""A judge whose calls go through the run's ledger and budgets, by the model's name."""
MakeMonitor = Callable[[RunState, str, MakeJudge], Awaitable[Monitor | None]]
"""The monitor of a run of a project; None where it is off. Raises LooptopError."""


async def no_trial(_: str) -> str:
    """Where nothing is known of earlier runs."""
    return "no fix-rate curve of this family yet"


@dataclass(frozen=True, slots=True)
class Services:
    """Everything outside a run that its loop uses."""

    record: Record
    ledger: Ledger
    bus: Bus
    clock: Clock
    transport: Transport
    make_model: MakeModel
    prices: Prices
    home: Path
    env: Mapping[str, str]
    masker: Masker
    caps: Mapping[str, int] = field(default_factory=dict)
    """`caps.defaults` of the settings: prefix to cap."""
    project_cap: int | None = None
    worker: str = ""
    limits: tuple[Limit, ...] = ()
    """Dollar budgets of project, tenant and day."""
    trial: Callable[[str], Awaitable[str]] = no_trial
    """Since when, and with how many runs, the safe default cap of a model is on trial, in words."""
    make_monitor: MakeMonitor | None = None
    """What makes a run's StopLoss monitor; None: nothing is monitored."""
