"""Where a run stands: counters, cap, budgets. Mutable, owned by one run's task and its mailbox."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.events.values import Comparison, DiffStat, Finding, RunSettings, VerifySpec


@dataclass
class Counters:
    """Numbers that go on through the whole run, over legs and resumes."""

    leg: int = 0
    attempt: int = 0
    attempt_of_leg: int = 0
    round: int = 0
    step: int = 0


@dataclass
class Limits:
    """Cap and budgets in force. None is off."""

    cap: int
    cap_source: str
    tokens: int | None
    micros: int | None
    seconds: float | None


@dataclass
class Standing:
    """What the verify phases have shown so far."""

    baseline: dict[str, Finding] = field(default_factory=dict)
    before: dict[str, Finding] = field(default_factory=dict)
    baseline_collected: dict[int, int | None] = field(default_factory=dict)
    step_of: dict[str, int] = field(default_factory=dict)
    """The verify step that a finding came from, by the finding's key."""
    verified_tree: str | None = None
    """Tree of the workspace at the last verify phase."""
    comparison: Comparison = field(default_factory=Comparison)
    diff: DiffStat = field(default_factory=DiffStat)
    passed: bool = False
    excerpt: str = ""
    """What the last failed verify phase printed, cut to what a model may read."""


@dataclass
class RunState:
    """All that a run's parts share."""

    run: str
    task: str
    settings: RunSettings
    verify: tuple[VerifySpec, ...]
    limits: Limits
    model: str
    counters: Counters = field(default_factory=Counters)
    standing: Standing = field(default_factory=Standing)
    price_known: bool = True
    active_before_s: float = 0.0
    """Seconds of activity in earlier processes of this run."""
