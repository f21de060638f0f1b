"""What is loaded before the first frame: nothing heavy, no engine, no store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import asyncio, json, sys
sys.path.insert(0, ".")
from tui.app import LooptopApp

async def connect():
    raise AssertionError("not reached")

class Probe(LooptopApp):
    def _connect_soon(self):
        print(json.dumps(sorted(sys.modules)))
        self.exit(0)

async def main():
    app = Probe(connect)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()

asyncio.run(main())
"""
HEAVY = (
    "anthropic",
    "genai_prices",
    "httpx2",
    "httpx",
    "aiosqlite",
    "pydantic",
    "openai",
    "store",
    "runtime.events",
    "runtime.view",
    "runtime.loop",
    "tui.compose",
)


def test_nothing_heavy_is_loaded_before_the_first_frame() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = json.loads(done.stdout.strip().splitlines()[-1])
    assert "tui.screens.fleet" in loaded
    assert [name for name in HEAVY if name in loaded] == []
