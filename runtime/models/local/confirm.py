"""Fresh confirmation: the real verify commands in a second copy of the workspace, with the candidate written to disk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.events.values import VerifySpec
from runtime.models.local.candidate import Candidate
from runtime.models.local.scratch import copy_workspace
from runtime.models.local.source import SourceFile, apply_edits
from runtime.process.run import Ending, ProcessSpec, run_process, shell_argv

TIMEOUT_S = 120.0


@dataclass
class Confirmer:
    """Runs verify steps on a copy. Steps that already fail for other reasons than tests are compared by exit status only."""

    workspace: Path
    scratch: Path
    env: Mapping[str, str]
    run_id: str
    steps: Sequence[VerifySpec]
    sources: Mapping[str, SourceFile]
    _tree: Path | None = None
    _timeout_s: float = TIMEOUT_S
    _tolerated: set[str] = field(default_factory=set)

    async def holds(self, candidate: Candidate, timeout_s: float = TIMEOUT_S) -> bool:
        """Whether every step passes with the candidate, but for steps that fail just as well without any test failing."""
        self._timeout_s = timeout_s
        tree = await self._copy()
        written = self._write(tree, candidate)
        try:
            for step in self.steps:
                if step.command not in self._tolerated and not await self._passes(step, tree):
                    if step is self.steps[0] or not await self._fails_anyway(step, tree, written):
                        return False
                    self._tolerated.add(step.command)
            return True
        finally:
            self._restore(written)

    @property
    def tolerated(self) -> bool:
        """Whether what held did so although a step fails that failed before too."""
        return bool(self._tolerated)

    async def spoiled(self, candidate: Candidate, steps: Sequence[VerifySpec]) -> str:
        """The first of these steps that fails with the candidate and passes without it; empty where there is none."""
        tree = await self._copy()
        written = self._write(tree, candidate)
        try:
            for step in steps:
                if not await self._passes(step, tree) and not await self._fails_anyway(step, tree, written):
                    return step.command
            return ""
        finally:
            self._restore(written)

    async def _copy(self) -> Path:
        if self._tree is None:
            self._tree = await asyncio.to_thread(copy_workspace, self.workspace, self.scratch / "confirm")
        return self._tree

    def _write(self, tree: Path, candidate: Candidate) -> dict[Path, bytes]:
        kept: dict[Path, bytes] = {}
        for path in sorted({edit.path for edit in candidate.edits}):
            place = tree / path
            kept[place] = place.read_bytes()
            text = apply_edits(self.sources[path].text, tuple(e for e in candidate.edits if e.path == path))
            place.write_bytes(text.encode("utf-8"))
            _forget_compiled(place)
        return kept

    def _restore(self, kept: Mapping[Path, bytes]) -> None:
        for place, data in kept.items():
            place.write_bytes(data)
            _forget_compiled(place)

    async def _fails_anyway(self, step: VerifySpec, tree: Path, written: dict[Path, bytes]) -> bool:
        """Whether a step that isn't the tests fails without the candidate too."""
        now = {place: place.read_bytes() for place in written}
        self._restore(written)
        try:
            return not await self._passes(step, tree)
        finally:
            self._restore(now)

    async def _passes(self, step: VerifySpec, tree: Path) -> bool:
        env = {**self.env, "PYTHONDONTWRITEBYTECODE": "1"}
        timeout = min(step.timeout_s, self._timeout_s)
        spec = ProcessSpec(shell_argv(step.command), tree, env, timeout, self.run_id)
        result = await run_process(spec)
        return result.ending is Ending.EXITED and result.exit_code == 0


def _forget_compiled(place: Path) -> None:
    """Two versions written within a second and of one length look the same to the bytecode cache."""
    for cached in place.parent.glob(f"__pycache__/{place.stem}.*.pyc"):
        cached.unlink(missing_ok=True)
