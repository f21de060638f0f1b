"""Words of a text as hashed buckets: which words were seen, without keeping a passage of what was read."""

from __future__ import annotations

import re
from zlib import crc32

BUCKETS = 2_048
OBSERVATION_CHARS = 600
"""Only the beginning of an observation counts: what comes later is mostly bulk."""
_WORD = re.compile(r"[A-Za-z_]{3,40}")


def buckets(text: str) -> set[int]:
    """The buckets of a text's words, case ignored. CRC-32 (its higher bits): the same on every machine."""
    return {(crc32(word.encode()) >> 7) % BUCKETS for word in set(_WORD.findall(text.lower()))}
