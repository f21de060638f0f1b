"""Simulates the provider's prompt cache: longest cached prefix at a mark, look-back of 20 blocks, lifetimes, a minimum per model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.messages_rules import without_marks

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


@dataclass(frozen=True)
class Counted:
    """What one request reads, writes and sends fresh, in tokens."""

    read: int
    written_5m: int
    written_1h: int
    fresh: int

    @property
    def units(self) -> float:
        """Cost in units of a fresh token: 1.25 and 2 for writes, a tenth for reads."""
        return self.fresh + 1.25 * self.written_5m + 2 * self.written_1h + 0.1 * self.read


@dataclass
class CacheModel:
    """One workspace's cache. `clock` gives seconds."""

    clock: Callable[[], float]
    entries: dict[str, float] = field(default_factory=dict)

    def count(self, body: dict[str, Any]) -> Counted:
        """Account for a request and remember what it writes."""
        blocks = _blocks(body)
        sizes, marks = [], []
        digest = hashlib.sha256(str(body["model"]).encode())
        keys = []
        for index, block in enumerate(blocks):
            raw = json.dumps(without_marks(block), ensure_ascii=False, sort_keys=False).encode("utf-8", "replace")
            digest.update(raw)
            keys.append(digest.hexdigest())
            sizes.append(len(raw))
            if "cache_control" in block:
                marks.append((index, block["cache_control"].get("ttl", "5m")))
        total = -(-sum(sizes) // BYTES_PER_TOKEN)
        upto = [-(-sum(sizes[: n + 1]) // BYTES_PER_TOKEN) for n in range(len(sizes))]
        minimum = MINIMA.get(body["model"], 1024)
        read = self._read(marks, keys, upto)
        written = {"5m": 0, "1h": 0}
        reached = read
        for index, ttl in marks:
            if upto[index] >= minimum:
                self.entries[keys[index]] = self.clock() + LIFETIMES[ttl]
                if upto[index] > reached:
                    written[ttl] += upto[index] - reached
                    reached = upto[index]
        return Counted(read, written["5m"], written["1h"], total - reached)

    def _read(self, marks: list[tuple[int, str]], keys: list[str], upto: list[int]) -> int:
        now = self.clock()
        for index, ttl in reversed(marks):
            for back in range(index, max(-1, index - LOOK_BACK), -1):
                if self.entries.get(keys[back], -1.0) >= now:
                    self.entries[keys[back]] = now + LIFETIMES[ttl]
                    return upto[back]
        return 0


def _blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    found = [*body.get("tools", []), *body.get("system", [])]
    for message in body["messages"]:
        found += [{"role": message["role"], **block} for block in message["content"]]
    return found
