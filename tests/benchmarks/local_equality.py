"""Whether two versions of a function do the same on inputs that their tests don't have: a child process of local_bugsets.py.

Reads one JSON object from standard input (`reference`, `patched`, `test`: source text; `name`: the function; `count`: how many inputs) and
prints one (`inputs` compared, `differ`, `example` of a difference). Extra inputs are made from the test's own arguments by small changes that
keep types, signs and shapes; those on which the reference raises don't count, because a function promises nothing there.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import signal
import sys
from collections.abc import Callable
from typing import Any

SEED = 20
CALL_S = 0.5
TRIES = 30


class _TooLong(BaseException):
    pass


def _stop(signum: int, frame: object) -> None:
    raise _TooLong


def mutated(value: Any, chance: random.Random) -> Any:
    """A value of the same type a small step away; sometimes the same."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return (
            max(1 if value > 0 else 0, value + chance.randint(-3, 6))
            if value >= 0
            else min(-1, value + chance.randint(-5, 3))
        )
    if isinstance(value, float):
        return round(value + chance.choice([-1.5, -0.5, 0.25, 1.0, 2.5]), 3)
    if isinstance(value, str):
        return "".join(_changed(list(value), chance, mutate=False))
    if isinstance(value, list | tuple):
        return type(value)(_changed(list(value), chance, mutate=True))
    if isinstance(value, dict):
        return {key: mutated(item, chance) for key, item in value.items() if chance.random() > 0.15}
    return value


def _changed(items: list[Any], chance: random.Random, *, mutate: bool) -> list[Any]:
    for _ in range(chance.randint(1, 2)):
        if not items:
            return items
        at = chance.randrange(len(items))
        kind = chance.randrange(4)
        if kind == 0:
            del items[at]
        elif kind == 1:
            items.insert(at, copy.deepcopy(chance.choice(items)))
        elif kind == 2:
            other = chance.randrange(len(items))
            items[at], items[other] = items[other], items[at]
        elif mutate:
            items[at] = mutated(items[at], chance)
        else:
            items[at] = chance.choice(items)
    return items


def recorded(asked: dict[str, Any], function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """The arguments with which the row's test calls the function."""
    calls: list[tuple[Any, ...]] = []

    def recorder(*args: Any) -> Any:
        calls.append(copy.deepcopy(args))
        return function(*args)

    scope: dict[str, Any] = {asked["name"]: recorder}
    with contextlib.suppress(Exception):
        exec(compile(asked["test"], "test", "exec"), scope)
        scope["check"](recorder)
    return calls


def answer(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, str]:
    """What comes of a call: the value's text, or what was raised."""
    signal.setitimer(signal.ITIMER_REAL, CALL_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return "value", repr(function(*copy.deepcopy(args)))
    except _TooLong:
        return "too long", ""
    except Exception as error:
        return "raised", type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def compare(asked: dict[str, Any]) -> dict[str, Any]:
    """Make inputs and compare the two."""
    chance = random.Random(SEED)
    scopes: list[dict[str, Any]] = [{}, {}]
    for scope, text in zip(scopes, (asked["reference"], asked["patched"]), strict=True):
        exec(compile(text, "solution", "exec"), scope)
    reference, patched = (scope[asked["name"]] for scope in scopes)
    bases = recorded(asked, reference)
    seen = {repr(base) for base in bases}
    inputs, differ, example = 0, 0, ""
    for _ in range(asked["count"] * TRIES if bases else 0):
        if inputs >= asked["count"]:
            break
        args = tuple(mutated(value, chance) for value in chance.choice(bases))
        if repr(args) in seen:
            continue
        seen.add(repr(args))
        wanted = answer(reference, args)
        if wanted[0] != "value":
            continue
        inputs += 1
        got = answer(patched, args)
        if got != wanted:
            differ += 1
            example = example or f"{args!r}: {wanted[1]} became {got[1] or got[0]}"[:160]
    return {"inputs": inputs, "differ": differ, "example": example}


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _stop)
    print(json.dumps(compare(json.load(sys.stdin))))
