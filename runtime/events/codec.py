"""Events as JSON lines and back. A type that isn't known is kept as `UnknownEvent`, with all its fields."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from runtime.events import checks, loop, supervision
from runtime.events.base import Event
from runtime.events.supervision import UnknownEvent


@cache
def event_types() -> dict[str, type[Event]]:
    """Every known event class by its tag."""
    found: dict[str, type[Event]] = {}
    for module in (loop, checks, supervision):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Event) and value not in (Event, UnknownEvent):
                found[str(value.model_fields["type"].default)] = value
    return found


@cache
def _adapter(tag: str) -> TypeAdapter[Event]:
    return TypeAdapter(event_types().get(tag, UnknownEvent))


def event_to_json(event: Event) -> str:
    """The event as one line of JSON, its envelope first."""
    return event.model_dump_json(by_alias=True)


def event_from_dict(data: dict[str, Any]) -> Event:
    """Build an event; a known type whose fields don't fit is kept as unknown too. Raises ValueError without envelope fields."""
    tag = data.get("type")
    if not isinstance(tag, str):
        raise ValueError("an event needs a type")
    try:
        return _adapter(tag).validate_python(data)
    except ValidationError as error:
        try:
            return UnknownEvent.model_validate(data)
        except ValidationError:
            raise ValueError(f"not an event: {error.error_count()} fields don't fit the type {tag!r}") from error


def event_from_json(line: str | bytes) -> Event:
    """Parse one line. Raises ValueError where it isn't a JSON object with an envelope."""
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from error
    if not isinstance(data, dict):
        raise ValueError("an event is a JSON object")
    return event_from_dict(data)
