"""One trial in a forked child: put the candidate in, run tests until it is clear what it is worth, write a line per test."""

from __future__ import annotations

import gc
import json
import os
import signal
import time
from typing import Any, Dict, List, Optional, Set

from .bare import run_bare
from .limits import arm, child_limits, die_with_parent
from .plugin import TrialPlugin
from .tracing import Tracer

Message = Dict[str, Any]


class Out:
    """Result lines of a trial."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def line(self, message: Message) -> None:
        """Write one line."""
        os.write(self._fd, json.dumps(message, separators=(",", ":")).encode() + b"\n")


class Runner:
    """Runs a job's items in this process."""

    def __init__(self, plugin: TrialPlugin, out: Out, job: Message) -> None:
        self.plugin = plugin
        self.out = out
        self.job = job
        self.tracing = bool(job.get("trace"))

    def one(self, index: int, limit_s: float, nextitem: Any) -> Message:
        """Run one item under its limit of processor time."""
        item = self.plugin.items[index]
        tracer: Optional[Tracer] = None
        self.out.line({"begin": index})
        if self.tracing:
            tracer = Tracer(self.plugin.root, self.plugin.test_files(), self.plugin.recorder)
            self._flush_on_limit(index, tracer)
            tracer.start()
        began = time.process_time()
        arm(limit_s)
        try:
            outcome = self.plugin.run(item, nextitem)
        finally:
            arm(0)
            if tracer is not None:
                tracer.stop()
        line: Message = {"item": index, "status": outcome.status or "failed", "cpu": time.process_time() - began}
        line["misses"] = sorted(self.plugin.recorder.misses)
        line["hits"] = len(self.plugin.recorder.hits)
        if outcome.error:
            line.update(error=outcome.error, message=outcome.message, frames=outcome.frames)
        if tracer is not None:
            line["hit_lines"] = sorted(self.plugin.recorder.hits - self.plugin.recorder.misses)
            line.update(tracer.report())
        self.out.line(line)
        return line

    def quick(self, index: int, limit_s: float) -> Optional[Message]:
        """A failure of an item, found without pytest's hooks; None where it doesn't fail or can't be run so."""
        arguments = self.plugin.bare.get(index)
        if arguments is None:
            return None
        self.out.line({"begin": index})
        arm(limit_s)
        line = run_bare(self.plugin.items[index], arguments, self.plugin.recorder)
        arm(0)
        if line["status"] != "failed":
            return None
        line["item"] = index
        self.out.line(line)
        return line

    def _flush_on_limit(self, index: int, tracer: Tracer) -> None:
        def flush(signum: int, frame: Any) -> None:
            tracer.stop()
            hits = sorted(self.plugin.recorder.hits - self.plugin.recorder.misses)
            report = {"item": index, "status": "timeout", "cpu": 0, "hits": len(hits), "hit_lines": hits}
            report.update(tracer.report(), misses=sorted(self.plugin.recorder.misses))
            self.out.line(report)
            os._exit(0)

        signal.signal(signal.SIGPROF, flush)

    def plain(self) -> None:
        """Run the listed items, whatever comes of them."""
        items = self.job["items"]
        for at, (index, limit) in enumerate(items):
            following = self.plugin.items[items[at + 1][0]] if at + 1 < len(items) else None
            self.one(index, limit, following)

    def judged(self, plan: Message) -> None:
        """Run the failing tests; the passing ones only for a candidate that mends something."""
        failing = plan["failing"]
        better = 0
        mended = 0
        for at, (index, limit, misses, asserts) in enumerate(failing):
            line = self.quick(index, limit) or self.one(index, limit, None)
            if line["status"] == "passed":
                mended += 1
                better += 1
            elif _nearer(line, set(misses), asserts):
                better += 1
            if not better and at + 1 >= plan["probe"]:
                return
        if mended == 0:
            return
        patience = plan["patience"]
        for index, limit in plan["passing"]:
            line = self.one(index, limit, None)
            if line["status"] != "passed":
                patience -= 1
                if patience <= 0:
                    return


def _nearer(line: Message, misses: Set[int], asserts: int) -> bool:
    """Whether an item still fails, but with fewer failed assertions than before."""
    now = set(line["misses"])
    return bool(misses) and now < misses and line["hits"] >= asserts and "error" not in line


def enter_child(address_space: int) -> None:
    """What a forked trial does first."""
    os.setpgid(0, 0)
    die_with_parent()
    for number in (signal.SIGPROF, signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    child_limits(address_space)
    gc.enable()


def run_job(plugin: TrialPlugin, fd: int, job: Message, plan: Optional[Message]) -> None:
    """Run a job and end this process."""
    out = Out(fd)
    runner = Runner(plugin, out, job)
    plugin.detailed = plan is None
    try:
        if plan is None:
            runner.plain()
        else:
            runner.judged(plan)
        out.line({"end": True})
    finally:
        os._exit(0)


def read_lines(data: bytes) -> List[Message]:
    """A trial's result lines; a last one that was cut is left out."""
    lines = data.split(b"\n")[:-1]
    return [json.loads(line) for line in lines]
