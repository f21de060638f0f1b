"""Whatever supervisors send, and whenever: limits hold, no command acts twice, paused runs send nothing, one reason ends a run."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime import commands as c
from runtime.events import loop, supervision
from runtime.events.base import Event
from runtime.events.values import Action, HoldReason, StopReason
from runtime.loop.limits import limits_of
from runtime.view.fold import fold_all
from support.light_run import MODEL, OTHER, LightRun

SEQUENCES, BATCH = 1_000, 100
TURNS_AT_LAST = 400


def random_command(rng: random.Random) -> c.Command:
    """Any command with any value; ids come again now and then."""
    head: dict[str, Any] = {"sender": rng.choice(("anna", "ben")), "id": f"c{rng.randrange(30)}"}
    made: Sequence[Any] = (
        lambda: c.Pause(now=rng.random() < 0.5, **head),
        lambda: c.Resume(**head),
        lambda: c.Resume(**head),
        lambda: c.SetCap(cap=rng.randrange(1, 6), **head),
        lambda: c.SetBudget(kind="tokens", value=rng.choice((0, 500, 3_000, 20_000)), **head),
        lambda: c.SetBudget(kind="micros", value=rng.choice((0, 900, 6_000, 90_000)), **head),
        lambda: c.SetBudget(kind="seconds", value=rng.choice((0, 5, 60)), **head),
        lambda: c.Steer(text="look at the other file", when=rng.choice(("now", "next_attempt")), **head),
        lambda: c.ChooseRecovery(action=rng.choice(list(Action)), **head),
        lambda: c.Approve(**head),
        lambda: c.Deny(**head),
        lambda: c.SwitchModel(model=rng.choice((MODEL, OTHER)), **head),
        lambda: c.SetStoploss(mode="watch", **head),
        lambda: c.VerifyNow(**head),
        lambda: c.EndAttempt(**head),
        lambda: c.Abort(**head) if rng.random() < 0.2 else c.Resume(**head),
    )
    command: c.Command = rng.choice(made)()
    return command


class Watched(LightRun):
    """Looks at the world at the very moment in which a call is sent."""

    wrong: list[str]

    def on_send(self) -> None:
        control, memory = self._control, self.memory
        waiting = control.waiting
        if control.paused:
            self.wrong.append("sent while paused")
        if waiting is not None and waiting.why is not HoldReason.TRANSPORT:
            self.wrong.append(f"sent while held for {waiting.why.value}")
        if control.abort is not None:
            self.wrong.append("sent after the abort")
        used = dict(zip(("tokens", "micros"), memory.spent(), strict=True))
        (reserved,) = memory.reserved.values()
        need = dict(zip(("tokens", "micros"), reserved, strict=True))
        for limit in memory.admitted:
            if used[limit.unit] + (need[limit.unit] or 0) > limit.limit:
                self.wrong.append(f"over the {limit.unit} limit: {used}, {need}, {limit.limit}")
        first_try = isinstance(self.kept.events[-1], loop.RoundStarted)
        if first_try and memory.admitted != limits_of(self.state, self._services):
            self.wrong.append("sent under limits that had changed")


async def played(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """One run under one random sequence of commands; aborted where it still waits for somebody long after the last of them."""
    rng = random.Random(seed * 7_919)
    settings: dict[str, Any] = {
        "budget_tokens": rng.choice((None, 6_000, 40_000)),
        "budget_micros": rng.choice((None, 8_000, 200_000)),
        "budget_seconds": rng.choice((None, 90.0)),
        "hold_on_cap": rng.random() < 0.5,
        "hold_on_budget": rng.random() < 0.5,
    }
    run = Watched(folder, seed, **settings)
    run.wrong = []
    monkeypatch.setattr("runtime.loop.stepping.execute", run.execute)
    task = run.start()
    for _ in range(rng.randrange(1, 12)):
        for _ in range(rng.randrange(40)):
            await asyncio.sleep(0)
        run.tell(random_command(rng))
    for _ in range(TURNS_AT_LAST):
        await asyncio.sleep(0)
    run.tell(c.Abort(id="last", sender="the test"))
    await task
    run.tell(c.Resume(id="too late"))
    return run


def check_answers(run: Watched) -> None:
    """Each id was answered by one event and acted at most once; what it says is what happened."""
    events = run.kept.events
    answers = [e for e in events if isinstance(e, supervision.CommandAccepted | supervision.CommandRefused)]
    assert Counter(e.command_id for e in answers) == dict.fromkeys({command.id for command, _ in run.answers}, 1)
    for command, answer in run.answers:
        assert answer.command_id == command.id
    accepted = Counter(e.command for e in answers if isinstance(e, supervision.CommandAccepted))
    happened = Counter(e.type for e in events)
    assert happened["cap_changed"] == accepted["set_cap"]
    assert happened["budget_changed"] == accepted["set_budget"]
    assert happened["steer_queued"] == happened["steer_delivered"] == accepted["steer"]
    assert happened["run_paused"] == accepted["pause"]
    assert happened["model_switched"] <= accepted["switch_model"]
    assert happened["run_aborted"] == accepted["abort"] <= 1
    assert accepted["set_stoploss"] == 0


def check_limits(events: Sequence[Event]) -> None:
    """Never more attempts in a leg than its cap, and never a cap below the attempts made."""
    cap, attempts = 0, 0
    for e in events:
        if isinstance(e, loop.LegStarted):
            cap, attempts = e.cap, 0
        elif isinstance(e, supervision.CapChanged):
            assert e.old == (cap or e.old)
            cap = e.new
            assert cap >= attempts
        elif isinstance(e, loop.AttemptStarted):
            attempts += 1
            assert attempts <= cap


def check_waiting(events: Sequence[Event]) -> None:
    """No call, no tool and no attempt begins between a pause and its end, or in a hold."""
    paused = held = False
    for e in events:
        if isinstance(e, supervision.RunPaused):
            paused = True
        elif isinstance(e, supervision.RunHeld):
            held = e.why is not HoldReason.TRANSPORT
        elif isinstance(e, supervision.RunResumed):
            held, paused = (False, paused) if e.from_hold else (held, False)
        elif isinstance(e, loop.RoundStarted | loop.AttemptStarted):
            assert not paused, e
            assert not held, e


def check_end(run: Watched) -> None:
    """One reason, last; sums of report, picture and ledger agree; nothing is left reserved."""
    events = run.kept.events
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    ends = [e for e in events if isinstance(e, loop.RunFinished)]
    assert len(ends) == 1
    (end,) = ends
    assert "looptop itself failed" not in end.detail
    aborted = any(isinstance(e, supervision.RunAborted) for e in events)
    assert (end.reason is StopReason.ABORTED) == aborted
    assert {e.type for e in events[events.index(end) + 1 :]} == {"command_refused"}
    view = fold_all(events)
    tokens, micros = run.memory.spent()
    assert (view.usage.total or 0) == tokens
    assert view.money.micros == micros == end.cost_micros
    assert end.usage["input"] == sum(row.usage.input or 0 for row in run.memory.rows.values())
    assert not run.memory.reserved
    assert run.answers[-1][1].type == "command_refused"


@pytest.mark.parametrize("batch", range(SEQUENCES // BATCH))
async def test_random_command_sequences(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Looking through the process table for what a run left takes longer than the run.
    async def nothing(_: str) -> tuple[int, tuple[int, ...]]:
        return 0, ()

    monkeypatch.setattr("runtime.loop.finishing.reap_run", nothing)
    monkeypatch.setattr("runtime.loop.mailbox.find_marked", lambda _: [])
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        run = await played(tmp_path, seed, monkeypatch)
        assert run.wrong == [], seed
        check_answers(run)
        check_limits(run.kept.events)
        check_waiting(run.kept.events)
        check_end(run)


async def test_the_sequences_reach_every_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    for seed in range(120):
        run = await played(tmp_path, seed, monkeypatch)
        for e in run.kept.events:
            seen[e.type] += 1
            if isinstance(e, loop.RunFinished):
                seen[e.reason.value] += 1
            elif isinstance(e, supervision.RunHeld):
                seen[f"held {e.why.value}"] += 1
    wanted = {"passed", "cap_reached", "aborted", "token_budget", "cost_budget", "time_budget"}
    wanted |= {"held cap", "held budget", "transport_retried", "leg_started", "steer_delivered", "run_paused"}
    assert wanted <= set(seen)
