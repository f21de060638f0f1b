"""A workspace and its sandbox, made for real: what tests of confinement act on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runtime.process.env import scrubbed_env
from runtime.process.run import ProcessResult, ProcessSpec, Sandbox, run_process, shell_argv
from runtime.process.sandbox.choose import SandboxSettings, make_sandbox, probe
from runtime.process.sandbox.places import Places
from runtime.workspace.clone import Workspace, make_workspace
from runtime.workspace.repository import open_repository

RUN = f"rbox{os.getpid()}"


@dataclass
class Box:
    """Runs commands as a run would."""

    repo: Path
    home: Path
    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, command: str, timeout_s: float = 30.0) -> ProcessResult:
        """Run a shell command in the sandbox."""
        spec = ProcessSpec(shell_argv(command), self.workspace.tree, self.env, timeout_s, RUN, sandbox=self.sandbox)
        return await run_process(spec)


def places_of(workspace: Workspace) -> Places:
    """Where a run puts things, as it does when it is prepared."""
    temporary = workspace.folder / "tmp"
    temporary.mkdir(exist_ok=True)
    repository = workspace.repository
    return Places(
        repository.root, workspace.tree, temporary, repository.objects, workspace.folder / "lent", workspace.lent.shared
    )


async def make_box(
    folder: Path,
    repo: Path,
    *,
    share: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    settings: SandboxSettings | None = None,
) -> Box:
    """A box for a repository. Skips the test where bubblewrap can't be had."""
    able = await probe()
    if not able.program:
        pytest.skip(able.why_not)
    home = folder / "looptop-home"
    workspace = await make_workspace(await open_repository(repo), home / "workspaces" / RUN, RUN, share=share)
    seen = scrubbed_env(env or os.environ, RUN)
    sandbox, words = await make_sandbox(settings or SandboxSettings(), places_of(workspace), home, seen)
    assert sandbox is not None, words
    return Box(repo, home, workspace, sandbox, seen)
