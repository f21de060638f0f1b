"""Prove each promise of the sandbox on this machine by trying to break it."""

from __future__ import annotations

import asyncio
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.process.run import Ending, ProcessResult, ProcessSpec, run_process, shell_argv
from runtime.process.sandbox.bubblewrap import Bubblewrap
from runtime.process.sandbox.choose import SandboxSettings, make_sandbox
from runtime.process.sandbox.places import Places

RUN = "doctor"
ENDS_WITHIN_S = 2.0
_WAIT_S = 0.5
_TCP = "import socket; socket.create_connection(('127.0.0.1', {port}), 3); print('broken')"
_UNIX = "import socket; socket.socket(socket.AF_UNIX).connect({path!r}); print('broken')"


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of trying to break one promise. `kept` None: it isn't promised here."""

    name: str
    kept: bool | None
    text: str


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A sandbox around a folder of our own, with something to break beside it."""

    folder: Path
    sandbox: Bubblewrap
    env: Mapping[str, str]

    async def run(self, command: str, timeout_s: float = 20.0) -> ProcessResult:
        tree = self.sandbox.places.tree
        return await run_process(ProcessSpec(shell_argv(command), tree, self.env, timeout_s, RUN, sandbox=self.sandbox))

    async def python(self, code: str) -> ProcessResult:
        return await self.run(f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}")


async def prove(settings: SandboxSettings, home: Path, env: Mapping[str, str]) -> list[Proof]:
    """Try to break every promise; the first line says what the sandbox is. Raises EnvironmentFault as `make_sandbox` does."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    # In looptop's own folder: what the attempts aim at must lie where a run's own things lie.
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=home) as name:
        folder = Path(name).resolve()
        for part in ("repository", "tree", "tmp", "objects"):
            (folder / part).mkdir()
        places = Places(folder / "repository", folder / "tree", folder / "tmp", folder / "objects", folder / "lent")
        sandbox, words = await make_sandbox(settings, places, home.resolve(), env)
        if sandbox is None:
            return [Proof("sandbox", None, words)]
        attempt = _Attempt(folder, sandbox, env)
        said = sandbox.describe().replace(str(places.root), "the repository's path")
        tried = [await check(attempt) for check in (_writes, _home, _network, _sockets, _processes, _ending)]
        return [Proof("sandbox", True, said), *tried]


async def _writes(attempt: _Attempt) -> Proof:
    places = attempt.sandbox.places
    targets = (places.root / "new", attempt.folder / "new", places.root.parent / "objects" / "new")
    commands = "; ".join(f"echo broken > {shlex.quote(str(target))}" for target in targets)
    result = await attempt.run(
        f"{commands}; echo broken > /etc/looptop-doctor && rm /etc/looptop-doctor && echo broken"
    )
    landed = (places.tree / "new").is_file()
    kept = landed and not any(target.exists() for target in targets) and "broken\n" not in result.head
    return Proof("writes", kept, _words(kept, "writes land in the workspace, none in the repository or beside it"))


async def _home(attempt: _Attempt) -> Proof:
    secret = attempt.folder / "secret"
    secret.write_text("broken")
    result = await attempt.run(f"cat {shlex.quote(str(secret))}; cat ~/.ssh/* ~/.netrc ~/.aws/* && echo broken")
    kept = "broken" not in result.head
    return Proof("home", kept, _words(kept, "keys in the home folder and looptop's own files can't be read"))


async def _network(attempt: _Attempt) -> Proof:
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = await attempt.python(_TCP.format(port=server.getsockname()[1]))
    kept = "broken" not in result.head and result.exit_code == 1
    if attempt.sandbox.network:
        return Proof("network", None, "allowed by sandbox.network")
    return Proof("network", kept, _words(kept, "no connection, not even to this machine"))


async def _sockets(attempt: _Attempt) -> Proof:
    with tempfile.TemporaryDirectory() as name, socket.socket(socket.AF_UNIX) as server:
        path = str(Path(name, "s"))
        server.bind(path)
        server.listen()
        result = await attempt.python(_UNIX.format(path=path))
    kept = "broken" not in result.head and result.exit_code == 1
    return Proof("sockets", kept, _words(kept, "unix sockets in /tmp, /run and the home folder are out of reach"))


async def _processes(attempt: _Attempt) -> Proof:
    victim = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        result = await attempt.run(f"kill -9 {victim.pid} && echo broken")
        await asyncio.sleep(0)
        kept = victim.returncode is None and "broken" not in result.head
    finally:
        if victim.returncode is None:
            victim.kill()
        await victim.wait()
    return Proof("processes", kept, _words(kept, "processes outside are neither seen nor reached"))


async def _ending(attempt: _Attempt) -> Proof:
    began = time.monotonic()
    result = await attempt.run("trap '' TERM; setsid sleep 60 & sleep 60", _WAIT_S)
    took = time.monotonic() - began - _WAIT_S
    kept = result.ending is Ending.TIMED_OUT and not result.survivors and took < ENDS_WITHIN_S
    return Proof(
        "ending", kept, _words(kept, f"a command that won't end was ended with all its processes in {took:.1f} s")
    )


def _words(kept: bool, promise: str) -> str:
    return promise if kept else f"BROKEN: {promise} is not true here"
