"""A backend in memory, fed with recorded events: everything the screens ask for, without runs, store or network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from runtime.bus import Inbox
from runtime.commands import Command
from runtime.errors import EnvironmentFault, UsageError
from runtime.events.base import Event
from runtime.events.supervision import CommandAccepted, CommandRefused
from runtime.events.values import RunSettings, VerifySpec
from runtime.loop.quoting import ResumeQuote
from runtime.view import RunView, fold, fold_all
from tui.backend import (
    Answer,
    CurvesReport,
    ModelChoice,
    OutputPage,
    ProjectLine,
    RepoFacts,
    RunSummary,
    StoplossReport,
    UsageLine,
    UsageReport,
    Wake,
)
from tui.summary import summarise

DIFF = """\
diff --git a/src/parser.py b/src/parser.py
index 1111111..2222222 100644
--- a/src/parser.py
+++ b/src/parser.py
@@ -38,7 +38,7 @@ def first(items):
     # The first item that isn't None.
     items = list(items)
-    if items[0] is None:
+    if not items or items[0] is None:
         return []
-    return items[0]
+    return items[0] if items else []

diff --git a/tests/data/empty.json b/tests/data/empty.json
new file mode 100644
--- /dev/null
+++ b/tests/data/empty.json
@@ -0,0 +1 @@
+[]
"""


class Feed(Inbox):
    """A subscription to one run."""

    def __init__(self, owner: FakeBackend, run: str, wake: Wake) -> None:
        super().__init__(wake)
        self._owner, self._run = owner, run

    def close(self) -> None:
        self._owner.feeds[self._run].remove(self)


class Summaries:
    """A subscription to all runs."""

    def __init__(self, owner: FakeBackend, wake: Wake) -> None:
        self._owner, self._wake = owner, wake
        self.changed = set(owner.views)
        self.closed = False

    def touch(self, run: str) -> None:
        first = not self.changed
        self.changed.add(run)
        if first and not self.closed:
            self._wake()

    def drain(self) -> Sequence[RunSummary]:
        runs, self.changed = self.changed, set()
        return [self._owner.summary(run) for run in sorted(runs)]

    def close(self) -> None:
        self.closed = True


class FakeBackend:
    """Holds runs as event lists; `push` makes something happen, `sent` tells which commands came."""

    def __init__(self, runs: dict[str, list[Event]], recorded: bool = False) -> None:
        self.recorded = recorded
        self.log: dict[str, list[Event]] = {run: list(events) for run, events in runs.items()}
        self.views: dict[str, RunView] = {run: fold_all(events) for run, events in self.log.items()}
        self.feeds: dict[str, list[Feed]] = {run: [] for run in runs}
        self.fleet: list[Summaries] = []
        self.sent: list[tuple[str, Command]] = []
        self.diffs: list[tuple[int | None, int | None]] = []
        self.delivered: list[tuple[str, str, str | None]] = []
        self.started: list[tuple[str, str, tuple[VerifySpec, ...], RunSettings]] = []
        self.resumed: list[str] = []
        self.stoploss_reports: dict[str, StoplossReport] = {"": StoplossReport("", missing="There are no runs yet.")}
        self.curves_report = CurvesReport()
        self.caps_tried: list[tuple[int, ...]] = []
        self.applied: list[str] = []
        self.project_lines: list[ProjectLine] = []
        self.updated: list[tuple[str, dict[str, Any]]] = []
        self.closed: bool | None = None
        self.refuse = ""
        self.diff_text = DIFF
        self.output = "".join(f"line {n}\n" for n in range(20_000)).encode()
        self.stale: set[str] = set()

    def summary(self, run: str) -> RunSummary:
        return summarise(self.views[run], live=True, stale=run in self.stale)

    def push(self, *events: Event) -> None:
        """Something happened in a run."""
        for event in events:
            self.log.setdefault(event.run, []).append(event)
            self.views[event.run] = fold(self.views.get(event.run, RunView()), event)
            for feed in tuple(self.feeds.setdefault(event.run, [])):
                feed(event)
            for feed_all in self.fleet:
                feed_all.touch(event.run)

    def events(self, run: str, wake: Wake) -> Feed:
        feed = Feed(self, run, wake)
        self.feeds.setdefault(run, []).append(feed)
        return feed

    def summaries(self, wake: Wake) -> Summaries:
        feed = Summaries(self, wake)
        self.fleet.append(feed)
        return feed

    async def load_view(self, run: str) -> RunView:
        if run not in self.views:
            raise EnvironmentFault(f"There is no run {run} in the store.", "See `looptop runs`.")
        return self.views[run]

    async def events_before(self, run: str, seq: int | None, limit: int) -> Sequence[Event]:
        return [event for event in self.log[run] if seq is None or event.seq < seq][-limit:]

    async def events_after(self, run: str, seq: int, limit: int) -> Sequence[Event]:
        return [event for event in self.log[run] if event.seq > seq][:limit]

    async def read_output(self, run: str, path: str, offset: int, limit: int) -> OutputPage:
        start = max(0, len(self.output) + offset) if offset < 0 else offset
        piece = self.output[start : start + limit]
        return OutputPage(piece.decode(errors="replace"), start, len(piece), len(self.output))

    async def diff(self, run: str, attempt: int | None = None, since: int | None = None) -> str:
        self.diffs.append((attempt, since))
        return self.diff_text

    async def send(self, run: str, command: Command) -> Answer:
        self.sent.append((run, command))
        log, last = self.log[run], self.log[run][-1]
        words = {"command_id": command.id, "command": command.command, "sender": command.sender}
        answer: Event = (
            CommandRefused(**words, why=self.refuse) if self.refuse else CommandAccepted(**words, effect="done")
        )
        self.push(answer.stamped(run, len(log) + 1, last.at, last.mono_ms))
        return Answer(not self.refuse, self.refuse or "done")

    async def deliver(self, run: str, how: Literal["apply", "branch", "discard"], branch: str | None = None) -> str:
        self.delivered.append((run, how, branch))
        return f"{how}: done"

    async def usage(
        self, by: Literal["project", "model", "purpose"], span: Literal["day", "week", "month"]
    ) -> UsageReport:
        lines = (
            UsageLine("parser", 41, 21_000, 39_000, 1_880_000, 180_000, 1_270_000),
            UsageLine("解析器", 12, None, None, None, None, None, False),
            UsageLine("billing", 9, 9_000, 8_000, 188_000, 40_000, 310_000),
        )
        days = tuple(
            UsageLine(f"2026-03-{day:02d}", day, micros=day * 90_000 if day % 6 else 0) for day in range(1, 15)
        )
        total = UsageLine("", 62, 30_000, 47_000, 2_068_000, 220_000, 1_580_000, False)
        return UsageReport(
            by, span, total, UsageLine("", 50, 28_000, 40_000, 1_500_000, 300_000, 1_990_000), lines, days
        )

    async def stoploss(self, project: str) -> StoplossReport:
        return self.stoploss_reports.get(project) or next(iter(self.stoploss_reports.values()))

    async def curves(self, caps: Sequence[int] = ()) -> CurvesReport:
        self.caps_tried.append(tuple(caps))
        return self.curves_report

    async def apply_cap(self, family: str) -> str:
        self.applied.append(family)
        return f"caps.defaults.{family} is set"

    async def projects(self) -> Sequence[ProjectLine]:
        return self.project_lines

    async def update_project(self, project: str, change: Mapping[str, Any]) -> str:
        self.updated.append((project, dict(change)))
        return "done"

    async def models(self) -> Sequence[ModelChoice]:
        return (
            ModelChoice("claude-sonnet-5-5", "default", True, 3_000_000, 15_000_000, 3),
            ModelChoice("claude-opus-5-5", "", True, 5_000_000, 25_000_000, 3),
            ModelChoice("local", "search repair, no key, no network", True, 0, 0, 5),
            ModelChoice("gpt-oss-120b", "OPENAI_API_KEY isn't set", False),
        )

    async def inspect(self, repo: str) -> RepoFacts:
        if "missing" in repo:
            raise EnvironmentFault(f"{repo} is not a git repository.", "Give the folder of one.")
        return RepoFacts(
            repo, "parser", (VerifySpec(command="python -m pytest -q", name="pytest"),), "pyproject.toml", 2
        )

    async def default_settings(self, repo: str) -> RunSettings:
        return RunSettings(model="claude-sonnet-5-5", budget_micros=500_000)

    async def start(self, repo: str, task: str, verify: Sequence[VerifySpec], settings: RunSettings) -> str:
        self.started.append((repo, task, tuple(verify), settings))
        return next(iter(self.log))

    async def quote_resume(self, run: str) -> ResumeQuote:
        view = self.views[run]
        if view.state != "interrupted":
            raise UsageError(f"Run {run} has ended: {view.state}. Only an interrupted run can be resumed.")
        return ResumeQuote(
            run, view.task, view.model, "goes on in the fix phase of attempt 2", 4_320.0, 41_200, True, 154_500
        )

    async def resume(self, run: str) -> str:
        self.resumed.append(run)
        return run

    async def close(self, stop_runs: bool) -> None:
        self.closed = stop_runs
