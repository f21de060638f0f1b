"""Simulates the provider's prompt cache: longest cached prefix at a mark, look-back of 20 blocks, lifetimes, a minimum per model.

An entry can be read only once the answer that wrote it has begun, and lives from the start of the request that wrote or read it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

LOOK_BACK = 20
BYTES_PER_TOKEN = 4
LIFETIMES = {"5m": 300.0, "1h": 3600.0}
MINIMA = {
    "claude-sonnet-5-5": 512,
    "claude-opus-5-5": 512,
    "claude-haiku-5-5": 512,
    "claude-haiku-4-5": 4096,
    "claude-opus-4-6": 4096,
}
OTHER_MINIMUM = 1024


@dataclass(frozen=True)
class Counted:
    """What one request reads, writes and sends fresh, in tokens."""

    read: int
    written_5m: int
    written_1h: int
    fresh: int
    entries: Mapping[str, tuple[float, str]] = field(default_factory=dict, repr=False, compare=False)
    """What it writes to the cache, once its answer begins: expiry and lifetime by key."""

    @property
    def prompt(self) -> int:
        """All tokens of the prompt."""
        return self.read + self.written_5m + self.written_1h + self.fresh

    @property
    def units(self) -> float:
        """Cost in units of a fresh token: 1.25 and 2 for writes, a tenth for reads."""
        return self.fresh + 1.25 * self.written_5m + 2 * self.written_1h + 0.1 * self.read


@dataclass
class CacheModel:
    """One workspace's cache. `clock` gives seconds."""

    clock: Callable[[], float]
    entries: dict[str, tuple[float, str]] = field(default_factory=dict)

    def count(self, body: dict[str, Any]) -> Counted:
        """Account for a request. What it writes can be read after `commit`."""
        keys, sizes, marks = _prefixes(body)
        upto: list[int] = []
        total = 0
        for size in sizes:
            total += size
            upto.append(-(-total // BYTES_PER_TOKEN))
        minimum = MINIMA.get(body["model"], OTHER_MINIMUM)
        read = self._read(marks, keys, upto)
        written = {"5m": 0, "1h": 0}
        new: dict[str, tuple[float, str]] = {}
        reached = read
        for index, ttl in marks:
            if upto[index] < minimum:
                continue
            if upto[index] > reached:
                written[ttl] += upto[index] - reached
                reached = upto[index]
            if keys[index] not in self.entries or self.entries[keys[index]][0] < self.clock():
                new[keys[index]] = (self.clock() + LIFETIMES[ttl], ttl)
        whole = upto[-1] if upto else 0
        return Counted(read, written["5m"], written["1h"], whole - reached, new)

    def commit(self, counted: Counted) -> None:
        """The answer has begun: what the request wrote can be read from now on."""
        self.entries.update(counted.entries)

    def _read(self, marks: list[tuple[int, str]], keys: list[str], upto: list[int]) -> int:
        now = self.clock()
        for index, _ in reversed(marks):
            for back in range(index, max(-1, index - LOOK_BACK), -1):
                expiry, ttl = self.entries.get(keys[back], (-1.0, "5m"))
                if expiry >= now:
                    self.entries[keys[back]] = (now + LIFETIMES[ttl], ttl)
                    return upto[back]
        return 0


def _prefixes(body: dict[str, Any]) -> tuple[list[str], list[int], list[tuple[int, str]]]:
    """Of every block in the order of rendering: a key of the prefix that ends with it, its size; and where the marks are."""
    digest = hashlib.sha256(str(body["model"]).encode())
    keys: list[str] = []
    sizes: list[int] = []
    marks: list[tuple[int, str]] = []

    def take(block: dict[str, Any], role: str) -> None:
        mark = block.get("cache_control")
        raw = json.dumps([role, without_marks(block)], ensure_ascii=False).encode("utf-8", "replace")
        digest.update(raw)
        keys.append(digest.hexdigest())
        sizes.append(len(raw))
        if mark is not None:
            marks.append((len(keys) - 1, mark.get("ttl", "5m")))

    for tool in body.get("tools", []):
        take(tool, "tool")
    for block in body.get("system", []):
        take(block, "system")
    # Thinking, effort and tool choice are part of every message's prefix, not of the tools' and the system's.
    digest.update(json.dumps([body.get(name) for name in ("thinking", "output_config", "tool_choice")]).encode())
    for message in body["messages"]:
        for block in message["content"]:
            take(block, message["role"])
    return keys, sizes, marks


def without_marks(value: Any) -> Any:
    """The same data without cache_control, for comparing prefixes."""
    if isinstance(value, dict):
        return {name: without_marks(item) for name, item in value.items() if name != "cache_control"}
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    return value
