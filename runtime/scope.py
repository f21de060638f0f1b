"""What a model call is for: a scope that flows with the task (context variable), read by the ledger when it writes a row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

UNSCOPED = "UNSCOPED"


@dataclass(frozen=True, slots=True)
class Scope:
    """Attribution of a call. A call outside any scope is recorded as UNSCOPED, so that no sum loses it."""

    project: str = UNSCOPED
    tenant: str | None = None
    category: str | None = None
    run: str | None = None
    leg: int | None = None
    attempt: int | None = None
    round: int | None = None
    purpose: str = UNSCOPED


_current: ContextVar[Scope | None] = ContextVar("looptop_scope", default=None)
_NOWHERE = Scope()


def current_scope() -> Scope:
    """The scope of the running task."""
    return _current.get() or _NOWHERE


@contextmanager
def scope(**fields: Any) -> Iterator[Scope]:
    """Narrow the present scope by some fields for the block; raises TypeError for a field that doesn't exist."""
    narrowed = replace(current_scope(), **fields)
    token = _current.set(narrowed)
    try:
        yield narrowed
    finally:
        _current.reset(token)
