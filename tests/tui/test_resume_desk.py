"""The dashboard's own process: it resumes a run that another process left behind, and takes commands from scripts for it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from runtime.commands import SetCap
from runtime.errors import UsageError
from runtime.events.base import Event
from runtime.events.loop import RoundStarted, RunFinished
from runtime.events.supervision import CommandAccepted
from runtime.sockets.client import send_command
from support.killed import DONE, FIX, check_whole, field, until
from support.scripted_server import Scripted, call
from tui.compose import HostSettings, open_cockpit
from tui.desk import Desk
from tui.project import ProjectSettings


async def test_the_desk_resumes_and_hosts_the_socket(tmp_path: Path) -> None:
    answer = asyncio.Event()
    waits, more = call("shell", "toolu_1", command="cat value.txt"), call("shell", "toolu_2", command="cat check.py")
    waits.begin = more.begin = answer
    script: list[Scripted] = [waits, more, FIX, DONE]
    async with field(tmp_path, script) as place:
        async with place.start() as process:
            await process.until_type("round_started")
            await until(lambda: len(place.server.bodies) == 1)
            run = process.run
            await process.kill()
        async with open_cockpit(tmp_path / "home", HostSettings(), place.env) as cockpit:
            desk = Desk(cockpit, ProjectSettings(place.env, supervised=True))
            await desk.load()
            assert desk.summary(run).state == "interrupted"
            quote = await desk.quote_resume(run)
            assert (quote.run, quote.lost_calls, quote.cold) == (run, 1, False)
            assert quote.prompt_tokens > 0
            assert quote.cold_micros is not None
            seen: list[Event] = []
            feed = desk.events(run, lambda: None)
            assert await desk.resume(run) == run
            with pytest.raises(UsageError, match="is being executed"):
                await desk.resume(run)
            await until(lambda: len(place.server.bodies) == 2)
            assert desk.summary(run).live
            assert desk.summary(run).state == "fixing"
            # A script's command reaches the run that the dashboard hosts.
            command = SetCap(cap=8, sender="script")
            said = await asyncio.to_thread(send_command, tmp_path / "home", os.getpid(), run, command)
            assert isinstance(said, CommandAccepted)
            assert (said.old, said.new) == ("3", "8")
            answer.set()
            end = await cockpit.runs[run].done
            seen.extend(feed.drain())
            assert isinstance(end, RunFinished)
            assert end.reason.value == "passed"
            assert [event.seq for event in seen] == list(range(seen[0].seq, end.seq + 1))
            summary, view = desk.summary(run), desk.views[run]
            assert (summary.state, summary.cap, summary.attempt) == ("passed", 8, 1)
            assert view == await cockpit.store.history.view(run)
            assert view.seq == end.seq
            assert len([event for event in seen if isinstance(event, RoundStarted)]) == 3
            with pytest.raises(UsageError, match="has ended: passed"):
                await desk.quote_resume(run)
        check_whole(await place.stored(run))
