"""What a repair is asked for and what comes of it: the job, news on the way, a patch, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.events.values import VerifySpec
from runtime.models.local.candidate import Candidate
from runtime.models.local.search import Limits
from runtime.models.local.source import SourceFile


@dataclass(frozen=True, slots=True)
class Patch:
    """A candidate to propose. `whole` means that every verify command passed with it in a fresh process."""

    candidate: Candidate
    sources: Mapping[str, SourceFile]
    mended: int
    failing: int
    whole: bool
    tried: int
    seconds: float
    goal: str = "failing test"
    """What `mended` and `failing` count."""


@dataclass(frozen=True, slots=True)
class GaveUp:
    """No idea: why, what was most suspicious, and the candidate that came nearest."""

    why: str
    tried: int = 0
    seconds: float = 0.0
    suspicious: str = ""
    nearest: Candidate | None = None
    nearest_mended: int = 0
    failing: int = 0
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    no_test_fails: bool = False
    """Whether it gave up because no test fails, or because no command runs tests: another goal may be to blame."""


@dataclass(frozen=True, slots=True)
class Progress:
    """News while it works: a sentence, and figures where it is trying candidates."""

    words: str
    tried: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """What to repair: the workspace, how it is verified, and where to work."""

    workspace: Path
    steps: Sequence[VerifySpec]
    scratch: Path
    env: Mapping[str, str]
    run_id: str = "local"
    limits: Limits = field(default_factory=Limits)
    no_network: bool = True
