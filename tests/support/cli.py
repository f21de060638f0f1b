"""The command line under test, in this process or in one of its own, with a home and settings of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.repositories import IDENTITY

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ("ANTHROPIC_", "OPENAI_", "LOOPTOP_", "XDG_")


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


def clean_environment(folder: Path) -> dict[str, str]:
    """An environment without keys and settings, whose home is in a folder."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    env |= {"HOME": str(folder), "LOOPTOP_HOME": str(folder / "home"), "LOOPTOP_CONFIG": str(folder / "config.toml")}
    return env | IDENTITY


@dataclass
class CommandLine:
    """Calls looptop as its user does."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    env: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """LOOPTOP_HOME."""
        return self.folder / "home"

    @property
    def config(self) -> Path:
        """The user's file."""
        return self.folder / "config.toml"

    def __call__(self, *args: str) -> Said:
        """Call it in this process, which is quick."""
        from tui.cli import run

        self.capsys.readouterr()
        code = run(list(args))
        out, err = self.capsys.readouterr()
        return Said(code, out, err)

    def spawn(self, *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> subprocess.Popen[str]:
        """Start it in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "tui", *args],
            env={**clean_environment(self.folder), "PYTHONPATH": str(ROOT), **(env or {})},
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def process(self, *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Said:
        """Call it in a process of its own and wait for its end."""
        process = self.spawn(*args, env=env, cwd=cwd)
        out, err = process.communicate(timeout=120)
        return Said(process.returncode, out, err)


def one_sentence(said: Said, code: int) -> str:
    """Check that a command failed as it should: its code, one line on stderr, nothing on stdout, no traceback. Returns the line."""
    assert said.code == code, said
    assert said.out == "", said
    lines = said.err.splitlines()
    assert len(lines) == 1, said
    assert lines[0].startswith("looptop: "), said
    assert "Traceback" not in said.err
    return lines[0]
