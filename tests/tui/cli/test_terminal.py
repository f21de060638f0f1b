"""With a terminal the dashboard opens; what is wrong is told before anything is drawn."""

from __future__ import annotations

import os
import pty
import select
import sys
from pathlib import Path

import pytest

from support.cli import ROOT, CommandLine, clean_environment
from support.repositories import CHECK


def in_terminal(folder: Path, *args: str, until: bytes = b"", keys: bytes = b"") -> tuple[int, bytes]:
    """Call looptop in a terminal of its own; after `until` was drawn the keys are pressed. Returns exit code and output."""
    pid, terminal = pty.fork()
    if pid == 0:
        env = {**clean_environment(folder), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "tui", *args], {**env, "PYTHONPATH": str(ROOT)})
    seen, pressed = b"", False
    while select.select([terminal], [], [], 60)[0]:
        try:
            data = os.read(terminal, 65_536)
        except OSError:
            break
        if not data:
            break
        seen += data
        if until and until in seen and not pressed:
            pressed = True
            os.write(terminal, keys)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen


def test_the_dashboard_opens_and_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    code, seen = in_terminal(tmp_path, until=b"\x1b[?1049h", keys=b"\x11")
    assert code == 0
    assert b"\x1b[?1049l" in seen[seen.index(b"\x1b[?1049h") :]
    assert b"Traceback" not in seen


@pytest.mark.parametrize(
    ("text", "told"),
    [("theme = 'neon'\n", b"There is no theme 'neon'"), ("modell = 'x'\n", b"Did you mean 'model'?")],
)
def test_wrong_settings_are_told_before_anything_is_drawn(looptop: CommandLine, text: str, told: bytes) -> None:
    looptop.config.write_text(text)
    code, seen = in_terminal(looptop.folder)
    assert code == 2
    assert told in seen
    assert b"\x1b[?1049h" not in seen


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--cap", "21"), 2, b"--cap is 21"),
        (("--repo", "."), 3, b"is not in a git repository"),
        (("--model", "imaginary"), 2, b"is not known"),
        (("--branch", "main"), 2, b"There is a branch main already"),
    ],
)
def test_a_run_that_makes_no_sense_is_told_before_anything_is_drawn(
    looptop: CommandLine, repo: Path, options: tuple[str, ...], code: int, told: bytes
) -> None:
    run = ("run", "--model", "local", "--repo", str(repo), "--verify", CHECK)
    ended, seen = in_terminal(looptop.folder, *run, *options)
    assert ended == code
    assert told in seen
    assert b"\x1b[?1049h" not in seen
    assert not looptop.home.exists()
