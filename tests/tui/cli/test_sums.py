"""What a run used by every key equals what the server counted, with a transport retry in it and a crash between two rounds."""

from __future__ import annotations

import json
from pathlib import Path

from runtime.events.loop import ToolCalled
from support.headless import looptop
from support.killed import DONE, FIX, check_sums, check_whole, field
from support.scripted_server import Scripted, call, refuse

KEYS = ("run", "month", "day", "model", "project", "purpose")
FIELDS = ("input", "output", "cache_read", "cache_write")


def ten_replies() -> list[Scripted]:
    """Eight commands, the fourth of which doesn't end in time, the fix and the end; a refused try in between."""
    calls = [call("shell", f"toolu_{n}", command="sleep 60" if n == 4 else f"seq {n}000 {n}400") for n in range(1, 9)]
    return [*calls[:6], refuse(529, retry_after_ms="1"), *calls[6:], FIX, DONE]


async def test_sums_by_every_key_after_a_crash_and_a_retry(tmp_path: Path) -> None:
    async with field(tmp_path, ten_replies()) as place:
        async with place.start() as process:
            await process.until(lambda event: isinstance(event, ToolCalled) and event.step == 4)
            run = process.run
            await process.kill()
        resumed = await place.resume(run)
        assert resumed.process.returncode == 0
        end = check_whole(await place.stored(run))
        assert (end.reason.value, end.rounds) == ("passed", 10)
        check_sums(place)
        served = place.server
        wanted = {
            "input": sum(counted.fresh for counted in served.counted),
            "output": sum(served.outputs),
            "cache_read": sum(counted.read for counted in served.counted),
            "cache_write": sum(counted.written_5m for counted in served.counted),
        }
        assert end.usage == wanted
        for key in KEYS:
            _, out, _ = await looptop(("usage", "--by", key, "--json"), place.env, tmp_path)
            rows = json.loads(out)
            rows = rows if isinstance(rows, list) else rows["rows"]
            assert sum(row["calls"] for row in rows) == 10, key
            assert {name: sum(row[name] or 0 for row in rows) for name in FIELDS} == wanted, key
