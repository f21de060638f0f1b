"""What a run needs from around it, put together once by whoever hosts runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runtime.bus import Bus
from runtime.events.values import VerifySpec
from runtime.models.base import Model
from runtime.models.transport import Transport
from runtime.ports import Clock, Ledger, Record
from runtime.process.run import Sandbox
from runtime.text import Masker
from runtime.usage import Usage


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model that works on the spot (the embedded one) needs to know of its run."""

    workspace: Path
    verify: tuple[VerifySpec, ...]
    scratch: Path
    env: Mapping[str, str]
    run_id: str


MakeModel = Callable[[str, ModelContext], Awaitable[Model]]


@dataclass(frozen=True, slots=True)
class Priced:
    """Cost of a call in micro-dollars; None where it isn't known, with why in `note`."""

    micros: int | None
    version: str | None = None
    note: str = ""


class Prices(Protocol):
    """The catalog's prices, with the project's overrides."""

    def price(self, provider: str, model: str, usage: Usage) -> Priced:
        """What a call cost."""
        ...

    def worst_case(self, provider: str, model: str, prompt_tokens: int, output_tokens: int) -> int | None:
        """The most a call may cost, in micro-dollars, everything at the write price; None without a price."""
        ...

    def saved(self, provider: str, model: str, usage: Usage) -> int | None:
        """What caching saved against sending the whole prompt fresh, in micro-dollars; negative where writing cost more."""
        ...


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
    sandbox: Sandbox | None = None
    worker: str = ""
