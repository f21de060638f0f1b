"""Find out what this system can enforce, for real and once, and make a run's sandbox of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import EnvironmentFault
from runtime.process.capture import capture
from runtime.process.sandbox.bubblewrap import Bubblewrap
from runtime.process.sandbox.places import Places
from runtime.text import one_line

PROBE_S = 10.0
_VARIANTS = (("--unshare-user",), ())
_NONE = "commands run as you, in a workspace of their own, with a scrubbed environment"


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """How commands are to be confined. `read` are further paths that they may read."""

    kind: str = "auto"
    network: bool = False
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ability:
    """What the probe found: the program and options that work, or why none does."""

    program: str = ""
    options: tuple[str, ...] = ()
    why_not: str = ""


_known: dict[str, Ability] = {}


async def probe() -> Ability:
    """Whether bubblewrap works here: it is really run, once in a process."""
    path = os.environ.get("PATH", os.defpath)
    if path not in _known:
        _known[path] = await _try(shutil.which("bwrap", path=path))
    return _known[path]


async def _try(program: str | None) -> Ability:
    if program is None:
        return Ability(why_not="bubblewrap is not installed (its program is bwrap)")
    said = ""
    for options in _VARIANTS:
        argv = [program, *options, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"]
        argv += ["--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        try:
            came = await capture([*argv, "--", "/bin/sh", "-c", "exit 0"], Path("/"), {}, timeout_s=PROBE_S)
        except OSError as error:
            return Ability(why_not=f"bubblewrap can't be started: {error.strerror or error}")
        if came.exit_code == 0:
            return Ability(program, options)
        said = said or one_line(came.stderr.decode(errors="replace").strip(), 200) or f"exit code {came.exit_code}"
    return Ability(why_not=f"bubblewrap does not work here: {said}")


async def make_sandbox(
    settings: SandboxSettings, places: Places, home: Path, env: Mapping[str, str]
) -> tuple[Bubblewrap | None, str]:
    """A run's sandbox, tried on its workspace, and what it does in words; None with why where there is none.

    Raises EnvironmentFault where a sandbox was asked for by name and can't be had.
    """
    if settings.kind == "none":
        return None, f"no sandbox, as set: {_NONE}"
    ability = await probe()
    why = ability.why_not
    if ability.program:
        read = tuple(Path(os.path.expanduser(name)) for name in settings.read)
        sandbox = Bubblewrap(ability.program, ability.options, places, home, settings.network, read)
        why = await _failure(sandbox, env)
        if not why:
            return sandbox, sandbox.describe()
    if settings.kind == "bubblewrap":
        raise EnvironmentFault(f"The sandbox can't be had: {why}.", "Install bubblewrap, or set sandbox.kind to auto.")
    return None, f"no sandbox ({why}): {_NONE}"


async def _failure(sandbox: Bubblewrap, env: Mapping[str, str]) -> str:
    """Why not even a shell starts in this sandbox; empty where it does."""
    try:
        argv, cwd, inner = sandbox.wrap(["/bin/sh", "-c", "exit 0"], sandbox.places.tree, env)
        came = await capture(argv, cwd, inner, timeout_s=PROBE_S)
    except OSError as error:
        return f"bubblewrap can't be started: {error.strerror or error}"
    if came.exit_code == 0:
        return ""
    return one_line(came.stderr.decode(errors="replace").strip(), 200) or f"bubblewrap ended with {came.exit_code}"
