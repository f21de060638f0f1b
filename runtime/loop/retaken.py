"""What an interrupted attempt had come to, in the loop's own words: its phase's end, its verdict, what was handed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from runtime.events.values import VerifySpec
from runtime.loop.fixing import Ended, PhaseEnd
from runtime.loop.readback import ReadBack, Stage
from runtime.loop.recovering import feedback
from runtime.loop.resuming import GoingOn
from runtime.loop.verified import verdict_of
from runtime.loop.verifying import Checked
from runtime.models.base import Reply

WORKED_ON = "Another model has worked on this."


def ended_of(back: ReadBack) -> Ended:
    """How the fix phase ended after which verify ran; a turn that simply ended where an older record doesn't say."""
    if back.ended is None or back.ended.how not in set(PhaseEnd):
        return Ended(PhaseEnd.TURN)
    return Ended(PhaseEnd(back.ended.how), back.ended.why)


def phase_of(back: ReadBack) -> tuple[Ended | None, Reply | None, int]:
    """The fix phase's end, where verify was under way; else the reply to be taken first and the empty replies before it."""
    if back.stage is Stage.VERIFYING:
        return ended_of(back), None, 0
    return None, back.pending_reply, back.empty


def judged_of(back: ReadBack, verify: Sequence[VerifySpec], mask: Callable[[str], str]) -> tuple[Checked, Ended]:
    """The verdict of the last attempt that was judged."""
    checked = verdict_of(back, verify)
    assert checked is not None
    return replace(checked, excerpt=mask(checked.excerpt)), ended_of(back)


def handover_of(opening: str, going_on: GoingOn | None) -> str:
    """What another model would be handed: the opening, and what the last judged attempt showed."""
    if going_on is None or going_on.back.queued is None:
        return opening
    back = going_on.back
    checked = verdict_of(back, going_on.back.queued.verify)
    if checked is None or back.judged is None:
        return opening
    return f"{opening}\n\n{WORKED_ON}\n\n{feedback(checked, back.judged.attempt)}"
