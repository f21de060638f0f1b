"""Whether a policy may abort, and which policy is in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.stoploss.evaluate.ledger import Ledger, binomial_interval
from runtime.stoploss.threshold import Verdict
from runtime.stoploss.transfer import Mode

MAX_FALSE_ABORT = 0.10


@dataclass(frozen=True, slots=True)
class Qualification:
    """Whether stopping is allowed by what was measured, and why."""

    verdict: Verdict
    why: str


def qualify(ledger: Ledger, max_false_abort: float = MAX_FALSE_ABORT) -> Qualification:
    """Allowed only where the lower bound of g - (m + r) is above 0 and the upper bound of r at most `max_false_abort`.

    Unmeasured, and not refused, is a policy of which too few held-out runs are known to tell.
    """
    failed = ledger.runs - ledger.successes
    least = binomial_interval(0, ledger.successes)[1]
    if (
        ledger.r.high is not None
        and ledger.r.high > max_false_abort
        and ledger.false_aborts
        and least <= max_false_abort
    ):
        return Qualification(
            "refused",
            f"up to {ledger.r.high:.1%} of good runs would be aborted ({ledger.false_aborts} of {ledger.successes} were); "
            f"the limit is {max_false_abort:.0%}",
        )
    if ledger.r.low is not None and ledger.r.low > max_false_abort:
        return Qualification(
            "refused", f"at least {ledger.r.low:.1%} of good runs would be aborted; the limit is {max_false_abort:.0%}"
        )
    if least > max_false_abort:
        return Qualification(
            "unmeasured",
            f"{ledger.successes} held-out successes are too few to bound false aborts at {max_false_abort:.0%}",
        )
    if failed == 0:
        return Qualification("unmeasured", "no failed run was held out, so what stopping saves is not known")
    if ledger.margin.low is None:
        return Qualification("unmeasured", "what a check costs is not known")
    if ledger.margin.low <= 0:
        return Qualification(
            "refused",
            f"stopping may not pay: g - (m + r) is {ledger.margin.value:+.1%}, at worst {ledger.margin.low:+.1%}",
        )
    assert ledger.r.high is not None
    return Qualification(
        "allowed", f"g - (m + r) is at least {ledger.margin.low:+.1%}, false aborts at most {ledger.r.high:.1%}"
    )


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy in force, by its name, the mode that it may use by default, and why."""

    policy: str
    mode: Mode
    verdict: Verdict
    why: str


FIRST_POLICY = "step-limit"
"""What is tried first, and stays until something else qualifies and costs less per solve."""


def decide(ledgers: Mapping[str, Ledger], max_false_abort: float = MAX_FALSE_ABORT) -> Decision:
    """Among the policies that qualify, the lowest cost per solve; if none does, the step limit, which then asks or watches."""
    judged = {name: qualify(ledger, max_false_abort) for name, ledger in ledgers.items()}
    fit = [name for name, found in judged.items() if found.verdict == "allowed"]
    if fit:
        best = min(fit, key=lambda name: (_change(ledgers[name]), name != FIRST_POLICY, name))
        return Decision(best, Mode.ABORT, "allowed", judged[best].why)
    if not judged:
        return Decision(FIRST_POLICY, Mode.ASK, "unmeasured", "no policy was measured on held-out runs")
    name = FIRST_POLICY if FIRST_POLICY in judged else min(judged, key=lambda n: (judged[n].verdict == "refused", n))
    return Decision(name, Mode.ASK, judged[name].verdict, judged[name].why)


def _change(ledger: Ledger) -> float:
    return ledger.change.value if ledger.change.value is not None else float("inf")
