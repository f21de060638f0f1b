"""Requests compared byte for byte as they came over the wire, cache marks apart."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

MARK = re.compile(rb',"cache_control":\{[^{}]*\}')
"""Inside of a string the quotes would be escaped: nothing but marks looks like this."""
ENDS = b"]}]"
"""Closes the last message's blocks, that message and the list; a message that has grown stands where they stood."""


def unmarked(body: bytes) -> bytes:
    """A request's body without its cache marks."""
    return MARK.sub(b"", body)


def rendered(body: bytes) -> bytes:
    """What the model reads of a request, in the order in which it is cached: tools, system, messages. Marks apart."""
    text = unmarked(body).decode()
    return b"".join(_value(text, name) for name in ("tools", "system", "messages"))


def front(body: bytes) -> bytes:
    """What stands before the messages, marks and all: tools and system prompt."""
    text = body.decode()
    return _value(text, "tools") + _value(text, "system")


def _value(text: str, name: str) -> bytes:
    """The bytes of a top-level value, exactly as they stand."""
    start = text.index(f'"{name}":[') + len(name) + 3
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[start:end].encode()


def prefix_of_next(before: bytes, after: bytes) -> int | None:
    """How many rendered bytes of a request the next one begins with; None where it doesn't begin with the whole of it."""
    old, new = rendered(before), rendered(after)
    body = old.removesuffix(ENDS)
    return len(body) if new.startswith(body) else None


def continued(bodies: Sequence[bytes]) -> tuple[int, int]:
    """How many requests begin with the one before, byte for byte; and how many there are to compare."""
    pairs = list(pairwise(bodies))
    return sum(prefix_of_next(before, after) is not None for before, after in pairs), len(pairs)
