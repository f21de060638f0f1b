"""What happens after a failed attempt: feedback in the same transcript, a fresh start, or the stronger model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.errors import UsageError
from runtime.events.checks import ActionQuote, RecoveryDecided
from runtime.events.values import Action
from runtime.loop.control import Control
from runtime.loop.state import RunState
from runtime.loop.verifying import Checked

ROUTERS = ("fixed:reflect",)
"""Routers that this version has."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The next action and why."""

    action: Action
    why: str


def check_router(name: str) -> None:
    """Raise UsageError for a router that isn't there."""
    if name not in ROUTERS:
        raise UsageError(f"There is no recovery router {name!r} in this version.", f"There is: {', '.join(ROUTERS)}.")


def decide(state: RunState, control: Control, checked: Checked) -> Decision:
    """Choose what follows a failed attempt, and record it with what wasn't available."""
    masked: Mapping[Action, str] = {
        Action.REPLAN: "not in this version",
        Action.ESCALATE: "not in this version",
    }
    chosen, control.chosen = control.chosen, None
    why = "the same transcript goes on with the findings as feedback"
    if chosen is not None and chosen in masked:
        why = f"{chosen.value} is {masked[chosen]}; {why}"
    decision = Decision(Action.REFLECT, why)
    control.emitter.emit(
        RecoveryDecided(
            attempt=state.counters.attempt,
            action=decision.action,
            router=state.settings.recovery,
            why=decision.why,
            quotes=tuple(ActionQuote(action=action, masked=masked.get(action, "")) for action in Action),
        )
    )
    return decision


def feedback(checked: Checked, attempt: int) -> str:
    """What the model reads after a failed verify."""
    parts = [f"Verify failed after attempt {attempt}."]
    comparison = checked.comparison
    counts = [
        f"{len(names)} {word}"
        for word, names in (
            ("fixed", comparison.fixed),
            ("newly broken", comparison.new),
            ("still failing", comparison.still),
            ("failing since before the run", comparison.pre_existing),
        )
        if names
    ]
    if counts:
        parts.append(f"Findings: {', '.join(counts)}.")
    if comparison.new:
        parts.append("Newly broken: " + ", ".join(comparison.new[:20]))
    parts.append(checked.excerpt)
    parts.append("The workspace is as you left it. Fix what still fails.")
    return "\n\n".join(part for part in parts if part)
