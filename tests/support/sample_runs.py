"""Whole sample runs and fleets, made of `event_streams`."""

from __future__ import annotations

from datetime import timedelta

from runtime.events import checks, loop, supervision
from runtime.events.base import Event
from runtime.events.values import (
    AbortReceipt,
    Action,
    Cause,
    Comparison,
    DiffStat,
    HoldReason,
    StepStatus,
    StopReason,
)
from runtime.usage import Usage
from support.event_streams import HOSTILE, OPUS, PYTEST, QWEN, START, Script, findings, usage

EDIT_1 = {
    "path": "src/parser.py",
    "old": "    if items[0] is None:\n",
    "new": "    if not items or items[0] is None:\n",
}
EDIT_2 = {"path": "src/parser.py", "old": "    return items[0]\n", "new": "    return items[0] if items else []\n"}
TASK = "parser: empty list raises IndexError"
NAMES = (
    "test_empty",
    "test_none_first",
    "test_nested_empty",
    "test_trailing_comma",
    "test_unicode",
    "test_legacy_a",
    "test_legacy_b",
)


def first_attempt(script: Script) -> Script:
    """Four rounds with a retry, cache reads and an edit; then a failing verify."""
    script.attempt_begins(1, f"{TASK}\n\nMake `python -m pytest -q` pass. Change as little as you can.")
    script.think("I'll look at the failing tests first, then at the parser itself.", pieces=3)
    script.reply(usage(2_410, 8_900, 0, 212), 41_200)
    script.tool(
        "shell",
        {"command": "python -m pytest -q tests/test_parser.py -x"},
        "F\n=== FAILURES ===\nE   IndexError: list index out of range\nsrc/parser.py:41: IndexError\n1 failed in 0.42s\n",
        StepStatus.FAILED,
        910,
    )
    script.think("The traceback points at `src/parser.py:41`. Reading it.")
    script.add(
        loop.TransportRetried(
            round=script.round,
            attempt_of_call=1,
            of=5,
            status=529,
            error="529 overloaded_error: Overloaded",
            wait_s=2.4,
        )
    )
    script.reply(usage(210, 1_130, 8_900, 96), 9_100)
    script.tool("read_file", {"path": "src/parser.py"}, "".join(f"{n:>4}  line {n}\n" for n in range(30, 58)), ms=4)
    script.think(
        "`items[0]` is read before it is known whether there is anything in `items`.\n"
        "The guard must come first, and it should treat an empty list like None.",
        thinking=True,
    )
    script.reply(usage(180, 1_050, 10_030, 260), 8_800)
    script.tool("edit_file", EDIT_1, "edited src/parser.py: 1 replacement", ms=6)
    script.think("That should do it. The verify steps will tell.")
    script.reply(usage(160, 890, 11_080, 44), 6_400, stop="end_turn")
    return script


def main_run(run: str = "r7f3a") -> Script:
    """Two attempts, the second one verifying: the run that most screens are tested with."""
    script = Script(run).open(TASK, escalate_to=OPUS)
    script.prepared(findings(*NAMES), ("3 files aren't committed and stay out of this run",)).leg_begins(
        "claude-sonnet-5-5"
    )
    script.add(checks.WindowTaken(turns=14, turns_total=20, characters=9_800, characters_total=31_200))
    first_attempt(script)
    script.verify(
        PYTEST,
        findings("test_trailing_comma", "test_unicode", "test_regression", "test_legacy_a", "test_legacy_b"),
        of=2,
    )
    script.verify("ruff check .", (), wall_ms=210, step=2, of=2)
    script.attempt_ends(
        Comparison(
            fixed=NAMES[:3],
            new=("tests/test_parser.py::test_regression",),
            still=tuple(f"tests/test_parser.py::{n}" for n in NAMES[3:5]),
            pre_existing=tuple(f"tests/test_parser.py::{n}" for n in NAMES[5:]),
        ),
        DiffStat(files=1, added=14, removed=6),
    )
    script.add(
        checks.StoplossScored(step=3, scorer="step limit", score=0.12, threshold=0.72, mode="watch", next_step=8)
    )
    script.attempt_begins(
        2, "tests/test_parser.py::test_trailing_comma still fails:\nE   AssertionError: [1, None] != [1]", "feedback"
    )
    script.think("The trailing comma leaves an empty item at the end.")
    script.reply(usage(240, 1_400, 11_970, 180), 9_900)
    script.tool("edit_file", EDIT_2, "edited src/parser.py: 1 replacement", ms=5)
    script.think("Checking the whole file once more for the same pattern.")
    script.reply(usage(190, 700, 13_370, 90), 7_000)
    script.add(
        loop.CacheDiagnosed(
            round=script.round,
            cause="expired",
            text="the cached prefix had expired: 6 minutes since the call before",
            predicted=14_000,
            reported=13_370,
        )
    )
    script.tool(
        "search",
        {"pattern": r"items\[0\]", "path": "src"},
        "src/parser.py:41: if not items or items[0] is None:\n",
        ms=12,
    )
    script.add(
        checks.StoplossScored(step=5, scorer="step limit", score=0.31, threshold=0.72, mode="watch", next_step=8)
    )
    script.think("Nothing else reads it unguarded. Done.")
    script.reply(usage(150, 500, 14_070, 31), 5_800, stop="end_turn")
    script.verify(PYTEST, finish=False, of=2)
    return script


def passed_run(run: str = "p0a11") -> Script:
    """A run that passed at its second attempt."""
    script = main_run(run)
    last = script.events.pop()
    script.ms = last.mono_ms
    script.verify(PYTEST, (), of=2).verify("ruff check .", (), step=2, of=2)
    script.attempt_ends(Comparison(fixed=NAMES), DiffStat(files=1, added=21, removed=9), passed=True)
    return script.finish(StopReason.PASSED, "every verify step passed", diff=DiffStat(files=1, added=21, removed=9))


def held_on_cap(run: str = "c4b02") -> Script:
    """A cap of one attempt... and a run that waits for a decision about it."""
    script = Script(run).open("mypy: 12 errors after the upgrade of pydantic", "billing", ("mypy src",), cap=1)
    script.prepared(findings("a", "b", path="src/invoice.py")).leg_begins("claude-haiku-4-5", 1, "asked for")
    first_attempt(script)
    script.verify("mypy src", findings("a", path="src/invoice.py"))
    script.attempt_ends(
        Comparison(fixed=("src/invoice.py::b",), still=("src/invoice.py::a",)),
        DiffStat(files=2, added=31, removed=4),
        action=None,
    )
    return script.hold(HoldReason.CAP, "1 of 1 attempts made; 1 finding is left", "set_cap", "end_attempt", "abort")


def held_on_budget(run: str = "b9d11") -> Script:
    """A run at its token budget."""
    script = Script(run).open("port the importer to the new API", "importer", budget_tokens=60_000, budget_micros=None)
    script.prepared(findings("test_import")).leg_begins("claude-sonnet-5-5")
    first_attempt(script)
    text = (
        "stopped at the token budget: 44,940 used, the next call may need 24,100, limit 60,000. "
        "Split the task into smaller ones, or ask whoever sets the limit to raise it."
    )
    return script.hold(HoldReason.BUDGET, text, "set_budget", "abort")


def approval_run(run: str = "a77e3") -> Script:
    """A tool call with hidden characters waits for approval."""
    script = (
        Script(run)
        .open("clean up build artefacts", "site", approval="ask")
        .prepared(findings("test_site"))
        .leg_begins("claude-sonnet-5-5")
    )
    script.attempt_begins(1, "clean up").think("Removing the build folder.").reply(usage(2_000, 4_000, 0, 60), 22_000)
    script.tool("shell", {"command": "rm -rf build"}, "", finish=False)
    script.add(
        supervision.ApprovalRequested(
            step=1,
            tool="shell",
            command="rm -rf build" + " " * 300 + "; rm -rf /\u202e\u200b",
            why="it removes files",
            hidden=2,
        )
    )
    return script.hold(HoldReason.APPROVAL, "a shell command waits for approval", "approve", "deny", "abort")


def unmetered_run(run: str = "u00q1") -> Script:
    """A self-hosted model whose server reports neither usage nor price."""
    script = Script(run).open(
        "検証: 空のリストで落ちる 🐛 修正", "解析器", model=QWEN, budget_micros=None, budget_seconds=None
    )
    script.prepared(findings("test_空", path="tests/test_解析.py")).leg_begins(QWEN, 6, "default of qwen*")
    script.attempt_begins(1, "空のリストを直す 👨‍👩‍👧").think("失敗しているテストを読みます。👍🏽 é ⚠️").reply(
        Usage(), None
    )
    return script.tool(
        "shell", {"command": "pytest -q tests/test_解析.py"}, "E   AssertionError: 空 != []\n", StepStatus.FAILED, 700
    )


def aborted_run(run: str = "x1122") -> Script:
    """A run that a supervisor ended."""
    script = (
        Script(run)
        .open("speed up the CSV reader", "reader")
        .prepared(findings("test_csv"))
        .leg_begins("claude-sonnet-5-5")
    )
    first_attempt(script)
    script.add(
        supervision.RunAborted(
            sender="kim",
            reason="wrong task",
            receipt=AbortReceipt(
                ended_processes=3, kept_ref=f"refs/looptop/{run}", diff=DiffStat(files=1, added=3, removed=1)
            ),
        )
    )
    return script.finish(
        StopReason.ABORTED, "aborted by kim: wrong task", cost=0.066, diff=DiffStat(files=1, added=3, removed=1)
    )


def hostile_run(run: str = "h0571") -> Script:
    """Markup and control sequences wherever text of others is shown."""
    text = "\n".join(HOSTILE)
    script = Script(run).open(text, HOSTILE[3] + HOSTILE[10], (f"pytest -q {HOSTILE[5]}",), cap=2)
    bad = findings(*HOSTILE[:9], path=HOSTILE[8])
    script.prepared(bad, (text,)).leg_begins(f"m{HOSTILE[0]}{HOSTILE[10]}", 2, text)
    script.attempt_begins(1, text)
    script.think(text).think(text, thinking=True).reply(usage(1, 2, 3, 4), 5, stop=HOSTILE[4])
    script.tool(HOSTILE[5] + HOSTILE[7], {"command": text}, text, StepStatus.FAILED)
    script.tool("edit_file", {"path": text, "old": text, "new": text}, text)
    script.tool("shell", None, text, StepStatus.MALFORMED)
    script.add(loop.OutputDelta(step=script.step, text=text))
    script.add(loop.TransportRetried(round=script.round, attempt_of_call=1, of=5, error=text, wait_s=1.0))
    script.add(loop.CacheDiagnosed(round=script.round, cause="expired", text=text))
    script.verify(f"pytest -q {text}", bad)
    script.attempt_ends(
        Comparison(new=tuple(HOSTILE), still=tuple(HOSTILE), fixed=tuple(HOSTILE)),
        DiffStat(files=1, added=1),
        action=Action.REFLECT,
        cause=Cause.NEW,
    )
    script.add(supervision.Notice(level="warning", text=text))
    script.add(supervision.CommandRefused(command_id="1", command=text, sender=text, why=text))
    script.add(supervision.ApprovalRequested(step=3, tool=HOSTILE[5], command=text, why=text, hidden=9))
    return script.hold(HoldReason.APPROVAL, text, "approve", "deny")


def fleet() -> dict[str, list[Event]]:
    """A handful of runs in every kind of state, by id."""
    scripts = (
        main_run(),
        held_on_cap(),
        held_on_budget(),
        approval_run(),
        unmetered_run(),
        passed_run(),
        aborted_run(),
    )
    return {script.run: script.events for script in scripts}


def many(count: int) -> dict[str, list[Event]]:
    """A big fleet: the main run again and again, under other ids and times."""
    made = {}
    for index in range(count):
        run = f"m{index:04d}"
        script = main_run(run)
        script.events = [
            event.model_copy(update={"run": run, "at": event.at - timedelta(minutes=index)}) for event in script.events
        ]
        made[run] = script.events
    return made


NOW = START + timedelta(minutes=4, seconds=12)
"""A time shortly after the sample runs, for clocks of tests."""
