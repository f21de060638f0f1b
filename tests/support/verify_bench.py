"""A folder in which verify steps are run by the tools of this environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from runtime.events.values import VerifySpec
from runtime.process.env import scrubbed_env, with_first_on_path
from runtime.verify.steps import StepResult, VerifyContext, run_step

Files = dict[str, str]
Output = Callable[..., str]


class Bench:
    """A folder with files, in which verify steps are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self._count = 0

    def write(self, files: Files) -> None:
        """Write files into the workspace."""
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    async def step(
        self, command: str, *, timeout_s: float = 60, cap: int = 64 << 20, setup: bool = False
    ) -> StepResult:
        """Run a command as a verify step."""
        self._count += 1
        env = with_first_on_path(scrubbed_env(os.environ, "bench"), Path(sys.executable).parent)
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        context = VerifyContext(self.workspace, self.folder / "outputs", env, "bench", output_cap_bytes=cap)
        spec = VerifySpec(command=command, timeout_s=timeout_s, setup=setup)
        return await run_step(spec, context, f"step-{self._count}")
