"""What both wire formats need: token counts that may be anything, tool arguments that may be cut."""

from __future__ import annotations

import json
from typing import Any

from runtime.models.base import CallFault
from runtime.text import storable


def count(value: Any) -> int | None:
    """A token count as a server reported it; None for what is missing or nonsense."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def arguments_of(raw: str) -> dict[str, Any] | None:
    """A tool call's arguments: a whole JSON object, or None. Half JSON is never repaired into a whole."""
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return clean(value) if isinstance(value, dict) else None


def clean(value: Any) -> Any:
    """JSON data with every string made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {storable(str(name)): clean(item) for name, item in value.items()}
    return value


def retry_after_s(headers: Any) -> float | None:
    """How long a server asks to wait, in seconds: `retry-after-ms`, or `retry-after` as seconds or date."""
    from email.utils import parsedate_to_datetime
    from time import time

    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * scale)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time())
        except (TypeError, ValueError):
            continue
    return None


def fault_of_status(status: int, kind: str = "", text: str = "") -> CallFault:
    """Which kind of failure a status is; the error's own type decides where a stream broke with status 200."""
    by_type = {
        "overloaded_error": CallFault.OVERLOADED,
        "rate_limit_error": CallFault.RATE_LIMITED,
        "api_error": CallFault.SERVER,
        "timeout_error": CallFault.SERVER,
        "authentication_error": CallFault.AUTHENTICATION,
        "permission_error": CallFault.AUTHENTICATION,
        "billing_error": CallFault.QUOTA,
        "insufficient_quota": CallFault.QUOTA,
        "not_found_error": CallFault.NOT_FOUND,
        "context_length_exceeded": CallFault.CONTEXT_FULL,
    }
    if kind in by_type:
        return by_type[kind]
    if status == 400 and any(
        words in text.lower() for words in ("context length", "prompt is too long", "maximum context")
    ):
        return CallFault.CONTEXT_FULL
    by_status = {
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
    if status in by_status:
        return by_status[status]
    return CallFault.SERVER if status >= 500 or status == 200 else CallFault.INVALID
