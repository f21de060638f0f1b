"""The scripted server in a process of its own, for tests that call the command line whole."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from support.scripted_turn import Turn


@contextmanager
def served(folder: Path, script: Sequence[Turn]) -> Iterator[str]:
    """Serve a script; gives the server's address."""
    path = folder / "script.json"
    plain = [{k: v for k, v in asdict(turn).items() if k not in ("begin", "gate")} for turn in script]
    path.write_text(json.dumps(plain))
    server = subprocess.Popen(
        [sys.executable, "-m", "support.scripted_server", "--script", str(path)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.communicate()
