"""Runs without a screen: progress lines on stderr, the report or one JSON event per line on stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import click

from runtime.commands import Abort
from runtime.errors import ExitCode
from runtime.events.base import Event
from runtime.events.codec import event_to_json
from runtime.events.loop import RunFinished
from runtime.events.values import Cause, StopReason
from runtime.models.factory import preload
from runtime.process.tree import reap_run
from runtime.text import one_line
from runtime.view import RunView, fold
from tui.cli import json_line
from tui.compose import HostSettings, RunHandle, RunRequest, detected_verify, open_cockpit
from tui.places import home_of
from tui.report import Progress, report
from tui.resuming import Resumable, ResumeRequest, resume_run

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HARD_END_S = 2.0
EXIT_CODES = {
    StopReason.PASSED: ExitCode.OK,
    StopReason.ALREADY_PASSING: ExitCode.OK,
    StopReason.CAP_REACHED: ExitCode.NOT_FIXED,
    StopReason.ROUND_LIMIT: ExitCode.NOT_FIXED,
    StopReason.GAVE_UP: ExitCode.NOT_FIXED,
    StopReason.TOKEN_BUDGET: ExitCode.STOPPED,
    StopReason.COST_BUDGET: ExitCode.STOPPED,
    StopReason.TIME_BUDGET: ExitCode.STOPPED,
    StopReason.STOPLOSS: ExitCode.STOPPED,
    StopReason.ABORTED: ExitCode.ABORTED,
    StopReason.UNRECOVERABLE: ExitCode.ENVIRONMENT,
    StopReason.INTERRUPTED: ExitCode.ENVIRONMENT,
}


def exit_code(view: RunView) -> int:
    """The exit code of a finished run; a pass in which tests were edited, or that could not be delivered, is not a success."""
    assert view.reason is not None
    code = EXIT_CODES[view.reason]
    if view.reason is StopReason.PASSED:
        if view.attempts and view.attempts[-1].cause is Cause.TESTS_EDITED:
            return int(ExitCode.NOT_FIXED)
        if view.delivered.startswith(("apply failed: ", "branch failed: ")):
            return int(ExitCode.ENVIRONMENT)
    return int(code)


class Printer:
    """Prints a run as it goes. `gone` is called when nobody reads any more."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._progress = Progress()
        self.view = RunView()
        self.closed = False
        self.gone: Callable[[], object] = lambda: None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        self.view = fold(self.view, event)
        if self.closed:
            return
        try:
            self._print(event)
        except OSError:
            # A closed pipe, or a full disk behind it: the run is ended in order, and its work kept.
            self.closed = True
            self.gone()

    def _print(self, event: Event) -> None:
        if self._as_json:
            click.echo(json_line(event_to_json(event)))
            return
        for line in self._progress.lines(event, self.view):
            click.echo(line, err=True)


def run_headless(request: RunRequest, host: HostSettings, *, as_json: bool, home: Path | None = None) -> int:
    """Run to the end and return the exit code. Raises LooptopError where the run can't begin."""
    return asyncio.run(_run(request, host, as_json, home or home_of(os.environ)))


async def _run(request: RunRequest, host: HostSettings, as_json: bool, home: Path) -> int:
    printer = Printer(as_json)
    preload(request.settings.model)
    async with open_cockpit(home, host) as cockpit:
        cockpit.bus.subscribe(printer)
        if request.verify is None:
            await _name_detected(request)
        handle = await cockpit.start(request)
        printer.gone = lambda: handle.send(Abort(sender="output", reason="nobody reads the output any more"))
        await _until_end(handle)
        if not as_json and not printer.closed:
            click.echo(report(printer.view))
    return exit_code(printer.view)


def resume_headless(request: ResumeRequest, host: HostSettings, *, as_json: bool, home: Path | None = None) -> int:
    """Go on with an interrupted run to its end and return the exit code. Raises LooptopError where it can't be resumed."""
    return asyncio.run(_resume(request, host, as_json, home or home_of(os.environ)))


async def _resume(request: ResumeRequest, host: HostSettings, as_json: bool, home: Path) -> int:
    printer = Printer(as_json)

    def tell(found: Resumable) -> None:
        printer.view = found.back.view
        _tell(one_line(f"run {found.quote.run}: {found.quote.words}"))

    async with open_cockpit(home, host) as cockpit:
        cockpit.bus.subscribe(printer)
        handle = await resume_run(cockpit, request, tell)
        printer.gone = lambda: handle.send(Abort(sender="output", reason="nobody reads the output any more"))
        await _until_end(handle)
        if not as_json and not printer.closed:
            click.echo(report(printer.view))
    return exit_code(printer.view)


async def _name_detected(request: RunRequest) -> None:
    """Name the verify commands that the repository shows, before they are used."""
    for step in await detected_verify(request.repo):
        _tell(one_line(f"verify: {step.spec.command}  ({step.why})"))


async def _until_end(handle: RunHandle) -> RunFinished:
    """Wait for the run's end. The first signal aborts it and keeps its work; the second ends its processes and this one at once."""
    loop = asyncio.get_running_loop()
    hard: list[asyncio.Task[None]] = []
    asked: list[str] = []

    def interrupt(name: str) -> None:
        asked.append(name)
        if len(asked) == 1:
            _tell(f"looptop: {name}: ending the run, its work is kept; once more ends it at once")
            handle.send(Abort(sender=name))
        elif len(asked) == 2:
            hard.append(loop.create_task(_end_hard(handle.run), name="end at once"))
        else:
            os._exit(int(ExitCode.ABORTED))

    for number in SIGNALS:
        loop.add_signal_handler(number, interrupt, number.name)
    try:
        return await handle.done
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _end_hard(run: str) -> None:
    try:
        await asyncio.wait_for(reap_run(run), HARD_END_S)
    finally:
        os._exit(int(ExitCode.ABORTED))


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(text, err=True)
