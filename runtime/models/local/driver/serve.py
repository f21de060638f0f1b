"""The driver's main loop: takes jobs, keeps as many forked trials in flight as there are processors, sends back what they say."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import select
import signal
import sys
import time
from collections import deque
from typing import Any, Deque, Dict, List

from .cold import Zygote
from .job import Message, enter_child, read_lines, run_job
from .limits import cut_network, own_size
from .plugin import TrialPlugin
from .swap import ModuleText, NeedsImport, Swapper, live_functions
from .wire import Wire

WALL_FACTOR = 6.0
WALL_MIN_S = 2.0
COLD = 3
"""Exit status of a trial that found out that it needs a fresh import."""
BAD = 4
"""Exit status of a trial whose text doesn't compile."""


class Trial:
    """A running child: its pipe, what it has written, when it must have written more."""

    def __init__(self, job: Message, pid: int, fd: int, cold: bool, wall_s: float) -> None:
        self.job = job
        self.pid = pid
        self.fd = fd
        self.cold = cold
        self.wall_s = wall_s
        self.data = b""
        self.deadline = time.monotonic() + wall_s + (5.0 if cold else 0.0)


class Server:
    """Lives inside pytest's session, after collection."""

    def __init__(self, wire: Wire, config: Message, zygote: Any) -> None:
        self.wire = wire
        self.config = config
        self.zygote = zygote
        self.plans: Dict[int, Message] = {}
        self.queue: Deque[Message] = deque()
        self.running: Dict[int, Trial] = {}
        self.broken: List[str] = []
        self.ids: Dict[int, str] = {}

    def loop(self, plugin: TrialPlugin, session: Any) -> None:
        """Tell what was collected, then serve until the pipe ends."""
        self.plugin = plugin
        self.broken = sorted(plugin.collect_errors)
        self.ids = {at: item.nodeid for at, item in enumerate(plugin.items)}
        root = self.config["root"] + os.sep
        modules = _project_modules(root)
        self.live = live_functions(root)
        self.swapper = Swapper(modules, self.live)
        plugin.look_for_bare()
        self.size = own_size()
        self._preload(root)
        self.wire.send(self._hello(plugin, modules))
        gc.collect()
        if hasattr(gc, "freeze"):
            gc.freeze()
        try:
            while True:
                self._step()
        except EOFError:
            pass
        finally:
            self._drop()
            os._exit(0)

    def _hello(self, plugin: TrialPlugin, modules: Dict[str, ModuleText]) -> Message:
        root = self.config["root"]
        files = [os.path.relpath(path, root) for path in sorted(plugin.test_files()) if path.startswith(root + os.sep)]
        return {
            "ready": True,
            "items": [item.nodeid for item in plugin.items],
            "tests": files,
            "modules": [os.path.relpath(path, root) for path in sorted(modules)],
            "errors": plugin.collect_errors,
            "version": list(sys.version_info[:3]),
            "network": not self.config.get("cut", False),
        }

    def _preload(self, root: str) -> None:
        if self.zygote is None:
            return
        names = []
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None) or ""
            if "." not in name and not name.startswith("_") and path and not os.path.realpath(path).startswith(root):
                names.append(name)
        self.zygote.preload(sorted(names))

    def _step(self) -> None:
        while self.queue and len(self.running) < self.config["workers"]:
            self._start(self.queue.popleft())
        now = time.monotonic()
        wait = min([t.deadline - now for t in self.running.values()], default=None)
        fds = [self.wire.fd_in, *self.running]
        ready = select.select(fds, [], [], None if wait is None else max(0.0, wait))[0]
        for fd in ready:
            if fd == self.wire.fd_in:
                for message in self.wire.receive():
                    self._take(message)
            elif fd in self.running:
                self._read(self.running[fd])
        now = time.monotonic()
        for trial in list(self.running.values()):
            if now >= trial.deadline:
                self._finish(trial, "timeout")

    def _take(self, message: Message) -> None:
        if "plan" in message:
            self.plans[message["plan"]] = message
        elif message.get("op") == "cancel":
            self._drop()
        elif message.get("op") == "soften":
            self.plugin.soften(self.live)
        else:
            self.queue.append(message)

    def _start(self, job: Message, cold: bool = False) -> None:
        plan = self.plans.get(job.get("use", 0))
        reading, writing = os.pipe()
        wall = max(WALL_MIN_S, WALL_FACTOR * job.get("limit", 1.0))
        if cold or (plan is not None and plan["broken"]):
            full = dict(job, plan=plan, ids=self.ids, known=self.broken, edits=self._real(job))
            pid = self.zygote.spawn(full, writing) if self.zygote is not None else 0
            os.close(writing)
            if not pid:
                os.close(reading)
                self.wire.send({"id": job["id"], "end": "unsupported", "lines": []})
                return
            self.running[reading] = Trial(job, pid, reading, True, wall)
            return
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._child(job, plan, writing)
        os.close(writing)
        self.running[reading] = Trial(job, pid, reading, False, wall)

    def _real(self, job: Message) -> Dict[str, Any]:
        return {os.path.join(self.config["root"], path): edits for path, edits in job.get("edits", {}).items()}

    def _child(self, job: Message, plan: Any, fd: int) -> None:
        code = 1
        try:
            enter_child(self.size)
            self.wire.close_in_child()
            for path, edits in self._real(job).items():
                if path not in self.swapper.modules:
                    raise NeedsImport
                self.swapper.swap(path, [tuple(edit) for edit in edits])
            run_job(self.plugin, fd, job, plan)
        except NeedsImport:
            code = COLD
        except (SyntaxError, ValueError):
            code = BAD
        finally:
            os._exit(code)

    def _read(self, trial: Trial) -> None:
        data = os.read(trial.fd, 1 << 16)
        if data:
            trial.data += data
            trial.deadline = time.monotonic() + trial.wall_s
            return
        self._finish(trial, "")

    def _finish(self, trial: Trial, why: str) -> None:
        del self.running[trial.fd]
        os.close(trial.fd)
        try:
            os.killpg(trial.pid, signal.SIGKILL)
        except OSError:
            pass
        code = 0
        if not trial.cold:
            # The group may not exist yet where the child was caught before it made one.
            if why:
                os.kill(trial.pid, signal.SIGKILL)
            status = os.waitpid(trial.pid, 0)[1]
            if os.WIFEXITED(status):
                code = os.WEXITSTATUS(status)
            elif os.WTERMSIG(status) == signal.SIGPROF:
                why = "timeout"
            elif os.WTERMSIG(status) != signal.SIGKILL:
                why = "crashed"
        if code == COLD:
            self._start(trial.job, cold=True)
            return
        lines = read_lines(trial.data)
        if not why:
            why = "bad" if code == BAD else "done" if lines and "end" in lines[-1] else "cut"
        if trial.cold and why == "cut":
            why = "done" if any("item" in line or "broken" in line for line in lines) else "bad"
        self.wire.send({"id": trial.job["id"], "end": why, "cold": trial.cold, "lines": lines})

    def _drop(self) -> None:
        self.queue.clear()
        for trial in list(self.running.values()):
            del self.running[trial.fd]
            os.close(trial.fd)
            for kill in (os.killpg, os.kill):
                try:
                    kill(trial.pid, signal.SIGKILL)
                except OSError:
                    pass
            if not trial.cold:
                os.waitpid(trial.pid, 0)


def _project_modules(root: str) -> Dict[str, ModuleText]:
    found = {}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not path or not path.endswith(".py"):
            continue
        real = os.path.realpath(path)
        if not real.startswith(root) or "site-packages" in real:
            continue
        try:
            with open(real, encoding="utf-8", newline="") as file:
                found[real] = ModuleText(real, file.read())
        except (OSError, SyntaxError, ValueError):
            continue
    return found


def _load_pytest(config: Message) -> None:
    try:
        importlib.import_module("pytest")
    except ImportError:
        # The project's interpreter has no pytest of its own: ours is put last, so that it hides nothing.
        sys.path.extend(config.get("lend", []))
        importlib.import_module("pytest")
    pytest_config = importlib.import_module("_pytest.config")
    for name in getattr(pytest_config, "default_plugins", ()):
        importlib.import_module("_pytest." + name)


def main(config: Message) -> None:
    """Run the driver to its end."""
    wire = Wire(config["log"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    config["cut"] = bool(config.get("no_network")) and cut_network()
    root = config["root"]
    os.chdir(config.get("cwd") or root)
    extra = [os.path.join(root, "src")] if os.path.isdir(os.path.join(root, "src")) else []
    if config.get("as_module"):
        extra.insert(0, os.getcwd())
    sys.path[:0] = extra
    try:
        _load_pytest(config)
    except ImportError as error:
        wire.send({"fatal": "no pytest in the project's interpreter: %s" % error})
        return
    import pytest

    for name, version in (("xdist", ["-n0"]), ("pytest_cov", ["--no-cov"])):
        if importlib.util.find_spec(name) is not None:
            config["args"] = config["args"] + version
    zygote = Zygote(config, wire) if sys.version_info >= (3, 9) else None
    server = Server(wire, config, zygote)
    plugin = TrialPlugin(root, server.loop)
    code = pytest.main(config["args"], plugins=[plugin])
    wire.send({"fatal": "pytest ended before any test could run (status %s)" % int(code)})
