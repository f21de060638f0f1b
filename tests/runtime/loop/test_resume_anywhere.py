"""A run that is cut after any of its events goes on: what is sent is acceptable, each call has one result, nothing counts twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from runtime import commands as c
from runtime.events.base import Event
from runtime.events.loop import (
    AttemptFinished,
    AttemptStarted,
    LegStarted,
    RoundFinished,
    RoundStarted,
    RunFinished,
    ToolCalled,
    ToolFinished,
    TransportRetried,
)
from runtime.events.supervision import CommandAccepted, RunResumed
from runtime.events.values import StopReason
from runtime.loop.readback import ReadBack
from runtime.loop.resuming import GoingOn
from runtime.models.anthropic_wire import request_body
from runtime.models.base import Piece, Request
from runtime.ports import CallRow, LostCall
from runtime.usage import Usage
from runtime.view.fold import fold_all
from support import light_run
from support.light_run import LightRun, RandomModel
from support.messages_rules import check_request, without_marks

SEEDS = 40
SETTINGS: dict[str, Any] = {"budget_tokens": 60_000, "max_rounds": 5}


class Strict(RandomModel):
    """Refuses what the API would refuse, and keeps what it was sent."""

    bodies: ClassVar[list[dict[str, Any]]] = []

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        body = request_body(request, None)
        check_request(body)
        Strict.bodies.append(body)
        async for piece in super().stream(request):
            yield piece


async def play(run: LightRun, seed: int) -> list[Event]:
    """Play a run to its end, with a supervisor who says something now and then."""
    rng = random.Random(seed)
    commands: list[c.Command] = [
        c.Steer(text="look at the other file", when="now", id="steer-now"),
        c.Steer(text="and keep it short", id="steer-next"),
        c.SetCap(cap=5, id="cap"),
        c.VerifyNow(id="verify"),
        c.SetBudget(kind="tokens", value=50_000, id="budget"),
        c.EndAttempt(id="end"),
        c.SwitchModel(model=light_run.OTHER, id="switch"),
    ]
    done = run.start()
    for command in rng.sample(commands, rng.randrange(len(commands) + 1)):
        await run.world.turns(60)
        if not done.done():
            run.tell(command)
    await done
    ended = next(place for place, event in enumerate(run.kept.events) if isinstance(event, RunFinished))
    return run.kept.events[: ended + 1]


def cut_off(run: LightRun, events: Sequence[Event]) -> tuple[GoingOn, dict[str, CallRow]]:
    """What is left of a run whose process died after these events: its record, and the ledger as it is settled then."""
    back = ReadBack()
    for event in events:
        back.take(event)
    finished = {event.round for event in events if isinstance(event, RoundFinished)}
    retried = Counter(event.round for event in events if isinstance(event, TransportRetried))

    def there(key: str) -> bool:
        """Whether a row was written by then: with the end of its round, or with the retry after a try that was billed."""
        number = int(key.split("-")[1])
        tries = key.partition(".")[2]
        return number in finished or (bool(tries) and int(tries) <= retried[number])

    rows = {key: row for key, row in run.memory.rows.items() if there(key)}
    lost: tuple[LostCall, ...] = ()
    if back.open_round is not None:
        usage = Usage(input=300, output=200, estimated=("input", "output"))
        lost = (LostCall(back.open_round.round, usage, 900),)
        key = f"{back.view.run}-{back.open_round.round}-lost"
        rows[key] = CallRow(
            *(key, "anthropic", light_run.MODEL, usage, 900, "worst case", back.open_round.at),
            *(None, None, None, "interrupted"),
        )
    return GoingOn(back, lost, words="resumed"), rows


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_run_goes_on_after_any_of_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(light_run, "RandomModel", Strict)
    rng = random.Random(seed)
    Strict.bodies = []
    first = LightRun(tmp_path, seed, **SETTINGS)
    monkeypatch.setattr("runtime.loop.stepping.execute", first.execute)
    whole = await play(first, seed)
    for at in sorted(rng.sample(range(1, len(whole)), min(6, len(whole) - 1))):
        events: list[Event] = list(whole[:at])
        rows, before = None, first
        # Killed, resumed, killed again and resumed again.
        for again in range(2):
            going_on, rows = cut_off(before, events)
            Strict.bodies = []
            run = LightRun(tmp_path, seed * 1_000 + at * 10 + again, going_on, **SETTINGS)
            run.memory.rows.update(rows)
            monkeypatch.setattr("runtime.loop.stepping.execute", run.execute)
            more = await play(run, seed + at)
            check(events, more, run)
            events = [*events, *more[: rng.randrange(1, len(more))]]
            before = run


def check(old: Sequence[Event], new: Sequence[Event], run: LightRun) -> None:
    """What holds for a resumed run's whole record."""
    events = [*old, *new]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(new[0], RunResumed)
    assert [event.mono_ms for event in events] == sorted(event.mono_ms for event in events)
    ends = [event for event in events if isinstance(event, RunFinished)]
    assert len(ends) == 1
    assert ends[0].reason is not StopReason.UNRECOVERABLE or "overloaded" in ends[0].detail, ends[0].detail
    rounds = [event.round for event in events if isinstance(event, RoundStarted)]
    assert rounds == list(range(1, len(rounds) + 1))
    assert sorted(event.round for event in events if isinstance(event, RoundFinished)) == rounds
    steps = [event.step for event in events if isinstance(event, ToolCalled)]
    assert steps == list(range(1, len(steps) + 1))
    assert [event.step for event in events if isinstance(event, ToolFinished)] == steps
    attempts = [event.attempt for event in events if isinstance(event, AttemptStarted)]
    assert attempts == sorted(attempts)
    assert set(attempts) == set(range(1, max(attempts, default=0) + 1))
    judged = Counter(event.attempt for event in events if isinstance(event, AttemptFinished))
    assert set(judged.values()) <= {1}, "an attempt is judged once"
    legs = [event.leg for event in events if isinstance(event, LegStarted)]
    assert legs == list(range(1, len(legs) + 1))
    accepted = Counter(event.command_id for event in events if isinstance(event, CommandAccepted))
    assert set(accepted.values()) <= {1}, "a command id acts once, also across restarts"
    # The picture's sums are the ledger's, and the run's end says the same.
    view, (tokens, micros) = fold_all(events), run.memory.spent()
    assert (view.usage.total or 0, view.money.micros) == (tokens, micros)
    assert ends[0].rounds == len(rounds)


async def test_every_prefix_gives_a_request_that_begins_with_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte apart from marks, and the older mark where the newest one stood."""
    monkeypatch.setattr(light_run, "RandomModel", Strict)
    compared = 0
    for seed in range(25):
        Strict.bodies = []
        run = LightRun(tmp_path, seed, budget_tokens=None, max_rounds=6)
        monkeypatch.setattr("runtime.loop.stepping.execute", run.execute)
        whole = await play(run, seed)
        for at in range(1, len(whole)):
            going_on, _ = cut_off(run, whole[:at])
            rebuilt = going_on.back.rebuilt()
            if rebuilt.sent is None or going_on.back.pending_reply is not None:
                continue
            rebuilt.transcript.close_calls()
            now = rebuilt.transcript.messages
            sent = rebuilt.sent.messages
            assert len(now) >= len(sent)
            for number, old in enumerate(sent[:-1]):
                assert now[number] == old
            assert now[len(sent) - 1].blocks[: len(sent[-1].blocks)] == sent[-1].blocks
            assert rebuilt.mark is not None
            assert (rebuilt.mark.message, rebuilt.mark.block) == (len(sent) - 1, len(sent[-1].blocks) - 1)
            assert any(dump(body["messages"]) == dump(wire(sent)) for body in Strict.bodies)
            compared += 1
    assert compared > 200


def wire(messages: Sequence[Any]) -> Any:
    """Messages as they are sent."""
    return request_body(
        Request(model="m", system=("s",), tools=(), messages=tuple(messages), max_output_tokens=1, marks=()), None
    )["messages"]


def dump(value: object) -> object:
    return without_marks(value)


async def test_the_time_budget_counts_what_earlier_processes_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(light_run, "RandomModel", Strict)
    first = LightRun(tmp_path, 3)
    monkeypatch.setattr("runtime.loop.stepping.execute", first.execute)
    whole = await play(first, 3)
    last = next(place for place, event in reversed(list(enumerate(whole))) if isinstance(event, RoundFinished))
    going_on, rows = cut_off(first, whole[:last])
    used_s = going_on.back.view.active_ms / 1000
    assert used_s > 1
    going_on.back.view = replace(going_on.back.view, budget_seconds=used_s)
    Strict.bodies = []
    run = LightRun(tmp_path, 4, going_on)
    run.memory.rows.update(rows)
    assert run.state.active_before_s == used_s
    end = await run.start()
    assert end.reason is StopReason.TIME_BUDGET
    assert Strict.bodies == [], "nothing was sent"
