"""The parts of a prepared run, and how they are put together: workspace, tools, verifier, baseline."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtime.events.loop import RunPrepared
from runtime.events.values import StopReason, Verdict
from runtime.loop.calls import Caller
from runtime.loop.control import Control
from runtime.loop.interruptions import RunEnds
from runtime.loop.limits import Gate
from runtime.loop.services import ModelContext, Services
from runtime.loop.state import RunState
from runtime.loop.stepping import Stepper
from runtime.loop.verifying import Checked, Verifier
from runtime.process.env import scrubbed_env, with_first_on_path
from runtime.process.run import Ending, ProcessSpec, Sandbox, run_process, shell_argv
from runtime.process.sandbox.choose import SandboxSettings, make_sandbox
from runtime.process.sandbox.places import Places
from runtime.text import one_line, plain
from runtime.tools.registry import ToolContext
from runtime.verify.steps import VerifyContext
from runtime.workspace.clone import Workspace, make_workspace
from runtime.workspace.editable import editable_installs, environments_in_use
from runtime.workspace.lend import UNPROTECTED
from runtime.workspace.repository import Repository

SETUP_TIMEOUT_S = 1800.0
OWN_INTERPRETER = "the python on PATH lacks what verify needs; looptop's own interpreter is used"
UNCONFINED = (
    "no sandbox, and every command runs unasked: what the model runs can do all that you can (approval = ask asks you)"
)


@dataclass(frozen=True, slots=True)
class WorkspaceSettings:
    """What the project lends its workspaces, and the commands that make one ready."""

    share: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)


@dataclass(frozen=True, slots=True)
class Confined:
    """How a run's commands are started: their sandbox, what it does in words, and the environment that they see."""

    sandbox: Sandbox | None
    words: str
    env: Mapping[str, str]


@dataclass
class Parts:
    """All that drives one run's attempts."""

    state: RunState
    control: Control
    services: Services
    workspace: Workspace
    verifier: Verifier
    caller: Caller
    stepper: Stepper
    gate: Gate
    env: Mapping[str, str]
    """What runs outside of the sandbox sees."""
    confined: Confined
    baseline: Checked | None = None

    @property
    def model_context(self) -> ModelContext:
        """What a model that works on the spot needs to know of this run."""
        place = self.workspace
        return ModelContext(place.tree, self.state.verify, place.scratch, self.env, self.state.run)


def outputs_of(home: Path, run: str) -> Path:
    """Where a run's outputs are kept."""
    return home / "outputs" / run


def workspace_of(home: Path, run: str) -> Path:
    """Where a run's workspace lies."""
    return home / "workspaces" / run


async def prepare(
    state: RunState,
    control: Control,
    services: Services,
    repository: Repository,
    lent: WorkspaceSettings,
    made: Callable[[Workspace], None],
) -> Parts:
    """Make the workspace, run its set-up and the baseline. Raises RunEnds where the run can't or needn't go on.

    `made` is told of the workspace as soon as it stands, so that it is known whatever follows.
    """
    workspace = await control.guard(
        make_workspace(
            repository,
            workspace_of(services.home, state.run),
            state.run,
            include_dirty=state.settings.include_dirty,
            share=lent.share,
            copy=lent.copy,
        )
    )
    made(workspace)
    confined, outside, notes = await confine(control, services, workspace, lent)
    parts = assemble(state, control, services, workspace, outside, confined)
    for command in lent.setup:
        await _set_up(parts, command)
    baseline = await parts.verifier.baseline()
    if _runner_missing(baseline) and not _has_environment(repository.root):
        confined, outside = own_interpreter_first(confined, outside)
        parts = assemble(state, control, services, workspace, outside, confined)
        notes.append(OWN_INTERPRETER)
        baseline = await parts.verifier.baseline()
    parts.baseline = baseline
    _tell(parts, baseline, notes)
    _check(state, baseline)
    return parts


async def confine(
    control: Control, services: Services, workspace: Workspace, lent: WorkspaceSettings
) -> tuple[Confined, dict[str, str], list[str]]:
    """How commands in a workspace are started: confined, and outside of a sandbox; with notes for the supervisor."""
    env = scrubbed_env(services.env, workspace.run_id, {"TMPDIR": str(workspace.scratch)})
    sandbox, words = await control.guard(make_sandbox(lent.sandbox, _places(workspace), services.home, env))
    outside, notes = _own_code_first(workspace.repository, workspace, env)
    if sandbox is not None:
        # The workspace stands at the repository's path: what is installed from there is the workspace's code.
        notes = []
    return Confined(sandbox, words, outside if sandbox is None else env), outside, notes


def own_interpreter_first(confined: Confined, outside: dict[str, str]) -> tuple[Confined, dict[str, str]]:
    """The same with looptop's own interpreter in front of the others."""
    own = Path(sys.executable).parent
    first = Confined(confined.sandbox, confined.words, with_first_on_path(confined.env, own))
    return first, with_first_on_path(outside, own)


def assemble(
    state: RunState,
    control: Control,
    services: Services,
    workspace: Workspace,
    env: Mapping[str, str],
    confined: Confined,
) -> Parts:
    """Put a run's parts together around its workspace; `env` is what runs outside of the sandbox sees."""
    outputs = outputs_of(services.home, state.run)
    tools = ToolContext(workspace.tree, workspace.repository.root, state.run, outputs, confined.env, confined.sandbox)
    checks = VerifyContext(workspace.tree, outputs, confined.env, state.run, confined.sandbox)
    gate = Gate(state, control, services)
    return Parts(
        state=state,
        control=control,
        services=services,
        workspace=workspace,
        verifier=Verifier(state, control, services, workspace, checks, gate),
        caller=Caller(state, control, services),
        stepper=Stepper(state, control, services, tools),
        gate=gate,
        env=env,
        confined=confined,
    )


def _places(workspace: Workspace) -> Places:
    temporary = workspace.folder / "tmp"
    temporary.mkdir(mode=0o700, exist_ok=True)
    repository, lent = workspace.repository, workspace.lent.shared
    return Places(repository.root, workspace.tree, temporary, repository.objects, workspace.folder / "lent", lent)


def _own_code_first(
    repository: Repository, workspace: Workspace, env: dict[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Where an environment installs the project from the real tree, put the workspace's code in front of it."""
    environments = [repository.root / name for name in workspace.lent.shared]
    installed = editable_installs(repository.root, (*environments, *environments_in_use(env)))
    if not installed:
        return env, []
    folders = [str(folder) for folder in (workspace.tree / "src", workspace.tree) if folder.is_dir()]
    path = os.pathsep.join([*folders, *filter(None, [env.get("PYTHONPATH")])])
    names = ", ".join(installed)
    note = f"{names}: installed in editable mode from the real tree; PYTHONPATH puts the workspace's code before it"
    return {**env, "PYTHONPATH": path}, [note]


def _has_environment(root: Path) -> bool:
    return any((root / name / "bin" / "python").exists() for name in (".venv", "venv"))


def _runner_missing(checked: Checked) -> bool:
    """Whether a step could not start because Python or pytest isn't there."""
    return any(
        result.verdict is Verdict.ERRORED
        and any(
            words in result.text
            for words in ("No module named pytest", "pytest: command not found", "python: command not found")
        )
        for result in checked.results
    )


async def _set_up(parts: Parts, command: str) -> None:
    result = await parts.control.guard(
        run_process(
            ProcessSpec(
                argv=shell_argv(command),
                cwd=parts.workspace.tree,
                env=parts.confined.env,
                timeout_s=SETUP_TIMEOUT_S,
                run_id=parts.state.run,
                sandbox=parts.confined.sandbox,
            )
        )
    )
    if result.ending is not Ending.EXITED or result.exit_code != 0:
        said = one_line(plain(result.tail or result.head)[-300:]) or result.error or result.ending.value
        raise RunEnds(StopReason.UNRECOVERABLE, f"the set-up command `{one_line(command, 100)}` failed: {said}")


def _tell(parts: Parts, baseline: Checked, notes: list[str]) -> None:
    state, workspace = parts.state, parts.workspace
    failing = len(baseline.findings)
    if not state.price_known and state.limits.micros is not None:
        binds = "the token budget does" if state.limits.tokens is not None else "nothing else is set that does"
        notes.append(f"no price is known for {state.model}: the dollar budget can't bind, {binds}")
    if parts.confined.sandbox is None and state.settings.approval == "auto":
        notes.append(UNCONFINED)
    parts.control.emitter.emit(
        RunPrepared(
            workspace=str(workspace.folder),
            base_commit=workspace.repository.head,
            branch=workspace.branch,
            sandbox=parts.confined.words,
            baseline_failing=failing if all(r.findings_total is not None for r in baseline.results) else None,
            priced=state.price_known,
            tree=baseline.tree,
            warnings=(*_notes_of(parts), *notes),
        )
    )


def _notes_of(parts: Parts) -> list[str]:
    """The workspace's notes, without the one that what is lent can be written."""
    confined = parts.confined.sandbox is not None
    return [note for note in parts.workspace.notes if not (confined and note.startswith(UNPROTECTED))]


def _check(state: RunState, baseline: Checked) -> None:
    for result in baseline.results:
        if result.verdict is Verdict.ERRORED:
            name = one_line(result.spec.command, 120)
            raise RunEnds(StopReason.UNRECOVERABLE, f"the verify command `{name}` can't be used: {result.summary}")
        if result.spec.setup and result.verdict is not Verdict.PASSED:
            name = one_line(result.spec.command, 120)
            raise RunEnds(
                StopReason.UNRECOVERABLE,
                f"the set-up step `{name}` fails before anything was changed: {result.summary}",
            )
    if baseline.passed and not state.task:
        raise RunEnds(StopReason.ALREADY_PASSING, "every verify step passes as it is")
