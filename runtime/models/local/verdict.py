"""What a trial's result says about a candidate."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.models.local.oracle import Oracle, TestFacts
from runtime.models.local.trials import JobResult


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many failing tests a candidate satisfies, which passing ones it breaks, how many assertions fewer fail."""

    mended: tuple[int, ...] = ()
    broken: tuple[int, ...] = ()
    nearer: int = 0
    complete: bool = False
    """All failing tests pass and no passing one that was run fails."""
    undecided: bool = False
    """Complete but for tests that ran into the limit before as well: only the real run can tell."""
    timed_out: bool = False

    @property
    def clean(self) -> bool:
        """Mends something and breaks nothing."""
        return bool(self.mended) and not self.broken

    @property
    def value(self) -> tuple[int, int]:
        """Order of partial successes."""
        return len(self.mended) - 2 * len(self.broken), self.nearer


def judge(oracle: Oracle, result: JobResult, broken_imports: int = 0) -> Verdict:
    """Read a trial's lines."""
    items = result.items
    failing = {t.index: t for t in oracle.failing}
    mended = tuple(i for i, line in items.items() if i in failing and line["status"] == "passed")
    passing = {t.index for t in oracle.passing}
    broken = [i for i, line in items.items() if i in passing and line["status"] != "passed"]
    culprit = result.running
    if culprit is not None and culprit in passing:
        broken.append(culprit)
    nearer = sum(
        _fewer(failing[i], line["misses"], line["hits"])
        for i, line in items.items()
        if i in failing and i not in mended
    )
    imports = [line for line in result.lines if "broken" in line and line["status"] == "passed"]
    fresh_bad = any(
        line.get("status") != "passed" and line.get("status") != "skipped" for line in result.lines if "fresh" in line
    )
    culprit_test = failing.get(culprit) if culprit is not None else None
    # A test that took too long before any change may only be slow; the real run will tell.
    endless = {t.index for t in oracle.failing if t.status == "timeout"}
    undecided = culprit_test is not None and culprit_test.status == "timeout" and result.end == "timeout"
    undecided = undecided and bool(mended) and set(failing) - set(mended) <= endless and not broken
    whole = undecided or (result.end == "done" and len(mended) == len(failing) and not broken and not fresh_bad)
    if broken_imports:
        whole = whole and len(imports) == broken_imports and any("end" in line for line in result.lines)
        nearer += len(imports)
    return Verdict(mended, tuple(broken), nearer, whole, undecided, result.end == "timeout")


def _fewer(test: TestFacts, misses: list[int], hits: int) -> int:
    """Assertions that hold now and didn't before; 0 where others fail instead."""
    if not test.misses or len(misses) >= len(test.misses):
        return 0
    return len(test.misses) - len(misses) if set(misses) <= set(test.misses) and hits >= test.hits else 0
