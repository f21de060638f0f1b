"""What both wire formats need: token counts that may be anything, tool arguments that may be cut, statuses and types of errors."""

from __future__ import annotations

import json
import math
import time
from email.utils import parsedate_to_datetime
from typing import Any

from runtime.models.base import CallFault
from runtime.text import storable

MOST_TOKENS = 1_000_000_000
"""No call has more tokens; a count beyond it is nonsense, and must not reach the database."""


def count(value: Any, most: int = MOST_TOKENS) -> int | None:
    """A token count as a server reported it; None for what is missing or nonsense."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        return None
    return value


def name_or_none(value: Any) -> str | None:
    """An id or a name as a server gave it; None for anything else than text."""
    return storable(value) if isinstance(value, str) and value else None


def arguments_of(raw: str) -> dict[str, Any] | None:
    """A tool call's arguments: a whole JSON object, or None. Half JSON is never repaired into a whole.

    Numbers that JSON can't hold (NaN, infinities) and nesting beyond all use make it None too: they couldn't be sent back.
    """
    try:
        value = json.loads(raw, parse_constant=_not_json, parse_float=_finite)
        return clean(value) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def _not_json(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is out of range")
    return value


def clean(value: Any) -> Any:
    """JSON data with every string made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {storable(str(name)): clean(item) for name, item in value.items()}
    return value


def retry_after_s(headers: Any, now_s: float | None = None) -> float | None:
    """How long a server asks to wait, in seconds: `retry-after-ms`, or `retry-after` as seconds or date.

    None where it doesn't ask, or in words that mean nothing. `now_s` is the time of day since the epoch.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - (time.time() if now_s is None else now_s)
            except (TypeError, ValueError, OverflowError):
                continue
        if not math.isnan(seconds):
            return max(0.0, seconds)
    return None


_BY_TYPE = {
    "overloaded_error": CallFault.OVERLOADED,
    "rate_limit_error": CallFault.RATE_LIMITED,
    "rate_limit_exceeded": CallFault.RATE_LIMITED,
    "api_error": CallFault.SERVER,
    "timeout_error": CallFault.SERVER,
    "authentication_error": CallFault.AUTHENTICATION,
    "permission_error": CallFault.AUTHENTICATION,
    "invalid_api_key": CallFault.AUTHENTICATION,
    "billing_error": CallFault.QUOTA,
    "insufficient_quota": CallFault.QUOTA,
    "not_found_error": CallFault.NOT_FOUND,
    "model_not_found": CallFault.NOT_FOUND,
    "request_too_large": CallFault.CONTEXT_FULL,
    "context_length_exceeded": CallFault.CONTEXT_FULL,
    "exceed_context_size_error": CallFault.CONTEXT_FULL,
}
_BY_STATUS = {
    401: CallFault.AUTHENTICATION,
    402: CallFault.QUOTA,
    403: CallFault.AUTHENTICATION,
    404: CallFault.NOT_FOUND,
    408: CallFault.SERVER,
    409: CallFault.SERVER,
    413: CallFault.CONTEXT_FULL,
    429: CallFault.RATE_LIMITED,
    529: CallFault.OVERLOADED,
}
_FULL = ("context length", "prompt is too long", "maximum context", "context size", "context limit", "context window")
_NO_MONEY = ("credit balance", "spend limit", "spend_limit", "exceeded your current quota")


def fault_of_status(status: int, kind: str = "", text: str = "") -> CallFault:
    """Which kind of failure a status is; the error's own type decides where a stream broke with status 200."""
    lowered = f"{kind} {text}".lower()
    if 400 <= status < 500 and any(words in lowered for words in _NO_MONEY):
        return CallFault.QUOTA
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if status in (200, 400, 422, 500) and any(words in lowered for words in _FULL):
        return CallFault.CONTEXT_FULL
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status == 200:
        return CallFault.INVALID if kind.startswith("invalid") else CallFault.SERVER
    return CallFault.SERVER if status >= 500 else CallFault.INVALID
