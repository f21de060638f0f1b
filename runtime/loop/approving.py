"""Approvals in the loop: which calls of a reply wait, the hold until they are decided, and what becomes of the denied ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.approval.policy import NOBODY, Decision, Does, decide, denial, refusal, shown_call
from runtime.approval.reading import Ground
from runtime.events.supervision import ApprovalGiven, ApprovalRequested
from runtime.events.values import HoldReason, StepStatus
from runtime.loop.control import Control
from runtime.loop.services import Services
from runtime.loop.state import RunState
from runtime.models.base import ToolCall
from runtime.text import hidden_characters, storable
from runtime.tools.registry import ToolContext, ToolOutcome, problem_with

HERE = "looptop"
"""The sender of what the runtime decides itself."""
ENDS_WITH = ("approve", "deny")


@dataclass
class Approver:
    """Decides for each call of a reply whether it may run. A call keeps the step number that it was asked for by."""

    state: RunState
    control: Control
    services: Services
    context: ToolContext
    ground: Ground = field(init=False)
    _git: dict[str, bytes] | None = None
    """Git's configuration in the workspace before the first call."""

    def __post_init__(self) -> None:
        context = self.context
        root = context.workspace if context.sandbox is None else context.shown_root
        self.ground = Ground((str(root),), self._trusted, self._own_git)

    def ask(self, calls: Sequence[ToolCall], first_step: int) -> None:
        """Request approval for all calls of a reply that wait, so that they can be decided together. They are numbered on."""
        if self.state.settings.approval == "auto":
            return
        if self._git is None:
            self._git = git_settings(self.context.workspace)
        if self.state.settings.hold_on_approval:
            for step, call in enumerate(calls, first_step):
                self._request_if_waiting(call, step)

    async def permit(self, call: ToolCall, step: int) -> ToolOutcome | None:
        """None where a call may run now; else why not, as the model reads it. Holds the run until that is decided. Raises Aborted."""
        # Judged once more: what was read-only when it was asked for needn't be so after the calls before it.
        decision = self._decide(call)
        if decision.does is Does.REFUSED:
            return ToolOutcome(StepStatus.DENIED, refusal(decision.why))
        if step not in self.control.undecided and step not in self.control.verdicts:
            if decision.does is Does.RUNS:
                return None
            self._request(call, step, decision.why)
        if not self.state.settings.hold_on_approval:
            self._give(step, HERE, NOBODY)
        elif step not in self.control.verdicts:
            await self.control.hold(
                HoldReason.APPROVAL, self._words(call, step), ENDS_WITH, lambda: step in self.control.verdicts
            )
        approved, sender, reason = self.control.verdicts[step]
        if approved:
            return None
        return ToolOutcome(StepStatus.DENIED, denial(sender, reason))

    def drop(self, step: int, reason: str) -> None:
        """A call won't be executed whatever is decided: nobody need decide it any more."""
        if step in self.control.undecided:
            self._give(step, HERE, reason)

    def _decide(self, call: ToolCall) -> Decision:
        mode = self.state.settings.approval
        if problem_with(call):
            # It isn't executed in any mode; the model reads what is wrong with it.
            return Decision(Does.RUNS)
        return decide(mode, call.name, call.arguments or {}, self.ground)

    def _request_if_waiting(self, call: ToolCall, step: int) -> None:
        decision = self._decide(call)
        if decision.does is Does.WAITS:
            self._request(call, step, decision.why)

    def _request(self, call: ToolCall, step: int, why: str) -> None:
        # As it would be executed: what can't be stored isn't passed to a shell either.
        command = storable(shown_call(call.name, call.arguments or {}))
        self.control.undecided.add(step)
        self.control.emitter.emit(
            ApprovalRequested(
                step=step,
                tool=call.name,
                command=self.services.masker.mask(command),
                why=self.services.masker.mask(why),
                hidden=hidden_characters(command),
            )
        )

    def _give(self, step: int, sender: str, reason: str) -> None:
        self.control.undecided.discard(step)
        self.control.verdicts[step] = (False, sender, reason)
        self.control.emitter.emit(ApprovalGiven(step=step, approved=False, sender=sender, reason=reason))

    def _words(self, call: ToolCall, step: int) -> str:
        others = sorted(self.control.undecided - {step})
        more = (
            f"; so do{'' if others[1:] else 'es'} step{'s' if others[1:] else ''} {', '.join(map(str, others))}"
            if others
            else ""
        )
        return f"step {step}, {call.name}, waits for approval{more}"

    def _trusted(self, name: str) -> bool:
        """Whether the first program of that name on PATH lies where commands of a run don't write."""
        context = self.context
        written = [str(context.workspace), str(context.shown_root), context.env.get("TMPDIR", "/tmp"), "/tmp"]
        for entry in context.env.get("PATH", "").split(os.pathsep):
            if not os.path.isabs(entry):
                return False
            program = os.path.join(entry, name)
            if os.path.isfile(program) and os.access(program, os.X_OK):
                return not any(_below(place, root) for place in (entry, os.path.realpath(program)) for root in written)
        return False

    def _own_git(self) -> bool:
        return self._git is not None and git_settings(self.context.workspace) == self._git


def _below(path: str, root: str) -> bool:
    real = os.path.realpath(root)
    return any(path == place or path.startswith(f"{place}/") for place in (root, real))


def git_settings(workspace: Path) -> dict[str, bytes]:
    """What makes git run other programs in a workspace: its configuration files with their content, and its hooks, by name."""
    found: dict[str, bytes] = {}
    git = workspace / ".git"
    places = [git] if git.is_dir() else []
    modules = git / "modules"
    if modules.is_dir():
        places += [Path(folder) for folder, _, names in os.walk(modules) if "config" in names]
    for place in places:
        for name in ("config", "config.worktree", "info/attributes", "commondir"):
            try:
                found[f"{place}/{name}"] = (place / name).read_bytes()
            except OSError:
                continue
        hooks = place / "hooks"
        if hooks.is_dir():
            found |= {str(hook): b"" for hook in hooks.iterdir() if hook.suffix != ".sample"}
    if git.is_file():
        found[str(git)] = git.read_bytes()
    return found
