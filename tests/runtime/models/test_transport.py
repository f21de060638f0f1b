"""The one place that retries: bounded, announced, each try with its cost; and the lanes that limit the rate."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtime.models.base import (
    RETRYABLE,
    ArgumentsPiece,
    CallFault,
    CallRetried,
    CallWaits,
    Message,
    ModelCallError,
    Piece,
    Reply,
    Request,
    Stop,
    Text,
    TextPiece,
    UsageSoFar,
)
from runtime.models.limiter import Limiter, Limits
from runtime.models.transport import RetryPolicy, Transport
from runtime.prompt.estimate import estimate_tokens
from runtime.scope import scope
from runtime.usage import Usage

ASKED = Request(
    model="m",
    system=("s" * 400,),
    tools=(),
    messages=(Message(role="user", blocks=(Text(text="Fix it."),)),),
    max_output_tokens=100,
)
REPLY = Reply(
    message=Message(role="assistant", blocks=(Text(text="ok"),)), stop=Stop.END_TURN, usage=Usage(), model="m"
)
BEGUN = UsageSoFar(usage=Usage(input=10, output=1, cache_read=90, cache_write_5m=0, cache_write_1h=0))
Said = Piece | ModelCallError | asyncio.Event


class Fake:
    """A model that says what it is told, one list a try; an event is waited for."""

    name = "m"

    def __init__(self, *tries: Sequence[Said], provider: str = "anthropic", lane: str = "a") -> None:
        self.provider = provider
        self.lane = lane
        self.tries = list(tries)
        self.made = 0
        self.closed = 0

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.made += 1
        try:
            for said in self.tries[min(self.made, len(self.tries)) - 1]:
                if isinstance(said, ModelCallError):
                    raise said
                if isinstance(said, asyncio.Event):
                    await said.wait()
                else:
                    yield said
        finally:
            self.closed += 1

    async def close(self) -> None: ...


class Time:
    """Seconds that pass while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def transport(self, policy: RetryPolicy | None = None, limits: Limits | None = None) -> Transport:
        start = datetime(2026, 12, 1, tzinfo=UTC)
        limiter = Limiter(limits or Limits(), lambda: self.now, lambda: start + timedelta(seconds=self.now))
        return Transport(policy or RetryPolicy(), limiter, sleep=self.sleep, rng=random.Random(1))


def broken(fault: CallFault, **more: Any) -> ModelCallError:
    return ModelCallError(fault, fault.value, **more)


async def pieces(transport: Transport, model: Fake) -> list[Piece]:
    return [piece async for piece in transport.call(model, ASKED)]


@pytest.mark.parametrize("fault", sorted(RETRYABLE))
@pytest.mark.parametrize("tries", [1, 2, 5])
async def test_what_may_get_better_is_tried_exactly_so_often(fault: CallFault, tries: int) -> None:
    time = Time()
    model = Fake([broken(fault)])
    with pytest.raises(ModelCallError, match=f"given up after {tries} tr") as caught:
        await pieces(time.transport(RetryPolicy(tries=tries)), model)
    assert caught.value.fault is fault
    assert (model.made, model.closed, len(time.slept)) == (tries, tries, tries - 1)


@pytest.mark.parametrize("fault", sorted(set(CallFault) - RETRYABLE))
async def test_what_will_not_get_better_is_tried_once(fault: CallFault) -> None:
    time = Time()
    model = Fake([broken(fault)], [REPLY])
    with pytest.raises(ModelCallError) as caught:
        await pieces(time.transport(), model)
    assert "given up" not in caught.value.message
    assert (model.made, time.slept) == (1, [])


async def test_waits_grow_with_jitter_and_end_at_their_bound() -> None:
    time = Time()
    with pytest.raises(ModelCallError):
        await pieces(
            time.transport(RetryPolicy(tries=20, cap_s=8.0, max_wait_s=40.0)), Fake([broken(CallFault.SERVER)])
        )
    assert all(low <= wait <= 2 * low for wait, low in zip(time.slept, [0.5, 1, 2, 4, 4, 4, 4, 4, 4], strict=False))
    assert sum(time.slept) <= 40.0 < sum(time.slept) + 8.0


@pytest.mark.parametrize(("asked", "waits"), [(30.0, [30.0]), (0.25, [0.25])])
async def test_a_servers_wish_is_honoured_and_announced_before_the_wait(asked: float, waits: list[float]) -> None:
    time = Time()
    model = Fake([broken(CallFault.RATE_LIMITED, status=429, retry_after_s=asked, sent=False)], [REPLY])
    stream = time.transport().call(model, ASKED)
    first = await anext(stream)
    assert isinstance(first, CallRetried)
    assert (first.attempt, first.of, first.status, first.wait_s, first.usage) == (1, 5, 429, asked, None)
    assert time.slept == []
    assert [piece async for piece in stream] == [REPLY]
    assert time.slept == waits


async def test_a_wish_for_no_wait_at_all_gets_the_usual_one() -> None:
    time = Time()
    await pieces(time.transport(), Fake([broken(CallFault.OVERLOADED, retry_after_s=0.0)], [REPLY]))
    assert 0.5 <= time.slept[0] <= 1.0


async def test_a_wish_beyond_the_bound_ends_the_call() -> None:
    time = Time()
    model = Fake([broken(CallFault.RATE_LIMITED, retry_after_s=86_400.0, sent=False)])
    transport = time.transport()
    with pytest.raises(ModelCallError, match="asks to wait 86,400 s"):
        await pieces(transport, model)
    with pytest.raises(ModelCallError, match="held back after a rate limit"):
        await pieces(transport, model)
    assert (model.made, time.slept) == (1, [])


async def test_silence_is_measured_in_content() -> None:
    time, never = Time(), asyncio.Event()
    model = Fake([BEGUN, TextPiece(text="x" * 40), never], [REPLY])
    got = await pieces(time.transport(RetryPolicy(silence_s=0.0)), model)
    (retried,) = [piece for piece in got if isinstance(piece, CallRetried)]
    assert retried.error == "no content for 0 s"
    assert model.closed == 2
    assert got[-1] is REPLY


async def test_a_broken_try_tells_what_it_may_have_cost() -> None:
    time = Time()
    long: list[Said] = [BEGUN, TextPiece(text="x" * 400), ArgumentsPiece(size=80), broken(CallFault.CUT)]
    before = [broken(CallFault.SILENT)]
    refused = [broken(CallFault.OVERLOADED, sent=False)]
    got = await pieces(time.transport(), Fake(long, before, refused, [REPLY]))
    cut, silent, overloaded = [piece.usage for piece in got if isinstance(piece, CallRetried)]
    assert cut == BEGUN.usage.model_copy(update={"output": 120, "estimated": ("output",)})
    assert silent == Usage(input=estimate_tokens(ASKED), output=0, estimated=("input", "output"))
    assert overloaded is None


async def test_closing_ends_a_wait_at_once_and_frees_its_place() -> None:
    entered, transport = asyncio.Event(), Time().transport(limits=Limits(parallel=1))

    async def sleep(_: float) -> None:
        entered.set()
        await asyncio.Event().wait()

    transport.sleep = sleep
    model = Fake([broken(CallFault.OVERLOADED, retry_after_s=600.0)], [REPLY])
    task = asyncio.create_task(pieces(transport, model))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await pieces(transport, Fake([REPLY])) == [REPLY]


async def test_closing_ends_a_stream_at_once() -> None:
    model = Fake([BEGUN, asyncio.Event()])
    stream = Time().transport().call(model, ASKED)
    assert await anext(stream) is BEGUN
    await stream.aclose()
    assert model.closed == 1


async def test_no_lane_waits_for_another() -> None:
    time = Time()
    transport = time.transport()
    with pytest.raises(ModelCallError):
        await pieces(transport, Fake([broken(CallFault.RATE_LIMITED, retry_after_s=3_600.0, sent=False)]))
    for other in (Fake([REPLY], lane="b"), Fake([REPLY], provider="openai-compatible", lane="http://gpu")):
        assert await pieces(transport, other) == [REPLY]
    with scope(tenant="another"):
        assert await pieces(transport, Fake([REPLY])) == [REPLY]
    assert time.slept == []


async def test_a_refused_call_keeps_its_siblings_back() -> None:
    time = Time()
    transport = time.transport(RetryPolicy(tries=1))
    with pytest.raises(ModelCallError):
        await pieces(transport, Fake([broken(CallFault.RATE_LIMITED, retry_after_s=90.0, sent=False)]))
    assert await pieces(transport, Fake([REPLY])) == [CallWaits(wait_s=90.0), REPLY]
    assert time.slept == [90.0]


HEADERS: list[tuple[dict[str, str], list[float]]] = [
    ({"requests-remaining": "0", "requests-reset": "2026-12-01T00:00:12Z"}, [12.0]),
    ({"input-tokens-remaining": "0", "input-tokens-reset": "2026-12-01T00:00:30+00:00"}, [30.0]),
    ({"requests-remaining": "3", "requests-reset": "2026-12-01T00:00:12Z"}, []),
    ({"requests-remaining": "0", "requests-reset": "soon"}, []),
    ({"requests-remaining": "none", "requests-reset": "2026-12-01T00:00:12Z"}, []),
    ({"requests-remaining": "0", "requests-reset": "2026-12-01T00:00:12"}, []),
    ({"requests-remaining": "0", "requests-reset": "2036-12-01T00:00:12Z"}, [60.0]),
]


@pytest.mark.parametrize(("headers", "slept"), HEADERS)
async def test_headers_that_say_nothing_is_left_make_the_next_call_wait(
    headers: dict[str, str], slept: list[float]
) -> None:
    time = Time()
    transport = time.transport()
    named = {f"anthropic-ratelimit-{name}": value for name, value in headers.items()}
    await pieces(transport, Fake([REPLY.model_copy(update={"rate_limits": named})]))
    await pieces(transport, Fake([REPLY]))
    assert time.slept == slept


@pytest.mark.parametrize(
    ("limits", "starts"),
    [
        (lambda size: Limits(requests=2), [0, 0, 60, 60, 120]),
        (lambda size: Limits(tokens=size * 3), [0, 0, 0, 60, 60]),
        (lambda size: Limits(tokens=size - 1), [0, 60, 120, 180, 240]),
        (lambda size: Limits(requests=4, tokens=size * 2), [0, 0, 60, 60, 120]),
    ],
)
async def test_a_lane_keeps_to_its_requests_and_tokens_a_minute(
    limits: Callable[[int], Limits], starts: list[float]
) -> None:
    limiter = Limiter(limits(estimate_tokens(ASKED)), lambda: 0.0)
    lane = limiter.lane(Fake())
    assert [limiter.reserve(lane, estimate_tokens(ASKED)) for _ in starts] == starts


async def test_no_more_calls_than_allowed_run_at_once() -> None:
    transport = Time().transport(limits=Limits(parallel=2))
    gate = asyncio.Event()
    models = [Fake([BEGUN, gate, REPLY], provider="openai-compatible") for _ in range(5)]
    tasks = [asyncio.create_task(pieces(transport, model)) for model in models]
    for _ in range(20):
        await asyncio.sleep(0)
    assert sum(model.made for model in models) == 2
    gate.set()
    assert all(got[-1] is REPLY for got in await asyncio.gather(*tasks))


async def started(models: list[Fake], tasks: list[asyncio.Task[list[Piece]]]) -> list[int]:
    """How many tries each model has made once nothing moves any more."""
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(tasks) == len(models)
    return [model.made for model in models]


def begin(transport: Transport, models: list[Fake]) -> list[asyncio.Task[list[Piece]]]:
    return [asyncio.create_task(pieces(transport, model)) for model in models]


async def test_calls_with_the_same_front_wait_until_the_first_begins_to_answer() -> None:
    transport, begins, ends = Time().transport(), asyncio.Event(), asyncio.Event()
    models = [Fake([begins, BEGUN, ends, REPLY]) for _ in range(3)]
    tasks = begin(transport, models)
    assert await started(models, tasks) == [1, 0, 0]
    begins.set()
    assert await started(models, tasks) == [1, 1, 1]
    ends.set()
    assert all(got[-1] is REPLY for got in await asyncio.gather(*tasks))


async def test_where_the_first_fails_the_next_goes_first() -> None:
    transport, fails, begins = Time().transport(RetryPolicy(tries=1)), asyncio.Event(), asyncio.Event()
    models = [Fake([fails, broken(CallFault.SERVER)]), Fake([begins, BEGUN, REPLY]), Fake([BEGUN, REPLY])]
    tasks = begin(transport, models)
    assert await started(models, tasks) == [1, 0, 0]
    fails.set()
    assert await started(models, tasks) == [1, 1, 0]
    begins.set()
    with pytest.raises(ModelCallError):
        await tasks[0]
    assert [got[-1] for got in await asyncio.gather(*tasks[1:])] == [REPLY, REPLY]


async def test_other_fronts_and_other_providers_do_not_wait() -> None:
    transport, begins = Time().transport(), asyncio.Event()
    models = [
        Fake([begins, REPLY]),
        Fake([REPLY], lane="b"),
        Fake([begins, REPLY], provider="openai-compatible", lane="c"),
        Fake([REPLY], provider="openai-compatible", lane="c"),
    ]
    tasks = begin(transport, models)
    assert await started(models, tasks) == [1, 1, 1, 1]
    begins.set()
    await asyncio.gather(*tasks)
