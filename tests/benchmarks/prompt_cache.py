"""What prompts read from cache: real runs against the strict scripted server, whose cache is simulated exactly.

Run: `.venv/bin/python -P tests/benchmarks/prompt_cache.py`. Prints each figure beside its limit or its reference; exit code 1 where a
limit is missed. The simulation: longest prefix cached at a mark, look-back of 20 blocks, lifetimes, the least prefix of each model.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from runtime.events.values import RunSettings, VerifySpec  # noqa: E402
from runtime.loop.setup import WorkspaceSettings  # noqa: E402
from runtime.process.sandbox.choose import SandboxSettings  # noqa: E402
from runtime.prompt.window import ACT_ON, Turn, take_window  # noqa: E402
from support.cache_model import MINIMA  # noqa: E402
from support.repositories import CHECKED, make_repository  # noqa: E402
from support.scripted_server import Scripted, ScriptedServer, call, text  # noqa: E402
from support.scripted_turn import Turn as Answer  # noqa: E402
from support.wire_bytes import continued, prefix_of_next, rendered  # noqa: E402
from tui.compose import HostSettings, RunRequest, open_cockpit  # noqa: E402

MOST_UNITS = 1.02
REFERENCE_BYTES, REFERENCE_SHARE = 96_290, 0.824
CONVERSATION_BYTES, MOST_WINDOW_BYTES = 41_571, 7_131
SONNET, HAIKU_OLD = "claude-sonnet-5-5", "claude-haiku-4-5"


def rounds(count: int, command: str = "seq {n}000 {n}999; seq {n}000 {n}600") -> list[Scripted]:
    """Shell rounds with some 8 KB of output each, and an end: `count` requests."""
    return [*(call("shell", f"toolu_{n}", command=command.format(n=n)) for n in range(1, count)), text("It is fixed.")]


def wide(count: int, width: int) -> list[Scripted]:
    """Rounds with so many parallel calls in each reply, and an end."""
    replies = [
        Answer(
            [
                {"type": "tool_use", "id": f"toolu_{n}_{i}", "name": "shell", "input": {"command": f"seq {n}{i:02} {n + 1}{i:02}"}}
                for i in range(width)
            ],
            "tool_use",
        )
        for n in range(1, count)
    ]  # fmt: skip
    return [*replies, text("It is fixed.")]


async def play(script: Sequence[Scripted], model: str = SONNET) -> ScriptedServer:
    """One run with the real adapter; the server afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        async with ScriptedServer(script) as server:
            repo = make_repository(Path(folder) / "repo", CHECKED)
            env = {**os.environ, "ANTHROPIC_API_KEY": "test-key-of-no-use", "ANTHROPIC_BASE_URL": server.url}
            settings = RunSettings(model=model, cap=1, max_rounds=100, budget_tokens=None)
            lent = WorkspaceSettings(sandbox=SandboxSettings("none"))
            request = RunRequest(repo, "Mend the numbers.", settings, (VerifySpec(command="false"),), lent)
            async with open_cockpit(Path(folder) / "home", HostSettings(), env) as cockpit:
                await (await cockpit.start(request)).done
    if server.rules or len(server.bodies) != len(script):
        raise SystemExit(f"{len(server.bodies)} requests instead of {len(script)}: {server.rules}")
    return server


def perfect_units(server: ScriptedServer, minimum: int) -> float:
    """Cost units of the same bytes where all that was sent in the round before is read and the rest written, from the minimum on."""
    units, before = 0.0, 0
    for counted in server.counted:
        prompt = counted.prompt
        read = before if before >= minimum else 0
        units += 0.1 * read + (1.25 if prompt >= minimum else 1.0) * (prompt - read)
        before = prompt
    return units


def first_write(server: ScriptedServer) -> int:
    """The round in which the first cache entry begins; 0 where none does."""
    return next((n for n, counted in enumerate(server.counted, 1) if counted.written_5m or counted.written_1h), 0)


def line(words: str, value: str, limit: str, kept: bool | None) -> bool:
    """Print one figure; whether its limit is kept (a reference has none)."""
    print(f"  {words:<76}{value:>14}{limit:>16}   {'' if kept is None else 'yes' if kept else 'NO'}")
    return kept is not False


async def sessions() -> list[bool]:
    """Ten rounds, forty, and wide replies."""
    kept = []
    scripts = (("10 rounds", rounds(10)), ("40 rounds", rounds(40)), ("10 rounds, 25 calls a reply", wide(10, 25)),
               ("6 rounds, 60 calls a reply", wide(6, 60)))  # fmt: skip
    for name, script in scripts:
        server = await play(script)
        begun, of = continued([request.body for request in server.received])
        kept.append(line(f"{name}: requests that begin with the one before", f"{begun} of {of}", "all", begun == of))
        ratio = sum(counted.units for counted in server.counted) / perfect_units(server, MINIMA[SONNET])
        words = f"{name}: cost units relative to perfect caching (simulated)"
        kept.append(line(words, f"{ratio:.4f}", f"at most {MOST_UNITS}", ratio <= MOST_UNITS))
        read, prompt = sum(c.read for c in server.counted), sum(c.prompt for c in server.counted)
        line(f"{name}: read from cache (simulated)", f"{read / prompt:.1%}", "", None)
    return kept


async def minima() -> list[bool]:
    """On which round entries begin, by the model's least prefix."""
    kept = []
    for model, allowed in ((HAIKU_OLD, (2, 3)), (SONNET, (1,))):
        server = await play(rounds(10), model)
        begins = first_write(server)
        words = f"{model}, least prefix {MINIMA[model]}: entries begin in round (simulated)"
        kept.append(line(words, str(begins), " or ".join(map(str, allowed)), begins in allowed))
        ratio = sum(counted.units for counted in server.counted) / perfect_units(server, MINIMA[model])
        kept.append(
            line(
                f"{model}: cost units relative to perfect caching",
                f"{ratio:.4f}",
                f"at most {MOST_UNITS}",
                ratio <= MOST_UNITS,
            )
        )
    return kept


async def reference() -> None:
    """Ten rounds that send about as many bytes as the reference's: how much of them is the next round's prefix."""
    size = 1_000
    for _ in range(2):
        server = await play(rounds(10, f"printf '%0{size}d' {{n}}"))
        bodies = [request.body for request in server.received]
        sent = sum(len(rendered(body)) for body in bodies)
        size += (REFERENCE_BYTES - sent) // 45  # nine outputs are sent again nine, eight, ... times
    shared = sum(prefix_of_next(before, after) or 0 for before, after in pairwise(bodies))
    line("10 rounds: bytes that the model reads", f"{sent:,}", f"{REFERENCE_BYTES:,} (ref)", None)
    line("  of them the next round's prefix", f"{shared / sent:.1%}", f"{REFERENCE_SHARE:.1%} (ref)", None)


def window() -> list[bool]:
    """The conversation part of a request: 120 turns of some 340 bytes."""
    whos = ("supervisor", "agent")
    turns = [Turn("agent" if n % 2 else "supervisor", f"{n:03} ".ljust(337, "x")) for n in range(120)]
    short = CONVERSATION_BYTES - take_window(turns, 1_000, 1_000_000).characters
    # What is missing is spread over the oldest turns, a byte each, the rest on the first.
    turns = [Turn(whos[n % 2], turn.text + "x" * (short // 120 + (n < short % 120))) for n, turn in enumerate(turns)]  # type: ignore[arg-type]
    before, after = take_window(turns, 1_000, 1_000_000), take_window(turns)
    newest = f"Agent: {ACT_ON} {turns[-1].text}"
    intact = after.text.endswith(newest) and after.text.count(ACT_ON) == 1
    whole, cut = before.characters, after.characters
    words = "120 turns: conversation part, bytes"
    kept = [line(words, f"{whole:,}", f"{CONVERSATION_BYTES:,}", whole == CONVERSATION_BYTES)]
    words = f"  in the window ({after.kept} turns), bytes"
    kept.append(line(words, f"{cut:,}", f"at most {MOST_WINDOW_BYTES:,}", cut <= MOST_WINDOW_BYTES))
    kept.append(line("  saved", f"{1 - cut / whole:.1%}", "82.8%", 1 - cut / whole >= 0.828))
    kept.append(line("  the newest turn whole, with the only mark", "yes" if intact else "no", "yes", intact))
    return kept


async def main() -> int:
    """Measure and print; the exit code."""
    print(f"  {'prompts and the cache (simulated)':<76}{'looptop':>14}{'limit':>16}   kept")
    kept = await sessions()
    kept += await minima()
    await reference()
    kept += window()
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
