"""Trials that need a fresh import: a process that has pytest loaded, but nothing of the project, forks one child for each."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
from importlib.machinery import SourceFileLoader
from typing import Any, Dict, List, Optional

import pytest

from .job import Message, Out, Runner, enter_child
from .limits import arm, die_with_parent, own_size
from .plugin import TrialPlugin
from .swap import apply_edits, live_functions
from .wire import Wire

MAX_MESSAGE = 1 << 20
COLLECT_CPU_S = 10.0


class Zygote:
    """The warm side's handle: asks for a fork and gets the child's process id."""

    def __init__(self, config: Message, wire: Wire) -> None:
        self._mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._mine.close()
            wire.close_in_child()
            try:
                _serve(theirs, config)
            finally:
                os._exit(0)
        theirs.close()

    def spawn(self, job: Message, fd: int) -> int:
        """Start a child that writes its lines to `fd`; returns its process id, 0 where that was not possible."""
        data = json.dumps(job).encode()
        if len(data) > MAX_MESSAGE:
            return 0
        try:
            self._mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_MESSAGE * 2)
            socket.send_fds(self._mine, [data], [fd])
            return int(self._mine.recv(64).decode() or 0)
        except OSError:
            return 0

    def preload(self, names: List[str]) -> None:
        """Import what the project uses from elsewhere once, not in every child."""
        self._mine.send(json.dumps({"preload": names}).encode())


def _serve(channel: socket.socket, config: Message) -> None:
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, fds, _, _ = socket.recv_fds(channel, MAX_MESSAGE, 1)
        if not data:
            return
        job = json.loads(data)
        if "preload" in job:
            for name in job["preload"]:
                try:
                    importlib.import_module(name)
                except BaseException:  # a module of the project's may do anything at import
                    continue
            continue
        pid = os.fork()
        if pid == 0:
            channel.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            enter_child(own_size())
            _run(fds[0], job, config)
        for fd in fds:
            os.close(fd)
        channel.send(str(pid).encode())


def override_sources(texts: Dict[str, str]) -> None:
    """Make imports of these files (real paths) take the given text."""
    plain = SourceFileLoader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        path = self.get_filename(fullname)
        text = texts.get(os.path.realpath(path))
        if text is None:
            return plain(self, fullname)
        return compile(text, path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def _run(fd: int, job: Message, config: Message) -> None:
    out = Out(fd)
    texts = {}
    for path, edits in job["edits"].items():
        with open(path, encoding="utf-8", newline="") as file:
            texts[path] = apply_edits(file.read(), [tuple(edit) for edit in edits])
    override_sources(texts)
    plugin = TrialPlugin(config["root"], lambda found, session: _tests(found, out, job))
    arm(COLLECT_CPU_S)
    try:
        pytest.main(config["args"], plugins=[plugin])
    finally:
        os._exit(0)


def _tests(plugin: TrialPlugin, out: Out, job: Message) -> None:
    """Run the plan's tests, found again by their ids; files that could not be collected count as failing tests."""
    arm(0)
    plan: Optional[Message] = job.get("plan")
    try:
        for key in plan["broken"] if plan is not None else []:
            again = any(error == key for error in plugin.collect_errors)
            out.line({"broken": key, "status": "failed" if again else "passed"})
            if again:
                return
        if set(plugin.collect_errors) - set(job["known"]):
            return
        plugin.soften(live_functions(plugin.root + os.sep))
        if plan is not None:
            _judge(plugin, out, job, plan)
        out.line({"end": True})
    finally:
        os._exit(0)


def _judge(plugin: TrialPlugin, out: Out, job: Message, plan: Message) -> None:
    places = {item.nodeid: at for at, item in enumerate(plugin.items)}
    known = set(job["ids"].values())
    plugin.detailed = False
    runner = Runner(plugin, out, job)
    plugin_items = plugin.items
    # Tests that only exist now, because their file could not be imported before, are the ones that must pass.
    fresh = [at for at, item in enumerate(plugin_items) if item.nodeid not in known]
    for at in fresh:
        item = plugin_items[at]
        line = runner.one(at, plan["fresh_limit"], None)
        out.line({"fresh": item.nodeid, "status": line["status"]})
        if line["status"] == "failed":
            return
    ids = {int(index): nodeid for index, nodeid in job["ids"].items()}
    if any(nodeid not in places for nodeid in ids.values()):
        return
    order = [places[ids[index]] if index in ids else 0 for index in range(max(ids, default=-1) + 1)]
    plugin.items = [plugin_items[at] for at in order]
    runner.judged(plan)
