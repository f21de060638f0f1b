"""The backend of the dashboard on this machine: the screens' questions answered by a cockpit and its store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from runtime.catalog.caps import default_fix_verify_cap
from runtime.catalog.models import CHEAP_MODEL, DEFAULT_MODEL, STRONG_MODEL
from runtime.commands import Command
from runtime.errors import EnvironmentFault, UsageError
from runtime.events.base import Event
from runtime.events.supervision import CommandAccepted
from runtime.events.values import RunSettings, VerifySpec
from runtime.loop.quoting import ResumeQuote
from runtime.loop.setup import outputs_of
from runtime.verify.detect import detect_steps
from runtime.verify.hazards import status_hazards
from runtime.view import RunView, fold
from runtime.workspace.repository import open_repository
from tui.backend import (
    Answer,
    CurvesReport,
    ModelChoice,
    OutputPage,
    ProjectLine,
    RepoFacts,
    RunSummary,
    StoplossReport,
    Subscription,
    SummaryFeed,
    UsageReport,
    Wake,
)
from tui.compose import Cockpit, RunRequest
from tui.delivering import deliver_run, run_diff
from tui.feeds import Feed, Summaries
from tui.history_lines import output_page, summary_of, usage_report
from tui.project import ProjectSettings
from tui.resuming import Resumable, ResumeRequest, quote_resume, request_of, resume_run
from tui.summary import summarise

FLEET_HISTORY = 200
"""Finished runs that the fleet shows beside the live ones."""


class Desk:
    """Implements Backend over a cockpit of this process."""

    def __init__(self, cockpit: Cockpit, project: ProjectSettings, recorded: bool = False) -> None:
        self.recorded = recorded
        self.feeds: dict[str, list[Feed]] = {}
        self.watchers: list[Summaries] = []
        self.summaries_of: dict[str, RunSummary] = {}
        self.views: dict[str, RunView] = {}
        self._cockpit = cockpit
        self._store = cockpit.store
        self._project = project
        self._exits = AsyncExitStack()
        self._exits.callback(cockpit.bus.subscribe(self._took))

    def keep(self, exits: AsyncExitStack) -> None:
        """Take over what is to be closed with the desk."""
        self._exits.push_async_exit(exits)

    async def load(self) -> None:
        """Put history into the fleet."""
        for line in await self._store.history.runs(FLEET_HISTORY):
            if line.run not in self.views:
                self.summaries_of[line.run] = summary_of(line)
        for watcher in self.watchers:
            for run in self.summaries_of:
                watcher.touch(run)

    def _took(self, event: Event) -> None:
        self.views[event.run] = fold(self.views.get(event.run, RunView()), event)
        for feed in tuple(self.feeds.get(event.run, ())):
            feed(event)
        for watcher in self.watchers:
            watcher.touch(event.run)

    def summary(self, run: str) -> RunSummary:
        """A run's newest line."""
        view = self.views.get(run)
        return summarise(view, live=run in self._cockpit.runs) if view is not None else self.summaries_of[run]

    def events(self, run: str, wake: Wake) -> Subscription:
        """See Backend."""
        return Feed(self, run, wake)

    def summaries(self, wake: Wake) -> SummaryFeed:
        """See Backend."""
        return Summaries(self, wake)

    async def load_view(self, run: str) -> RunView:
        """See Backend."""
        return self.views.get(run) or await self._store.history.view(run)

    async def events_before(self, run: str, seq: int | None, limit: int) -> Sequence[Event]:
        """See Backend."""
        return await self._store.history.events_before(run, seq, limit)

    async def events_after(self, run: str, seq: int, limit: int) -> Sequence[Event]:
        """See Backend."""
        return await self._store.history.events_after(run, seq, limit)

    async def read_output(self, run: str, path: str, offset: int, limit: int) -> OutputPage:
        """See Backend."""
        file = Path(path)
        if outputs_of(self._cockpit.home, run).resolve() not in file.resolve().parents:
            raise UsageError(f"{path} is not an output of run {run}.")
        try:
            return await asyncio.to_thread(output_page, file, offset, limit)
        except OSError as error:
            raise EnvironmentFault(f"The output {path} can't be read: {error.strerror}.") from error

    async def diff(self, run: str, attempt: int | None = None, since: int | None = None) -> str:
        """See Backend."""
        return await run_diff(self._store, self._cockpit.home, run, attempt, since)

    async def send(self, run: str, command: Command) -> Answer:
        """See Backend."""
        handle = self._cockpit.runs.get(run)
        if handle is None:
            raise UsageError(f"Run {run} isn't executed by this looptop.")
        answer = handle.send(command)
        if isinstance(answer, CommandAccepted):
            change = (
                f"{answer.old} -> {answer.new}" if answer.old is not None and answer.new is not None else answer.new
            )
            return Answer(True, " ".join(part for part in (change, answer.effect) if part))
        return Answer(False, answer.why)

    async def deliver(self, run: str, how: Literal["apply", "branch", "discard"], branch: str | None = None) -> str:
        """See Backend."""
        said = await deliver_run(self._store, self._cockpit.home, run, how, branch, agreed=True)
        self.views[run] = await self._store.history.view(run)
        for watcher in self.watchers:
            watcher.touch(run)
        return said

    async def usage(
        self, by: Literal["project", "model", "purpose"], span: Literal["day", "week", "month"]
    ) -> UsageReport:
        """See Backend."""
        found = await self._store.reports.compare(by, span, datetime.now(UTC).date())
        return usage_report(by, span, found)

    async def stoploss(self, project: str) -> StoplossReport:
        """See Backend."""
        from tui.measuring import measured

        return await measured(self._store, project)

    async def curves(self, caps: Sequence[int] = ()) -> CurvesReport:
        """See Backend."""
        from tui.curves import curves_report

        return await curves_report(self._store, caps)

    async def apply_cap(self, family: str) -> str:
        """See Backend."""
        from tui.curves import apply_cap

        return await apply_cap(self._store, family)

    async def projects(self) -> Sequence[ProjectLine]:
        """See Backend."""
        from tui.curves import project_lines

        return await project_lines(self._store, self._project)

    async def update_project(self, project: str, change: Mapping[str, Any]) -> str:
        """See Backend."""
        from tui.curves import update_project

        return await update_project(self._store, project, change)

    async def models(self) -> Sequence[ModelChoice]:
        """See Backend."""
        key = bool(os.environ.get("ANTHROPIC_API_KEY"))
        note = "" if key else "needs ANTHROPIC_API_KEY"
        local = ModelChoice(
            "local", "search repair, free, no network", True, 0, 0, default_fix_verify_cap("local").value
        )
        claude = [
            await asyncio.to_thread(self._choice, name, note, key)
            for name in (DEFAULT_MODEL, CHEAP_MODEL, STRONG_MODEL)
        ]
        return [*claude, local] if key else [local, *claude]

    def _choice(self, name: str, note: str, available: bool) -> ModelChoice:
        # The rates of ordinary prompts: a price of a million tokens at once may lie in a dearer tier.
        rates = self._cockpit.catalog.rates("anthropic", name)
        million = 1_000_000
        fresh, output = (None, None) if rates is None else (round(rates.input * million), round(rates.output * million))
        return ModelChoice(name, note, available, fresh, output, default_fix_verify_cap(name).value)

    async def inspect(self, repo: str) -> RepoFacts:
        """See Backend."""
        repository = await open_repository(Path(repo))
        settings = await asyncio.to_thread(self._project.of, repository.root)
        verify, source = settings.verify, "looptop.toml"
        if verify is None:
            detected = detect_steps(repository.root)
            verify = tuple(step.spec for step in detected)
            source = "; ".join(step.why for step in detected)
        status = await repository.git().run("status", "--porcelain", "-z", "--untracked-files=normal")
        hazards = [f"`{spec.command}`: {text}" for spec in verify for text in status_hazards(spec.command)]
        return RepoFacts(
            str(repository.root),
            repository.project,
            verify,
            source,
            len(status.split("\0")) - 1 if status else 0,
            tuple(hazards),
        )

    async def default_settings(self, repo: str) -> RunSettings:
        """See Backend."""
        return (await asyncio.to_thread(self._project.of, Path(repo))).run

    async def start(self, repo: str, task: str, verify: Sequence[VerifySpec], settings: RunSettings) -> str:
        """See Backend."""
        project = await asyncio.to_thread(self._project.of, Path(repo))
        request = RunRequest(
            repo=Path(repo),
            task=task,
            settings=settings,
            verify=tuple(verify) or None,
            lent=project.lent,
            project_cap=project.cap,
        )
        return await self.start_request(request)

    async def start_request(self, request: RunRequest) -> str:
        """Start a run whose request is complete; returns its id."""
        return (await self._cockpit.start(request)).run

    async def quote_resume(self, run: str) -> ResumeQuote:
        """See Backend."""
        return await quote_resume(self._cockpit, run)

    async def resume(self, run: str) -> str:
        """See Backend."""
        found = await self._store.history.find(run)
        view = await self._store.history.view(found)
        category = view.settings.category if view.settings else None
        project = await asyncio.to_thread(self._project.of, Path(view.repo), None, category)
        return await self.resume_request(request_of(found, project))

    async def resume_request(self, request: ResumeRequest) -> str:
        """Resume a run whose request is complete; returns its id."""

        def tell(found: Resumable) -> None:
            # What follows is folded onto what was.
            self.views[found.back.view.run] = found.back.view

        return (await resume_run(self._cockpit, request, tell)).run

    async def close(self, stop_runs: bool) -> None:
        """See Backend. Runs of this process end with it: their work is kept and they are aborted, whatever `stop_runs` says."""
        await self._cockpit.close("the supervisor" if stop_runs else "looptop")
        await self._exits.aclose()
