"""A run without a disk: the real loop, mailbox, gates, caller and transport on a ledger in memory, with a model, tools and a verifier
that take a random but seeded number of turns of the event loop. For tests that play very many runs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from runtime.bus import Bus
from runtime.catalog.prices import Catalog
from runtime.commands import Command
from runtime.events.base import Event
from runtime.events.supervision import CommandAccepted, CommandRefused
from runtime.events.values import Comparison, DiffStat, Finding, RunSettings, StepStatus, VerifySpec
from runtime.loop.calls import Caller
from runtime.loop.control import Control
from runtime.loop.interruptions import Cut
from runtime.loop.limits import Gate, seconds_left
from runtime.loop.resuming import GoingOn
from runtime.loop.runner import RunOrder, RunTask
from runtime.loop.services import ModelContext, Services
from runtime.loop.setup import Confined, Parts, WorkspaceSettings
from runtime.loop.stepping import Stepper
from runtime.loop.verifying import Checked
from runtime.models.base import (
    CallFault,
    Message,
    Model,
    ModelCallError,
    Piece,
    Reply,
    Request,
    Stop,
    Text,
    TextPiece,
    ToolCall,
    UsageSoFar,
)
from runtime.models.transport import RetryPolicy, Transport
from runtime.ports import CallRow, Limit, Refusal, RunTotals
from runtime.prompt.estimate import estimate_tokens
from runtime.text import Masker
from runtime.tools.base import ToolContext, ToolOutcome
from runtime.usage import Money, Usage, sum_usage

MODEL = "claude-sonnet-5-5"
OTHER = "claude-haiku-5-5"
MAX_OUTPUT = 200
STEP_S = 0.5
"""Seconds that every turn of the event loop takes by the run's clock."""


class TickingClock:
    """Moves on with every question, so that time passes without waiting."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 12, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class World:
    """What chance decides, from one seed."""

    rng: random.Random
    clock: TickingClock = field(default_factory=TickingClock)

    async def turns(self, most: int) -> None:
        """Let others go on for up to so many turns of the event loop."""
        for _ in range(self.rng.randrange(most + 1)):
            self.clock.seconds += STEP_S
            await asyncio.sleep(0)


class MemoryLedger:
    """A ledger whose check and reservation are one step, like the store's; writing takes a few turns."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.rows: dict[str, CallRow] = {}
        self.reserved: dict[str, tuple[int, int | None]] = {}
        self.admitted: tuple[Limit, ...] | list[Limit] = ()
        """The limits under which the latest call was admitted."""

    def spent(self) -> tuple[int, int]:
        """Tokens and micro-dollars of all rows."""
        rows = self.rows.values()
        return sum(row.usage.total or 0 for row in rows), sum(row.cost_micros or 0 for row in rows)

    async def record(self, row: CallRow) -> None:
        await self._world.turns(2)
        self.rows.setdefault(row.call_id, row)
        self.reserved.pop(row.call_id, None)

    async def run_totals(self, run: str) -> RunTotals:
        usage = sum_usage(row.usage for row in self.rows.values())
        money = Money()
        for row in self.rows.values():
            money = money.plus(row.cost_micros)
        return RunTotals(usage, usage.total or 0, money, len(self.rows))

    async def reserve(self, call_id: str, run: str, tokens: int, micros: int | None) -> None:
        self.reserved[call_id] = (tokens, micros)

    async def try_reserve(
        self,
        call_id: str,
        run: str,
        tokens: int,
        micros: int | None,
        limits: Sequence[Limit] = (),
        *,
        provider: str = "unknown",
        model: str = "unknown",
        output_tokens: int = 0,
    ) -> Refusal | None:
        await self._world.turns(1)
        used_tokens, used_micros = self.spent()
        for limit in limits:
            used, need = (used_tokens, tokens) if limit.unit == "tokens" else (used_micros, micros or 0)
            if used + need > limit.limit:
                return Refusal(limit, used, 0, need)
        self.reserved[call_id] = (tokens, micros)
        self.admitted = list(limits)
        await self._world.turns(2)
        return None

    async def settle(self, call_id: str) -> None:
        await self._world.turns(1)
        self.reserved.pop(call_id, None)


class ListRecord:
    """A record in memory; flushing takes a few turns."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        self.events.append(event)

    async def flush(self) -> None:
        await self._world.turns(2)


class RandomModel:
    """Answers anything that a model may: text, tools, nothing, a fault; never more than was reserved for it."""

    provider = "anthropic"

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name
        self.sent_at: list[float] = []
        self.on_send: Any = lambda: None

    async def close(self) -> None: ...

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.on_send()
        rng, world = self._world.rng, self._world
        await world.turns(3)
        if rng.random() < 0.1:
            sent = rng.random() < 0.5
            raise ModelCallError(CallFault.OVERLOADED, "overloaded", status=529, sent=sent)
        prompt = estimate_tokens(request)
        usage = Usage(input=prompt, output=1, cache_read=0, cache_write_5m=0, cache_write_1h=0)
        yield UsageSoFar(usage=usage)
        for _ in range(rng.randrange(3)):
            await world.turns(2)
            yield TextPiece(text="some words ")
        usage = usage.model_copy(update={"output": rng.randrange(20, MAX_OUTPUT)})
        yield UsageSoFar(usage=usage)
        await world.turns(2)
        blocks, stop = self._reply(rng)
        yield Reply(message=Message(role="assistant", blocks=blocks), stop=stop, usage=usage, model=self.name)

    def _reply(self, rng: random.Random) -> tuple[tuple[Any, ...], Stop]:
        kind = rng.random()
        if kind < 0.1:
            return (), Stop.END_TURN
        if kind < 0.45:
            return (Text(text="I think that it is done."),), Stop.END_TURN
        calls = tuple(
            ToolCall(id=f"call-{n}", name="shell", arguments={"command": f"echo {rng.randrange(4)}"})
            for n in range(rng.randrange(1, 4))
        )
        return calls, Stop.TOOL_USE


class RandomVerifier:
    """Takes its time, is cut and begun anew like the real one, and passes now and then."""

    charged_micros: int | None = None

    def __init__(self, world: World, state: Any, control: Control, gate: Gate) -> None:
        self._world, self._state, self._control, self._gate = world, state, control, gate
        self._trees = 0

    async def phase(self, attempt: int) -> Checked:
        while True:
            try:
                await self._control.guard(self._world.turns(4), seconds_left(self._state, self._control))
                break
            except Cut:
                await self._control.gate()
                await self._gate.check_time()
        passed = self._world.rng.random() < 0.15
        self._trees += self._world.rng.randrange(2)
        finding = Finding(id=f"test_{self._world.rng.randrange(3)}")
        return Checked(
            passed=passed,
            results=(),
            findings={} if passed else {finding.id: finding},
            comparison=Comparison(still=() if passed else (finding.id,)),
            cause=None,
            excerpt="" if passed else "it still fails",
            first_failure="",
            tree=f"tree-{self._trees}",
            diff=DiffStat(files=1, added=self._trees),
            edited=(),
        )


class LightRun(RunTask):
    """A run whose preparation takes no disk."""

    def __init__(self, folder: Path, seed: int, going_on: GoingOn | None = None, **settings: Any) -> None:
        self.world = World(random.Random(seed))
        self.memory, self.kept = MemoryLedger(self.world), ListRecord(self.world)
        self.models: list[RandomModel] = []
        transport = Transport(RetryPolicy(tries=3), sleep=self._sleep, rng=random.Random(seed))
        services = Services(
            record=self.kept,
            ledger=self.memory,
            bus=Bus(),
            clock=self.world.clock,
            transport=transport,
            make_model=self._make,
            prices=PRICES,
            home=folder,
            env={},
            masker=Masker(()),
        )
        chosen = RunSettings(**{"model": MODEL, "max_output_tokens": MAX_OUTPUT, "max_rounds": 6, **settings})
        repository = cast(Any, SimpleNamespace(project="light", root=folder, head="0" * 40))
        order = RunOrder(
            f"r{seed:05}", repository, "fix it", (VerifySpec(command="true"),), chosen, WorkspaceSettings(), True
        )
        super().__init__(order, services, going_on)
        if not self.state.limits.cap:
            self.state.limits.cap, self.state.limits.cap_source = 3, "default"
        self.answers: list[tuple[Command, CommandAccepted | CommandRefused]] = []

    async def _sleep(self, seconds: float) -> None:
        await self.world.turns(4)

    async def _make(self, name: str, _: ModelContext) -> Model:
        model = RandomModel(self.world, name)
        model.on_send = self.on_send
        self.models.append(model)
        await self.world.turns(1)
        return model

    def on_send(self) -> None:
        """Called whenever a try of a call is sent."""

    async def _prepare(self) -> Parts:
        control = self._control
        await control.guard(self.world.turns(3))
        gate = Gate(self.state, control, self._services)
        place = cast(Any, SimpleNamespace(tree=Path("/nowhere"), scratch=Path("/nowhere")))
        tools = ToolContext(Path("/nowhere"), Path("/nowhere"), self.run, Path("/nowhere"), {})
        return Parts(
            state=self.state,
            control=control,
            services=self._services,
            workspace=place,
            verifier=cast(Any, RandomVerifier(self.world, self.state, control, gate)),
            caller=Caller(self.state, control, self._services),
            stepper=Stepper(self.state, control, self._services, tools),
            gate=gate,
            env={},
            confined=Confined(None, "none", {}),
        )

    async def execute(self, call: ToolCall, *_: Any) -> ToolOutcome:
        """Instead of the real tools."""
        await self.world.turns(3)
        return ToolOutcome(StepStatus.OK, f"printed {self.world.rng.randrange(3)}")

    def tell(self, command: Command) -> None:
        """Send a command and keep its answer."""
        self.answers.append((command, self.send(command)))


PRICES = Catalog()
