"""What looptop itself costs a round: bytes, cost units, own time, memory and the way to the first request, beside a bare harness.

Run: `.venv/bin/python -P tests/benchmarks/round_overhead.py [REPEATS]`. Ten shell rounds of 4.5 KB output against the strict scripted
server, whole processes in turn, medians; then forty rounds, 200 kB. Exit code 1 where a limit is missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.headless import environment  # noqa: E402
from support.repositories import CHECKED, make_repository  # noqa: E402
from support.scripted_turn import Turn, call, text  # noqa: E402
from support.watched_server import WatchedServer  # noqa: E402

NOISE_MS = 0.5
"""What two medians of the same thing differ by on a machine that does other work as well."""
TASK = "Find out why the numbers are wrong and mend it."
BARE = [sys.executable, "-P", str(ROOT / "tests" / "benchmarks" / "bare_harness.py"), TASK]
OURS = [
    *(sys.executable, "-P", "-m", "tui", "run", TASK, "--repo", "repo", "--verify", "false", "--cap", "1"),
    *("--model", "claude-sonnet-5-5", "--max-rounds", "60", "--budget-tokens", "0", "--headless", "--json"),
]
UNCONFINED = {"LOOPTOP_SANDBOX_KIND": "none"}
COMPILED = tempfile.TemporaryDirectory()
NAMES = ("bare SDK harness", "looptop", "looptop, no sandbox")


@dataclass(frozen=True)
class Figures:
    """One process's figures. Times in milliseconds, `gaps` as (wall, CPU) of each round."""

    requests: int
    sizes: list[int]
    units: float
    gaps: list[tuple[float, float]]
    first_s: float
    apart_s: float
    """Seconds of `first_s` in which workspace and baseline were made."""
    peak_mb: float
    tools_ms: list[int] = field(default_factory=list)

    @property
    def own_first_s(self) -> float:
        """To the first request, workspace and baseline apart."""
        return self.first_s - self.apart_s

    def gap(self, part: slice = slice(None), cpu: bool = False) -> float:
        """The median gap of some rounds."""
        return statistics.median(pair[cpu] for pair in self.gaps[part])


def script(rounds: int) -> list[Turn]:
    """Shell rounds of 4.5 KB output, then an end."""
    return [
        *(call("shell", f"toolu_{n:02}", command=f"seq {n}000 {n}900") for n in range(1, rounds + 1)),
        text("The numbers are right."),
    ]


async def measure(argv: Sequence[str], rounds: int, **more: str) -> Figures:
    """Run one process against a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_repository(place / "repo", CHECKED)
        async with WatchedServer(script(rounds), diagnostics="tui" in argv) as server:
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=_environment(place, server.url, more),
                cwd=place,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=1 << 26,
            )
            server.client = process.pid
            out, err = await process.communicate()
            if server.rules or len(server.bodies) < rounds + 1:
                raise SystemExit(f"{argv[3]}: {len(server.bodies)} requests, {server.rules}\n{err.decode()[-2000:]}")
            events = [json.loads(line) for line in out.splitlines()] if "--json" in argv else []
            return Figures(
                requests=len(server.bodies),
                sizes=[len(request.body) for request in server.received[: rounds + 1]],
                units=sum(counted.units for counted in server.counted[: rounds + 1]),
                gaps=[(wall * 1e3, cpu * 1e3) for wall, cpu in server.gaps(0, rounds)],
                first_s=server.whole[0].at_s - began,
                apart_s=_apart(events),
                peak_mb=max(moment.peak_mb for moment in (*server.whole, *server.ended)),
                tools_ms=[event["duration_ms"] for event in events if event["type"] == "tool_finished"],
            )


def _environment(folder: Path, url: str, more: dict[str, str]) -> dict[str, str]:
    """One in which modules are compiled once, as in an installed package, whatever this process was told."""
    env = environment(folder, url, LOOPTOP_FAILURE_ANALYSIS_WHEN="never", PYTHONPYCACHEPREFIX=COMPILED.name, **more)
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env


def _apart(events: list[dict[str, object]]) -> float:
    """Seconds between a run's first event and its preparation's end: workspace, sandbox and baseline."""
    times = {str(event["type"]): float(str(event["mono_ms"])) for event in reversed(events)}
    return (times["run_prepared"] - times["run_queued"]) / 1000 if events else 0.0


def median(runs: list[Figures], value: Callable[[Figures], float]) -> float:
    """The median of a figure over the repeats."""
    return statistics.median(value(run) for run in runs)


async def ten_rounds(repeats: int) -> dict[str, list[Figures]]:
    """Ten rounds of all three, in turn, so that load hits them alike; the first turn compiles what isn't compiled yet."""
    runs: dict[str, list[Figures]] = {name: [] for name in NAMES}
    for number in range(repeats + 1):
        for name, argv, env in (
            (NAMES[0], BARE, {}),
            (NAMES[1], OURS, {}),
            (NAMES[2], OURS, UNCONFINED),
        ):
            figures = await measure(argv, 10, **env)
            if number:
                runs[name].append(figures)
    return runs


def show_ten(runs: dict[str, list[Figures]]) -> list[bool]:
    """Print the ten rounds; returns whether each limit is kept."""
    bare, ours, plain = (runs[name] for name in NAMES)
    own, sandbox = median(plain, Figures.gap), median(ours, Figures.gap) - median(plain, Figures.gap)
    ratio = median(ours, lambda run: run.own_first_s) / median(bare, lambda run: run.own_first_s)
    kb, units = median(ours, lambda run: sum(run.sizes) / 1000), median(ours, lambda run: run.units / 1000)
    peak = median(ours, lambda run: run.peak_mb)
    print(f"load of the machine, 1 minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"ten shell rounds of 4.5 KB output, medians of {len(ours)}              bare   looptop     limit   kept")
    rows = (
        ("bytes sent, KB", median(bare, lambda run: sum(run.sizes) / 1000), kb, 350.0, kb),
        ("cost units, thousand (simulated)", median(bare, lambda run: run.units / 1000), units, 27.0, units),
        ("own time a round, ms (sandbox launch apart)", median(bare, Figures.gap), own, 15.0, own),
        ("peak memory, MB", median(bare, lambda run: run.peak_mb), peak, 150.0, peak),
        ("to the first request, s; limit as a ratio", median(bare, lambda r: r.first_s), median(ours, lambda r: r.own_first_s), 1.2, ratio),
    )  # fmt: skip
    for words, theirs, mine, limit, value in rows:
        print(f"  {words:<46}{theirs:10.2f}{mine:10.2f}{limit:10.2f}   {'yes' if value <= limit else 'NO'}")
    whole = median(ours, lambda run: run.first_s) / median(bare, lambda run: run.first_s)
    print(f"  to the first request, nothing taken off, ratio{'':10}{whole:10.2f}")
    print(f"  to the first request, ratio                   {'':10}{ratio:10.2f}")
    print(f"  of it apart: workspace and baseline, s        {'':10}{median(ours, lambda run: run.apart_s):10.2f}")
    print(f"  sandbox launch a round, ms                    {'':10}{sandbox:10.2f}")
    cpu = [median(runs[name], lambda run: run.gap(cpu=True)) for name in (NAMES[0], NAMES[2])]
    print(f"  CPU of the own time a round, ms (not the load){cpu[0]:10.2f}{cpu[1]:10.2f}")
    return [value <= limit for *_, limit, value in rows]


async def forty_rounds(repeats: int) -> dict[str, list[Figures]]:
    """Forty rounds of both, in turn."""
    runs: dict[str, list[Figures]] = {NAMES[0]: [], NAMES[1]: []}
    for _ in range(repeats):
        runs[NAMES[0]].append(await measure(BARE, 40))
        runs[NAMES[1]].append(await measure(OURS, 40, **UNCONFINED))
    return runs


def show_forty(runs: dict[str, list[Figures]]) -> list[bool]:
    """Print the forty rounds; the bare harness shows what serialising alone costs more in the end."""
    first, last = slice(0, 10), slice(30, 40)
    print(f"\nforty rounds                                             {'bare':>10}   looptop")
    growths: dict[bool, list[float]] = {False: [], True: []}
    for cpu in (False, True):
        word = "CPU" if cpu else "wall"
        begins = [median(runs[name], partial(Figures.gap, part=first, cpu=cpu)) for name in runs]
        ends = [median(runs[name], partial(Figures.gap, part=last, cpu=cpu)) for name in runs]
        growths[cpu] = [end - begin for begin, end in zip(begins, ends, strict=True)]
        print(f"  own time of the first ten rounds, ms {word:<5}      {begins[0]:10.2f}{begins[1]:10.2f}")
        print(f"  own time of the last ten rounds, ms {word:<5}       {ends[0]:10.2f}{ends[1]:10.2f}")
        print(
            f"  ratio                                           {ends[0] / begins[0]:10.2f}{ends[1] / begins[1]:10.2f}"
        )
        print(f"  growth, ms                                      {growths[cpu][0]:10.2f}{growths[cpu][1]:10.2f}")
    sizes = [(statistics.mean(run[0].sizes[first]), statistics.mean(run[0].sizes[last])) for run in runs.values()]
    print(f"  the last request, KB                            {sizes[0][1] / 1000:10.1f}{sizes[1][1] / 1000:10.1f}")
    print(
        f"  ratio of a request's bytes                      {sizes[0][1] / sizes[0][0]:10.2f}{sizes[1][1] / sizes[1][0]:10.2f}"
    )
    most = growths[True][0] * 1.2 + NOISE_MS
    kept = growths[True][1] <= most
    print(
        f"  growth of CPU time, at most 1.2 of the bare harness's and {NOISE_MS} ms: {most:.2f}   {'yes' if kept else 'NO'}"
    )
    return [kept]


async def main(repeats: int) -> int:
    """Measure and print; the exit code."""
    kept = show_ten(await ten_rounds(repeats))
    kept += show_forty(await forty_rounds(repeats))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)))
