"""The pytest plugin: lets pytest collect, then runs single items on demand with light reports."""

from __future__ import annotations

import os
import unittest
from typing import Any, Callable, Dict, List, Set

import pytest
from _pytest.reports import TestReport

from .bare import bare_arguments
from .soft import Recorder, soften
from .swap import Live, exchange_module


class Outcome:
    """What came of one item: passed, failed or skipped; for a failure, what was raised and where."""

    def __init__(self) -> None:
        self.status = ""
        self.error = ""
        self.message = ""
        self.frames: List[List[Any]] = []


class TrialPlugin:
    """Collects once; `loop` is called with the session in place of pytest's own test loop."""

    def __init__(self, root: str, loop: Callable[["TrialPlugin", Any], None]) -> None:
        self.root = root
        self._loop = loop
        self.recorder = Recorder()
        self.items: List[Any] = []
        self.collect_errors: Dict[str, str] = {}
        self.outcome = Outcome()
        self.detailed = True
        self.bare: Dict[int, Dict[str, Any]] = {}
        """Arguments of the items that can be called without hooks, by number."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: Any) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.collect_errors[report.nodeid] = str(report.longrepr)[-3000:]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """Take over from pytest."""
        self.items = list(session.items)
        manager = session.config.pluginmanager
        reporter = manager.get_plugin("terminalreporter")
        if reporter is not None:
            manager.unregister(reporter)
        self._loop(self, session)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """A report without the text of the failure, whose making costs more than the test."""
        raised = getattr(item, "_excinfo", None)
        if raised:
            call.excinfo = raised.pop(0)
        outcome = "passed"
        if call.excinfo is not None:
            skipped = call.excinfo.errisinstance((pytest.skip.Exception, unittest.SkipTest))
            outcome = "skipped" if skipped else "failed"
            if not skipped and self.detailed:
                self._describe(call.excinfo)
        elif call.when == "call" and self.recorder.misses:
            outcome = "failed"
        return TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome=outcome,  # type: ignore[arg-type]
            longrepr=("", 0, "") if outcome == "skipped" else None,
            when=call.when,
            sections=[],
            duration=call.duration,
            start=call.start,
            stop=call.stop,
        )

    def _describe(self, excinfo: Any) -> None:
        found = self.outcome
        if found.error:
            return
        found.error = excinfo.type.__name__
        try:
            found.message = str(excinfo.value)[:500]
        except Exception:
            found.message = ""
        trace = excinfo.tb
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            path = "" if name.startswith("<") else os.path.realpath(name)
            if path.startswith(self.root + os.sep) and "site-packages" not in path:
                found.frames.append([path[len(self.root) + 1 :], trace.tb_lineno])
            trace = trace.tb_next
        # The innermost frames tell where; a deep recursion tells nothing more.
        del found.frames[:-12]

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Sum up the three phases of an item."""
        if report.outcome == "failed":
            self.outcome.status = "failed"
        elif report.outcome == "skipped" and not self.outcome.status:
            self.outcome.status = "skipped"
        elif report.when == "call" and not self.outcome.status:
            self.outcome.status = "passed"

    def run(self, item: Any, nextitem: Any) -> Outcome:
        """Run one item as pytest does, with its fixtures."""
        self.outcome = Outcome()
        self.recorder.reset()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        return self.outcome

    def soften(self, live: Live) -> None:
        """Make the assertions of the collected tests soft, expected failures apart."""
        expected = {getattr(item, "originalname", item.name) for item in self.items if item.get_closest_marker("xfail")}
        for path in sorted(self.test_files()):
            try:
                with open(path, encoding="utf-8") as file:
                    code = soften(file.read(), path)
            except (OSError, SyntaxError, ValueError):
                continue
            if code is not None:
                exchange_module(live, path, code, expected)

    def look_for_bare(self) -> None:
        """Find the items that can be called without hooks."""
        for index, item in enumerate(self.items):
            arguments = bare_arguments(item)
            if arguments is not None:
                self.bare[index] = arguments

    def test_files(self) -> Set[str]:
        """Files that tests were collected from."""
        return {os.path.realpath(str(item.path if hasattr(item, "path") else item.fspath)) for item in self.items}
