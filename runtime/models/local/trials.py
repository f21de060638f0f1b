"""The driver seen from here: starts it in the project's interpreter, sends jobs, gets results in the order of asking."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.models.local.candidate import Candidate
from runtime.models.local.commands import TestCommand
from runtime.models.local.errors import CannotHelp
from runtime.process.pipe import PipeChild

BOOT = Path(__file__).parent / "driver" / "boot.py"
START_S = 120.0
IN_FLIGHT = 24
"""Candidates that are with the driver at a time: enough that it never waits, few enough that stopping is quick."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What the driver found: test ids, files of tests, imported project files, what could not be collected."""

    items: tuple[str, ...]
    tests: tuple[str, ...]
    modules: tuple[str, ...]
    errors: Mapping[str, str]
    version: tuple[int, ...]
    network: bool


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended (done, timeout, crashed, bad, unsupported) and its lines."""

    end: str
    lines: tuple[Mapping[str, Any], ...]
    cold: bool = False

    @property
    def items(self) -> dict[int, Mapping[str, Any]]:
        """Result lines by item."""
        return {line["item"]: line for line in self.lines if "item" in line}

    @property
    def running(self) -> int | None:
        """The item that was running when the job was cut."""
        begun = [line["begin"] for line in self.lines if "begin" in line]
        return begun[-1] if begun and begun[-1] not in self.items else None


@dataclass
class Driver:
    """A running driver. `close` must be awaited in the end."""

    root: Path
    command: TestCommand
    scratch: Path
    env: Mapping[str, str]
    workers: int
    no_network: bool = True
    _child: PipeChild | None = None
    _waiting: dict[int, asyncio.Future[JobResult]] = field(default_factory=dict)
    _reader: asyncio.Task[None] | None = None
    _number: int = 0
    _gone: str = ""

    async def start(self) -> Hello:
        """Start it and wait until pytest has collected. Raises CannotHelp."""
        config = self.scratch / "driver.json"
        log = self.scratch / "driver.log"
        config.write_text(json.dumps(self._config(log)), encoding="utf-8")
        env = {**self.env, **self.command.env}
        env.setdefault("PYTHONHASHSEED", "0")
        env["PY_COLORS"] = "0"
        argv = [*self.command.python, str(BOOT), str(config)]
        try:
            self._child = PipeChild(argv, self.root, env)
        except OSError as error:
            raise CannotHelp(f"the project's interpreter can't be started: {argv[0]}: {error.strerror}") from error
        try:
            async with asyncio.timeout(START_S):
                first = await self._child.line()
        except TimeoutError:
            raise CannotHelp(f"collecting the tests takes longer than {START_S:.0f} s") from None
        if not first:
            raise CannotHelp(f"pytest could not be started: {self._log_tail(log)}")
        message = json.loads(first)
        if "fatal" in message:
            raise CannotHelp(f"{message['fatal']}: {self._log_tail(log)}")
        self._reader = asyncio.create_task(self._read(), name="local-driver")
        keys = ("items", "tests", "modules")
        lists = {key: tuple(message[key]) for key in keys}
        return Hello(**lists, errors=message["errors"], version=tuple(message["version"]), network=message["network"])

    def _config(self, log: Path) -> dict[str, Any]:
        args = [
            "--capture=sys", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:faulthandler", "--continue-on-collection-errors",
            *self.command.args,
        ]  # fmt: skip
        return {
            "root": str(self.root),
            "cwd": str(self.root / self.command.cwd),
            "args": args,
            "as_module": self.command.as_module,
            "workers": self.workers,
            "log": str(log),
            "no_network": self.no_network,
            "lend": [entry for entry in sys.path if entry.endswith("site-packages")],
        }

    @staticmethod
    def _log_tail(log: Path) -> str:
        try:
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        except OSError:
            return "no output"
        telling = [line for line in lines if "rror" in line] or lines
        return telling[-1].strip()[:300] if telling else "no output"

    async def _read(self) -> None:
        assert self._child is not None
        while line := await self._child.line():
            message = json.loads(line)
            if "fatal" in message:
                self._gone = message["fatal"]
                break
            future = self._waiting.pop(message["id"], None)
            if future is not None and not future.done():
                future.set_result(JobResult(message["end"], tuple(message["lines"]), message.get("cold", False)))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CannotHelp(self._gone or "the test process ended unexpectedly"))
        self._gone = self._gone or "ended"
        self._waiting.clear()

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message that has no answer. Raises CannotHelp where the driver is gone."""
        assert self._child is not None
        try:
            await self._child.send(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise CannotHelp("the test process ended unexpectedly") from error

    async def ask(self, message: Mapping[str, Any]) -> asyncio.Future[JobResult]:
        """Send a job; the future has its result."""
        if self._gone:
            raise CannotHelp("the test process ended unexpectedly")
        self._number += 1
        future: asyncio.Future[JobResult] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = future
        await self.tell({**message, "id": self._number})
        return future

    async def run(self, message: Mapping[str, Any]) -> JobResult:
        """Send a job and wait for it."""
        return await (await self.ask(message))

    async def judge(
        self, candidates: Iterator[tuple[Candidate, int]], limit_s: float = 1.0
    ) -> AsyncIterator[JobResult]:
        """Try candidates, each by its plan, and yield results in the order given, whatever order they end in."""
        flying: deque[asyncio.Future[JobResult]] = deque()
        more = True
        while True:
            while more and len(flying) < IN_FLIGHT:
                asked = next(candidates, None)
                if asked is None:
                    more = False
                    break
                candidate, plan = asked
                flying.append(await self.ask({"edits": edits_of(candidate), "use": plan, "limit": limit_s}))
            if not flying:
                return
            yield await flying.popleft()

    async def cancel(self) -> None:
        """Drop every job that isn't done."""
        for future in self._waiting.values():
            future.cancel()
        self._waiting.clear()
        await self.tell({"op": "cancel"})

    async def close(self) -> None:
        """End the driver and its children."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._child is not None:
            child, self._child = self._child, None
            await child.end()


def edits_of(candidate: Candidate) -> dict[str, list[Sequence[Any]]]:
    """A candidate's edits as the driver takes them."""
    found: dict[str, list[Sequence[Any]]] = {}
    for edit in candidate.edits:
        found.setdefault(edit.path, []).append((edit.start, edit.end, edit.text))
    return found
