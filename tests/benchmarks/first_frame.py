"""Time to the first frame: the dashboard beside a trivial Textual app, in subprocesses in turn, each in a terminal of its own.

Run: `.venv/bin/python tests/benchmarks/first_frame.py [ROUNDS]`. Prints both medians, CPU seconds and the ratio (target: 1.2, limit 1.3).
"""

from __future__ import annotations

import os
import pty
import select
import signal
import statistics
import struct
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRIVIAL = """
from textual.app import App, ComposeResult
from textual.widgets import Static
class Trivial(App[int]):
    def compose(self) -> ComposeResult:
        yield Static("first-frame-mark", markup=False)
Trivial().run()
"""
OURS = """
from tui.app import LooptopApp
async def connect():
    import asyncio
    await asyncio.Event().wait()
LooptopApp(connect).run()
"""
MARKS = {"trivial": b"first-frame-mark", "looptop": b"connecting"}


def first_frame(code: str, mark: bytes) -> tuple[float, float]:
    """Seconds of wall time until the mark is on the terminal, and CPU seconds used until then."""
    start = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", COLUMNS="120", LINES="40")
        os.execv(sys.executable, [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, '.')\n{code}"])
    ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    try:
        while mark not in seen:
            if not select.select([fd], [], [], 60)[0]:
                raise SystemExit(f"no first frame within 60 s; last bytes: {seen[-200:]!r}")
            seen += os.read(fd, 65_536)
        wall = time.perf_counter() - start
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)
    return wall, cpu


def main() -> None:
    """Measure in turn, so that load hits both alike."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    codes = {"trivial": TRIVIAL, "looptop": OURS}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in codes}
    for name, code in codes.items():
        first_frame(code, MARKS[name])  # compiles what isn't compiled yet
    for _ in range(rounds):
        for name, code in codes.items():
            times[name].append(first_frame(code, MARKS[name]))
    for name, pairs in times.items():
        walls, cpus = [p[0] for p in pairs], [p[1] for p in pairs]
        print(
            f"{name:<8}  wall median {statistics.median(walls):.3f} s  min {min(walls):.3f} s  CPU median {statistics.median(cpus):.2f} s"
        )
    ratio = statistics.median(p[0] for p in times["looptop"]) / statistics.median(p[0] for p in times["trivial"])
    least = min(p[0] for p in times["looptop"]) / min(p[0] for p in times["trivial"])
    print(f"ratio     median {ratio:.2f}  min {least:.2f}  (target 1.20, limit 1.30)  {rounds} rounds in turn")


if __name__ == "__main__":
    main()
